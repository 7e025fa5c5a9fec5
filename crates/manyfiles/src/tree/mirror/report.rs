//! What became of a mirror.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::tree::{Removed, Report};
use crate::{Error, Errors};

/// What a [`Mirror`](super::Mirror) did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Mirrored {
    /// What was written. Its failures are here too.
    pub written: Report,
    /// What was removed. Its failures are here too.
    pub removed: Removed,
    /// Files that were in the target under another path, and were renamed.
    pub moved: u64,
    /// Files and links that were the same already.
    pub unchanged: u64,
    /// Further names of files that became files of their own, because the target's file system did not link them (FAT has
    /// no links, others no more than some number for a file). They have the right content, are found to differ each time,
    /// and are written again.
    pub not_linked: u64,
    /// Names that are only in the target and stay, because something else failed before.
    pub kept: u64,
    /// Devices, FIFOs and sockets that were left out.
    pub left_out: Vec<PathBuf>,
    /// Whether anything in the target may have been touched, be it the permissions of a folder.
    pub begun: bool,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// Something differs still: the error of [`Mirror::mirror`](super::Mirror::mirror), with all that it did.
///
/// `?` takes it into a function that returns [`Errors`] or [`io::Error`]. The latter has the kind of the first failure.
#[derive(Debug)]
pub struct NotMirrored {
    mirrored: Box<Mirrored>,
    errors: Errors,
}

impl Mirrored {
    pub(super) fn check(mut self, more: Vec<Error>) -> Result<Mirrored, NotMirrored> {
        // Several trees are opened and several things of a folder are set, one after the other: if all fail in one way,
        // once is enough.
        let mut told = HashSet::new();
        self.written.failures.retain(|error| {
            let path = error.path().map(Path::to_owned);
            told.insert((format!("{:?}", error.operation()), path, error.raw_os_error(), error.kind()))
        });
        let mut errors = self.written.failures.clone();
        errors.extend(self.removed.failures.iter().cloned());
        errors.extend(more);
        match Errors::check(errors) {
            Ok(()) => Ok(self),
            Err(errors) => Err(NotMirrored { mirrored: Box::new(self), errors }),
        }
    }
}

impl NotMirrored {
    pub(super) fn before_anything(errors: Errors) -> NotMirrored {
        NotMirrored { mirrored: Box::default(), errors }
    }

    /// What was done all the same.
    pub fn mirrored(&self) -> &Mirrored {
        &self.mirrored
    }

    /// The same, taken out.
    pub fn into_mirrored(self) -> Mirrored {
        *self.mirrored
    }

    /// Why it is not equal. There is at least one.
    pub fn errors(&self) -> &Errors {
        &self.errors
    }
}

impl fmt::Display for NotMirrored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.errors)
    }
}

impl std::error::Error for NotMirrored {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.errors.iter().next().map(|first| first as _)
    }
}

impl From<NotMirrored> for Errors {
    fn from(not: NotMirrored) -> Errors {
        not.errors
    }
}

impl From<NotMirrored> for io::Error {
    fn from(not: NotMirrored) -> io::Error {
        let kind = not.errors.iter().next().map_or(io::ErrorKind::Other, Error::kind);
        io::Error::new(kind, not)
    }
}
