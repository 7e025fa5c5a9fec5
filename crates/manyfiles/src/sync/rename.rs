//! A file of an atomic batch between its temporary name and its final one.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::folders::Folder;
use crate::origin::Origin;
use crate::sys::EntryKind;
use crate::{Error, Operation, Result};

/// A temporary file that is to get its name. It is removed if that does not happen.
pub(super) struct Rename {
    folder: Arc<Folder>,
    /// `None` once the file has its name, or is removed.
    temporary: Option<OsString>,
    pub(super) path: Arc<Path>,
    origin: Origin,
}

impl Rename {
    pub(super) fn new(folder: Arc<Folder>, temporary: OsString, path: Arc<Path>) -> Rename {
        Rename { folder, temporary: Some(temporary), path, origin: Origin::default() }
    }

    /// Gives the file its name.
    pub(super) fn make(&mut self) -> io::Result<()> {
        self.origin.check()?;
        if let (Some(temporary), Some(name)) = (&self.temporary, self.path.file_name()) {
            // Another program may have put something there since the file was opened.
            if self.folder.look_at(name)?.is_some_and(|found| found.kind == EntryKind::Other) {
                return Err(not_a_file());
            }
            self.folder.rename(temporary, name)?;
            self.temporary = None;
        }
        Ok(())
    }

    /// Removes the temporary file.
    pub(super) fn take_back(&mut self) -> Result<()> {
        let Some(temporary) = self.temporary.take() else { return Ok(()) };
        // A forked child's is a copy; the file is still to get its name in the other process.
        if self.origin.is_a_parent() {
            return Ok(());
        }
        let failed = |cause| Error::new(Operation::Remove, self.folder.path.join(&temporary), cause);
        self.folder.remove(&temporary).map_err(failed)
    }
}

impl Drop for Rename {
    fn drop(&mut self) {
        // If this fails the file is left over. The error that led here is the one to tell.
        drop(self.take_back());
    }
}

pub(super) fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a folder, and nothing else is replaced")
}
