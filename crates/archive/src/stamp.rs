//! Whether a file has changed, by its length and its time.

use std::fs::{File, Metadata};
use std::io;
use std::time::SystemTime;

use crate::error::{ErrorKind, Result};

/// A file's length and time when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub len: u64,
    modified: SystemTime,
}

impl Stamp {
    pub(crate) fn modified(&self) -> SystemTime {
        self.modified
    }

    pub(crate) fn of(file: &File) -> io::Result<Stamp> {
        let metadata = file.metadata()?;
        Ok(Stamp { len: metadata.len(), modified: metadata.modified()? })
    }

    pub(crate) fn is_of(&self, metadata: &Metadata) -> bool {
        metadata.len() == self.len && metadata.modified().is_ok_and(|modified| modified == self.modified)
    }

    /// An error if another process has changed the file.
    pub(crate) fn check(&self, file: &File) -> Result<(), ErrorKind> {
        let now = Stamp::of(file).map_err(ErrorKind::Read)?;
        if now != *self {
            return Err(ErrorKind::Changed(io::Error::other("its length or time is not what it was")));
        }
        Ok(())
    }
}
