//! Which paths may be written: relative and downward.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Error, Operation};

/// Why an entry was refused before the operating system was asked.
///
/// An [`Error`] that comes from a refusal has it as its payload: [`Error::refusal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The path is empty.
    Empty,
    /// The path starts at a root: `/x`, `C:\x`, `\\server\share`.
    Absolute,
    /// The path has a `..`.
    ParentFolder,
    /// The path has a NUL byte.
    Nul,
    /// The path goes through more than a thousand folders.
    TooDeep,
    /// A symbolic link stands where a folder is needed; links are not followed on the way down.
    ThroughSymlink,
    /// The kind of entry is not one that this program writes, or not without being asked to.
    UnwantedKind,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Empty => "refused: the path is empty",
            Refusal::Absolute => "refused: an absolute path could leave the root",
            Refusal::ParentFolder => "refused: a path with '..' could leave the root",
            Refusal::Nul => "refused: the path has a NUL byte",
            Refusal::TooDeep => "refused: the path goes through more than 1,000 folders",
            Refusal::ThroughSymlink => "refused: a symbolic link stands in the way, and links are not followed",
            Refusal::UnwantedKind => "refused: not a file, folder or link",
        })
    }
}

impl std::error::Error for Refusal {}

impl Error {
    /// An entry that is not written, and why.
    pub fn refused(operation: Operation, path: impl Into<PathBuf>, refusal: Refusal) -> Error {
        Error::new(operation, path, io::Error::new(io::ErrorKind::InvalidInput, refusal))
    }

    /// Why the entry was refused, if this error is a refusal and not a failed call.
    pub fn refusal(&self) -> Option<Refusal> {
        self.io_error().get_ref()?.downcast_ref().copied().or_else(|| self.inner()?.refusal())
    }
}

/// Checks that `path` stays below the root it is joined to, whatever that root is, and returns it without `.` and doubled
/// separators. The root itself comes back as an empty path.
///
/// This looks at the path alone. Links that stand on the way down are refused when the entry is written.
///
/// ```
/// use manyfiles::tree::{Refusal, check};
/// use std::path::Path;
///
/// assert_eq!(check(Path::new("./a//b")), Ok("a/b".into()));
/// assert_eq!(check(Path::new("a/../../b")), Err(Refusal::ParentFolder));
/// assert_eq!(check(Path::new("C:\\Windows\\x")), Err(Refusal::Absolute)); // on every system: no honest archive has it
/// ```
pub fn check(path: &Path) -> Result<PathBuf, Refusal> {
    let split = split(path)?;
    let folder = Path::new(&*split.folder);
    Ok(if split.name.is_empty() { folder.to_path_buf() } else { folder.join(&*split.name) })
}

/// A checked path: the folder, relative to the root (empty: the root), and the name in it (empty: the folder itself is the
/// root and the path meant it).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split<'a> {
    pub(super) folder: Cow<'a, OsStr>,
    pub(super) name: Cow<'a, OsStr>,
}

pub(super) fn split(path: &Path) -> Result<Split<'_>, Refusal> {
    let bytes = path.as_os_str().as_encoded_bytes();
    refuse_absolute(bytes)?;
    if bytes.contains(&0) {
        return Err(Refusal::Nul);
    }
    if bytes.len() > DEEPEST && bytes.iter().filter(|&&byte| byte == b'/').count() > DEEPEST {
        return Err(Refusal::TooDeep);
    }
    Ok(match normal_form(path)? {
        Cow::Borrowed(path) => {
            let (folder, name) = split_normal(path);
            Split { folder: Cow::Borrowed(folder), name: Cow::Borrowed(name) }
        }
        Cow::Owned(path) => {
            let (folder, name) = split_normal(&path);
            Split { folder: Cow::Owned(folder.to_owned()), name: Cow::Owned(name.to_owned()) }
        }
    })
}

/// Folder and name of a path in normal form.
fn split_normal(path: &Path) -> (&OsStr, &OsStr) {
    use std::os::unix::ffi::OsStrExt;
    let bytes = path.as_os_str().as_bytes();
    let (folder, name) = match bytes.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (&b""[..], bytes),
    };
    (OsStr::from_bytes(folder), OsStr::from_bytes(name))
}

/// Each folder on the way costs memory and calls, and a tar can hold a path of any length.
const DEEPEST: usize = 1000;

/// Roots of every system are refused on every system, so that an archive means the same everywhere.
fn refuse_absolute(bytes: &[u8]) -> Result<(), Refusal> {
    match bytes {
        [] => Err(Refusal::Empty),
        [b'/', ..] | [b'\\', b'\\', ..] => Err(Refusal::Absolute),
        [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic() => Err(Refusal::Absolute),
        _ => Ok(()),
    }
}

/// Most paths are as they should be already and are passed on as they are.
fn normal_form(path: &Path) -> Result<Cow<'_, Path>, Refusal> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut normal = true;
    for name in bytes.split(|&byte| byte == b'/') {
        match name {
            b".." => return Err(Refusal::ParentFolder),
            b"" | b"." => normal = false,
            _ => {}
        }
    }
    Ok(if normal { Cow::Borrowed(path) } else { Cow::Owned(path.components().filter(is_normal).collect()) })
}

fn is_normal(component: &std::path::Component<'_>) -> bool {
    matches!(component, std::path::Component::Normal(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> Result<(String, String), Refusal> {
        split(Path::new(path))
            .map(|split| (split.folder.to_str().unwrap().to_owned(), split.name.to_str().unwrap().to_owned()))
    }

    #[test]
    fn a_path_is_its_folder_and_its_name() {
        let parts = |path| parts(path).unwrap();
        let pair = |folder: &str, name: &str| (folder.to_owned(), name.to_owned());
        assert_eq!(parts("a"), pair("", "a"));
        assert_eq!(parts("a/b"), pair("a", "b"));
        assert_eq!(parts("./a//b/./c/"), pair("a/b", "c"));
        assert_eq!(parts("."), pair("", ""));
        assert_eq!(parts("./"), pair("", ""));
        assert_eq!(parts("..a/b..c/..."), pair("..a/b..c", "..."));
    }

    #[test]
    fn a_path_that_could_leave_the_root_is_refused() {
        for (path, refusal) in [
            ("", Refusal::Empty),
            ("/", Refusal::Absolute),
            ("/etc/passwd", Refusal::Absolute),
            ("//x", Refusal::Absolute),
            ("C:\\x", Refusal::Absolute),
            ("c:/x", Refusal::Absolute),
            ("\\\\server\\share\\x", Refusal::Absolute),
            ("..", Refusal::ParentFolder),
            ("a/..", Refusal::ParentFolder),
            ("a/../../x", Refusal::ParentFolder),
            ("./../x", Refusal::ParentFolder),
            ("a\0b", Refusal::Nul),
            (&"a/".repeat(1_000_000), Refusal::TooDeep),
        ] {
            assert_eq!(parts(path), Err(refusal), "{path:?}");
        }
    }

    proptest::proptest! {
        /// However a path is spelled, joining what comes back to a root names something below that root.
        #[test]
        fn what_is_accepted_stays_below_the_root(path in "[a./\\\\:\\x00-]{0,12}") {
            if let Ok(path) = check(Path::new(&path)) {
                assert!(path.components().all(|it| matches!(it, std::path::Component::Normal(_))), "{path:?}");
            }
        }
    }
}
