//! Which files are not in a checkout as they are in the repository: those that git changes on the way, by filters, line
//! ends, encodings and keywords.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::{Git, Result};
use super::index::Index;

const NAME: &[u8] = b".gitattributes";
const ASKED: [&str; 6] = ["text", "eol", "crlf", "filter", "ident", "working-tree-encoding"];

/// What is configured for a checkout.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Configured {
    /// Line ends of all files are changed.
    pub(super) autocrlf: bool,
    /// Text gets the line ends of Windows.
    crlf: bool,
    pub(super) no_symlinks: bool,
    pub(super) sparse: bool,
    attributes: Option<String>,
}

impl Configured {
    pub(super) fn of(git: &Git) -> Configured {
        let keys = r"^core\.(autocrlf|eol|symlinks|sparsecheckout|attributesfile)$";
        let all = git.config(keys);
        let last = |key: &str| all.iter().rfind(|(name, _)| name == key).map(|(_, value)| value.to_ascii_lowercase());
        let is = |key, words: &[&str]| last(key).is_some_and(|value| words.contains(&&*value));
        let (yes, no) = (["true", "yes", "on", "1"], ["false", "no", "off", "0", ""]);
        Configured {
            autocrlf: is("core.autocrlf", &yes),
            crlf: is("core.eol", &["crlf"]),
            no_symlinks: is("core.symlinks", &no),
            sparse: is("core.sparsecheckout", &yes),
            attributes: all.iter().rfind(|(name, _)| name == "core.attributesfile").map(|(_, value)| value.clone()),
        }
    }
}

/// The paths among `candidates` that git has to check out itself. `wanted` and `source` are the indexes of the two
/// worktrees.
pub(super) fn converted<'a>(
    (new, wanted): (&Git, &Index),
    (old, source): (&Git, &Index),
    configured: &Configured,
    candidates: impl Iterator<Item = &'a [u8]>,
) -> Result<HashSet<Vec<u8>>> {
    let files = |index: &Index| -> Vec<(Vec<u8>, Vec<u8>)> {
        let attributes = index.entries().iter().filter(|entry| is_attributes(index.path(entry)));
        attributes.map(|entry| (index.path(entry).to_vec(), index.object(entry).to_vec())).collect()
    };
    let (in_wanted, in_source) = (files(wanted), files(source));
    let was_changed = has_changed(&old.0, source);
    if in_wanted.is_empty() && in_source.is_empty() && !was_changed && !has_others(new, configured) {
        return Ok(HashSet::new());
    }
    let mut input = Vec::new();
    for path in candidates {
        input.extend_from_slice(path);
        input.push(0);
    }
    let mut all = HashSet::new();
    ask(new, true, input.clone(), configured, &mut all)?;
    // What is in the source was checked out by its own attributes: those it had, or has now.
    if in_wanted != in_source || was_changed {
        ask(old, true, input.clone(), configured, &mut all)?;
        ask(old, false, input, configured, &mut all)?;
    }
    Ok(all)
}

fn is_attributes(path: &[u8]) -> bool {
    path.rsplit(|&byte| byte == b'/').next() == Some(NAME)
}

/// Whether a file of attributes in the source is not what the index says, or not in the index.
fn has_changed(root: &Path, source: &Index) -> bool {
    let mut seen = HashSet::new();
    let mut known = HashSet::new();
    for entry in source.entries() {
        let path = source.path(entry);
        let folder = path.iter().rposition(|&byte| byte == b'/').map_or(&[][..], |at| &path[..at + 1]);
        if is_attributes(path) {
            known.insert(folder);
            let file = root.join(OsStr::from_bytes(path)).symlink_metadata();
            if !file.is_ok_and(|file| source.is_untouched(entry, &file)) {
                return true;
            }
        }
        seen.insert(folder);
    }
    // Folders without files of their own, too: `a/` of `a/b/c`.
    let above: HashSet<&[u8]> = seen
        .iter()
        .flat_map(|folder| {
            folder.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &folder[..at + 1])
        })
        .collect();
    let all = seen.union(&above);
    all.filter(|folder| !known.contains(**folder))
        .any(|folder| root.join(OsStr::from_bytes(folder)).join(OsStr::from_bytes(NAME)).symlink_metadata().is_ok())
}

/// Whether there may be attributes that are in no checkout.
fn has_others(git: &Git, configured: &Configured) -> bool {
    let home = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")));
    let of_the_user = home.is_some_and(|home| home.join("git/attributes").exists());
    let of_the_repository = git.path("info/attributes").map_or(true, |path| path.exists());
    // Where that of the system is depends on how git was built.
    let of_the_system = ["/etc", "/usr/local/etc", "/opt/homebrew/etc"];
    configured.attributes.is_some()
        || of_the_user
        || of_the_repository
        || of_the_system.iter().any(|folder| Path::new(folder).join("gitattributes").exists())
}

fn ask(git: &Git, cached: bool, input: Vec<u8>, configured: &Configured, all: &mut HashSet<Vec<u8>>) -> Result<()> {
    let mut arguments = vec!["check-attr", "-z", "--stdin"];
    arguments.extend(cached.then_some("--cached"));
    arguments.extend(ASKED);
    let told = git.read_with(&arguments, input)?;
    let mut words = told.split(|&byte| byte == 0);
    while let (Some(path), Some(attribute), Some(value)) = (words.next(), words.next(), words.next()) {
        if converts(attribute, value, configured) {
            all.insert(path.to_vec());
        }
    }
    Ok(())
}

/// Whether git changes what it checks out for this.
fn converts(attribute: &[u8], value: &[u8], configured: &Configured) -> bool {
    let is_off = matches!(value, b"unspecified" | b"unset");
    match attribute {
        b"eol" => value == b"crlf",
        b"text" | b"crlf" => !is_off && configured.crlf,
        _ => !is_off,
    }
}
