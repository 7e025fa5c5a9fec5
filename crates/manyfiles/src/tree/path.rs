//! Which paths may be written: relative and downward.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::sys::Refusal;
use crate::{Error, Operation, sys};

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

/// Checks that `path` stays below the root it is joined to, whatever that root is, and returns it without `.` and
/// doubled separators. The root itself comes back as an empty path.
///
/// Which names of files there are depends on the system: what Windows takes for something else (`NUL`, `a:b`, `a.`) is
/// refused there alone. Both `/` and `\\` separate folders there.
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

/// A checked path: the folder, relative to the root (empty: the root), and the name in it (empty: the folder itself is
/// the root and the path meant it).
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
    if bytes.len() > DEEPEST && bytes.iter().filter(|&&byte| sys::is_separator(byte)).count() > DEEPEST {
        return Err(Refusal::TooDeep);
    }
    if bytes.len() > LONGEST && bytes.split(|&byte| sys::is_separator(byte)).any(|name| name.len() > LONGEST) {
        return Err(Refusal::TooLong);
    }
    Ok(match normal_form(path)? {
        Cow::Borrowed(path) => {
            let (folder, name) = sys::split_at_last_separator(path.as_os_str());
            Split { folder: Cow::Borrowed(folder), name: Cow::Borrowed(name) }
        }
        Cow::Owned(path) => {
            // `./C:\x` is `C:\x`.
            if !path.as_os_str().is_empty() {
                refuse_absolute(path.as_os_str().as_encoded_bytes())?;
            }
            let (folder, name) = sys::split_at_last_separator(path.as_os_str());
            Split { folder: Cow::Owned(folder.to_owned()), name: Cow::Owned(name.to_owned()) }
        }
    })
}

/// `PATH_MAX` of Linux less one: no call takes a longer name.
const LONGEST: usize = 4095;

/// Whether the path can only be that of a folder.
pub(super) fn is_folder_path(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| sys::is_separator(byte))
}

/// Each folder on the way costs memory and calls, and a tar can hold a path of any length.
const DEEPEST: usize = 1000;

/// Roots of every system are refused on every system, so that an archive means the same everywhere.
fn refuse_absolute(bytes: &[u8]) -> Result<(), Refusal> {
    match bytes {
        [] => Err(Refusal::Empty),
        [b'/', ..] | [b'\\', b'\\', ..] => Err(Refusal::Absolute),
        // On Windows: the root of the current drive.
        [first, ..] if sys::is_separator(*first) => Err(Refusal::Absolute),
        [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic() => Err(Refusal::Absolute),
        _ => Ok(()),
    }
}

/// Most paths are as they should be already and are passed on as they are.
fn normal_form(path: &Path) -> Result<Cow<'_, Path>, Refusal> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut normal = sys::has_usual_separators(bytes);
    for name in bytes.split(|&byte| sys::is_separator(byte)) {
        match name {
            b".." => return Err(Refusal::ParentFolder),
            b"" | b"." => normal = false,
            name => sys::refusal_of_name(name).map_or(Ok(()), Err)?,
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

    /// Compared as paths: which way the separators lean is the system's.
    fn parts(path: &str) -> Result<(PathBuf, PathBuf), Refusal> {
        split(Path::new(path)).map(|split| (split.folder.into_owned().into(), split.name.into_owned().into()))
    }

    #[test]
    fn a_path_is_its_folder_and_its_name() {
        let parts = |path| parts(path).unwrap();
        let pair = |folder: &str, name: &str| (folder.into(), name.into());
        assert_eq!(parts("a"), pair("", "a"));
        assert_eq!(parts("a/b"), pair("a", "b"));
        assert_eq!(parts("./a//b/./c/"), pair("a/b", "c"));
        assert_eq!(parts("."), pair("", ""));
        assert_eq!(parts("./"), pair("", ""));
        assert_eq!(parts("..a/b..c/...d"), pair("..a/b..c", "...d"));
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
            (&format!("a/{}/b", "n".repeat(4096)), Refusal::TooLong),
        ] {
            assert_eq!(parts(path), Err(refusal), "{path:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_dot_before_it_makes_no_path_of_an_absolute_one() {
        for path in ["./C:\\x", ".//c:/x", "././\\\\server\\x"] {
            assert_eq!(parts(path), Err(Refusal::Absolute), "{path:?}");
        }
        assert_eq!(parts("./a/C:/x"), Ok(("a/C:".into(), "x".into())));
    }

    #[test]
    #[cfg(unix)]
    fn what_only_windows_reserves_is_a_name() {
        for name in ["...", "NUL", "a:b", "a\\b", "x ", "<>\"|?*\n"] {
            assert_eq!(parts(name), Ok(("".into(), name.into())));
        }
    }

    #[test]
    #[cfg(windows)]
    fn windows_has_two_separators_and_names_that_are_none() {
        assert_eq!(parts("a\\b/c\\d"), Ok(("a/b/c".into(), "d".into())));
        let split = split(Path::new("a/b/c")).unwrap();
        assert_eq!(&*split.folder, "a\\b", "one folder has one spelling");
        for (path, refusal) in [
            ("\\x", Refusal::Absolute),
            ("a\\..\\..\\x", Refusal::ParentFolder),
            ("C:x", Refusal::Stream),
            ("a/b:c", Refusal::Stream),
            ("nul/x", Refusal::Device),
            ("a/COM1.txt", Refusal::Device),
            ("a./b", Refusal::NotAName),
            ("a /b", Refusal::NotAName),
            ("...", Refusal::NotAName),
            (".. /x", Refusal::NotAName),
            (&"a\\".repeat(1_000_000), Refusal::TooDeep),
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
