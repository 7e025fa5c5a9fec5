//! Which paths may be written: relative, downward, and by names this system can hold.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

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
    /// Windows keeps the name for a device (`CON`, `NUL`, `COM1`), reads it as a stream (`a:b`), or cannot hold it.
    ReservedName,
    /// A symbolic link stands where a folder is needed; links are not followed on the way down.
    ThroughSymlink,
    /// The name differs from another of this tree only in case, and the file system holds both as one.
    FoldsTogether,
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
            Refusal::ReservedName => "refused: Windows reserves this name",
            Refusal::ThroughSymlink => "refused: a symbolic link stands in the way, and links are not followed",
            Refusal::FoldsTogether => "refused: this file system holds the name and an earlier one of this tree as one",
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
        self.io_error().get_ref()?.downcast_ref().copied()
    }
}

/// Checks that `path` stays below the root it is joined to, whatever that root is, and returns it without `.` and doubled
/// separators. The root itself comes back as an empty path.
///
/// This looks at the path alone. Links that stand on the way down are refused when the entry is written.
pub fn check(path: &Path) -> Result<PathBuf, Refusal> {
    split(path).map(|(folder, name)| name.map_or(folder.clone(), |name| folder.join(name)))
}

pub(super) fn split(path: &Path) -> Result<(PathBuf, Option<&OsStr>), Refusal> {
    todo!()
}
