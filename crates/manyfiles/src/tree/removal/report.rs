//! What was removed, and what was not.

use std::fmt;
use std::io;
use std::path::Path;

use crate::error::Cancelled;
use crate::{Error, Errors, Operation};

/// What a [`Removal`](super::Removal) did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Removed {
    /// Names removed that are not those of folders: of files, links, devices…
    pub files: u64,
    /// Folders removed.
    pub folders: u64,
    /// Names that [`keep`](super::Removal::keep) kept. Folders that stayed because of them are not counted, nor is what
    /// is in a folder that was kept.
    pub kept: u64,
    /// Each name that could not be removed, and why. A folder that stays because something in it could not be removed
    /// is not named.
    pub failures: Vec<Error>,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

impl Removed {
    pub(super) fn check(self, path: &Path) -> Result<Removed, NotRemoved> {
        if self.failures.is_empty() && !self.cancelled {
            return Ok(self);
        }
        let mut errors = self.failures.clone();
        if self.cancelled {
            errors.push(Error::new(Operation::Remove, path, io::Error::other(Cancelled)));
        }
        let errors = Errors::check(errors).expect_err("there is one");
        Err(NotRemoved { removed: Box::new(self), errors })
    }
}

/// Something could not be removed, or the removal was cancelled: the error of [`Removal`](super::Removal), with all that
/// it did.
///
/// `?` takes it into a function that returns [`Errors`] or [`io::Error`]. The latter has the kind of the first failure.
#[derive(Debug)]
pub struct NotRemoved {
    removed: Box<Removed>,
    errors: Errors,
}

impl NotRemoved {
    /// What was removed, and each failure.
    pub fn removed(&self) -> &Removed {
        &self.removed
    }

    /// The same, taken out.
    pub fn into_removed(self) -> Removed {
        *self.removed
    }

    /// The failures, and, if it was cancelled, one last error that says so ([`is_cancelled`](Error::is_cancelled)). So
    /// there is always one.
    pub fn errors(&self) -> &Errors {
        &self.errors
    }
}

impl fmt::Display for NotRemoved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.errors)
    }
}

impl std::error::Error for NotRemoved {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.errors.iter().next().map(|first| first as _)
    }
}

impl From<NotRemoved> for Errors {
    fn from(not_removed: NotRemoved) -> Errors {
        not_removed.errors
    }
}

impl From<NotRemoved> for io::Error {
    fn from(not_removed: NotRemoved) -> io::Error {
        let kind = not_removed.errors.iter().next().map_or(io::ErrorKind::Other, Error::kind);
        io::Error::new(kind, not_removed)
    }
}
