//! What kept a batch from being durable.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use crate::{Error, Errors};

/// Why a [`SyncBatch`](super::SyncBatch) is not durable, and which paths it has changed all the same.
///
/// An [atomic](super::Options::atomic) batch gives files their names when all of them are durable. So as long as
/// [`replaced`](BatchFailed::replaced) is empty every path has its old content. A path that is in it has its new
/// content, whole, for every program that reads it; whether a crash of the machine brings the old content back is not
/// known, because a rename before it, or the sync of a folder, has failed.
#[derive(Clone, Debug)]
pub struct BatchFailed {
    pub(super) errors: Errors,
    pub(super) replaced: Vec<Arc<Path>>,
}

impl BatchFailed {
    /// Every sync, close and rename that failed. Where a whole file system was synced, the path is that of the first
    /// file there.
    pub fn errors(&self) -> &Errors {
        &self.errors
    }

    /// The paths that an atomic batch has given their new content before it failed. Always empty for one that is not
    /// atomic: all of its paths have been written in place.
    pub fn replaced(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.replaced.iter().map(|path| &**path)
    }
}

impl fmt::Display for BatchFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.errors)?;
        match self.replaced.len() {
            0 => Ok(()),
            1 => write!(f, "; {} has its new content all the same", self.replaced[0].display()),
            n => write!(f, "; {n} paths have their new content all the same"),
        }
    }
}

impl std::error::Error for BatchFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.errors)
    }
}

impl From<BatchFailed> for io::Error {
    /// Has the kind of the first error, and carries all of this: [`io::Error::get_ref`] finds it.
    fn from(failed: BatchFailed) -> io::Error {
        let kind = failed.errors.iter().next().map_or(io::ErrorKind::Other, Error::kind);
        io::Error::new(kind, failed)
    }
}

impl From<BatchFailed> for Errors {
    /// Keeps the errors. Which paths are [replaced](BatchFailed::replaced) is lost.
    fn from(failed: BatchFailed) -> Errors {
        failed.errors
    }
}
