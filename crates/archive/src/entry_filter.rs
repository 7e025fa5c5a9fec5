//! What becomes of an entry between the archive and the tree: selected or not, stripped, its rights reduced.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use manyfiles::tree::{Keep, Refusal};

use crate::entry::{Entry, Kind};
use crate::sys::{self, path};

/// Decides by an entry's path whether it is wanted.
pub(crate) type Select = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

#[derive(Clone, Default)]
pub(crate) struct EntryFilter {
    pub strip: usize,
    pub select: Option<Select>,
    pub special_files: bool,
    /// Whether owners are kept, whatever `keep` says.
    pub ownership: bool,
    /// Whether names of users and groups are not looked at.
    pub numeric_owner: bool,
    pub set_id: bool,
    pub keep: Keep,
    /// Whether absolute paths are taken as if they were relative.
    pub strip_root: bool,
}

impl fmt::Debug for EntryFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EntryFilter { strip, select, special_files, ownership, numeric_owner, set_id, keep, strip_root } = self;
        f.debug_struct("EntryFilter")
            .field("strip", strip)
            .field("selects", &select.is_some())
            .field("special_files", special_files)
            .field("ownership", ownership)
            .field("numeric_owner", numeric_owner)
            .field("set_id", set_id)
            .field("keep", keep)
            .field("strip_root", strip_root)
            .finish()
    }
}

impl EntryFilter {
    /// Whether the entry at `path` is wanted. Asked once for each entry: the program's `select` may count its calls.
    pub(crate) fn selects(&self, path: &Path) -> bool {
        self.select.as_ref().is_none_or(|select| select(as_matched(self.without_root(path))))
    }

    /// Whether owners are kept.
    pub(crate) fn keeps_owners(&self) -> bool {
        self.ownership || self.keep.keeps_owners()
    }

    /// Whether the path loses its root.
    pub(crate) fn strips_root_of(&self, path: &Path) -> bool {
        self.without_root(path) != path
    }

    fn without_root<'a>(&self, path: &'a Path) -> &'a Path {
        if self.strip_root { sys::path(without_root(path.as_os_str().as_encoded_bytes())) } else { path }
    }

    /// The entry as it is to be written, or `None` if stripping leaves no name of it.
    pub(crate) fn reduce<'a>(&self, mut entry: Entry<'a>) -> Option<Entry<'a>> {
        if self.strip > 0 || self.strips_root_of(entry.path) {
            entry.path = strip(self.without_root(entry.path), self.strip);
            if names_nothing(entry.path) {
                return None;
            }
        }
        if let Kind::HardLink(existing) = &mut entry.kind {
            *existing = strip(self.without_root(existing), self.strip);
        }
        // A program that runs with its owner's rights is not given to this process's user because its own is not known.
        let set_id = self.set_id && !(self.keep.keeps_owners() && entry.owner.is_none());
        entry.mode = entry.mode.map(|mode| mode & if set_id { ALL } else { ALL & !SET_ID });
        if !self.keeps_owners() {
            entry.owner = None;
        }
        if matches!(entry.kind, Kind::Other) || (matches!(entry.kind, Kind::Node(_)) && !self.special_files) {
            entry.refuse(Refusal::UnwantedKind);
        }
        Some(entry)
    }
}

/// Permissions, set-id and sticky bits.
const ALL: u32 = 0o7777;
/// The bits that give rights away: a program runs with the rights of the file's owner or group, and what is made in a
/// folder gets the folder's group. The sticky bit takes rights away (to remove what others have in a folder), and is
/// kept like any permission.
const SET_ID: u32 = 0o6000;

/// A path as patterns are matched with it: `./src/` is `src`, whichever way the archive's maker named its folder.
fn as_matched(entry: &Path) -> &Path {
    let mut bytes = entry.as_os_str().as_encoded_bytes();
    while let Some(rest) = bytes.strip_prefix(b"./") {
        bytes = rest;
    }
    while bytes.len() > 1 && bytes.ends_with(b"/") {
        bytes = &bytes[..bytes.len() - 1];
    }
    path(bytes)
}

/// The path without its first `count` components, counted as tar does (`.` is one). Empty if it has no more than that.
///
/// A path that would be refused stays as it is: stripping does not make a good path of `/etc/passwd` or `../../x`.
fn strip(entry: &Path, count: usize) -> &Path {
    let whole = entry.as_os_str().as_encoded_bytes();
    if whole.starts_with(b"/") {
        return entry;
    }
    let mut rest = whole;
    for _ in 0..count {
        let end = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
        if &rest[..end] == b".." {
            return entry;
        }
        rest = without_slashes(&rest[end..]);
        if rest.is_empty() {
            break;
        }
    }
    path(rest)
}

/// The path without slashes before it; on Windows also without what names a drive or a server.
fn without_root(whole: &[u8]) -> &[u8] {
    let mut path = whole;
    let is_separator = |byte: &u8| *byte == b'/' || cfg!(windows) && *byte == b'\\';
    loop {
        path = match path {
            [first, rest @ ..] if is_separator(first) => rest,
            [drive, b':', rest @ ..] if cfg!(windows) && drive.is_ascii_alphabetic() => rest,
            // `//?/C:/x`, whose first slashes are gone.
            [b'?' | b'.', separator, rest @ ..]
                if cfg!(windows) && is_separator(separator) && path.len() < whole.len() =>
            {
                rest
            }
            _ => return path,
        };
    }
}

/// Whether a path has no name in it. `.` is the folder to unpack into, so no entry can be that.
fn names_nothing(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    !bytes.starts_with(b"/") && bytes.split(|&byte| byte == b'/').all(|name| matches!(name, b"" | b"."))
}

fn without_slashes(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|&byte| byte != b'/').unwrap_or(bytes.len());
    &bytes[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripping_counts_components_as_tar_does() {
        for (from, count, to) in [
            ("a/b/c", 1, "b/c"),
            ("a//b", 1, "b"),
            ("./a/b", 1, "a/b"),
            ("a/b/", 1, "b/"),
            ("a/", 1, ""),
            ("a", 1, ""),
            ("a/b", 5, ""),
        ] {
            assert_eq!(strip(Path::new(from), count), Path::new(to), "{from} without {count}");
            assert_eq!(strip(Path::new(from), 0), Path::new(from));
        }
    }

    #[test]
    fn stripping_does_not_make_a_refused_path_acceptable() {
        for hostile in ["/etc/passwd", "../../x", "a/../x"] {
            assert_eq!(strip(Path::new(hostile), 2), Path::new(hostile));
        }
        assert_eq!(strip(Path::new("a/../x"), 1), Path::new("../x"), "which the tree refuses");
    }

    #[test]
    fn a_root_is_stripped_and_what_leads_upwards_stays_refused() {
        for (from, to) in [("/a/b", "a/b"), ("//a", "a"), ("/", ""), ("/../a", "../a"), ("a/b", "a/b"), ("./a", "./a")]
        {
            assert_eq!(without_root(from.as_bytes()), to.as_bytes(), "{from}");
        }
        let drives: [&[u8]; 4] = [b"C:\\a", b"c:/a", b"\\\\?\\C:\\a", b"C:a"];
        for drive in drives {
            assert_eq!(without_root(drive) == b"a", cfg!(windows), "elsewhere that is a name");
        }
    }

    #[test]
    fn patterns_see_neither_dot_slash_nor_a_last_slash() {
        for (entry, seen) in [("./src/", "src"), ("src/a", "src/a"), ("./", ""), ("/", "/"), ("././a//", "a")] {
            assert_eq!(as_matched(Path::new(entry)).as_os_str(), seen);
        }
    }
}
