//! Opening the last file of a log for one appender alone.

use std::io;
use std::path::{Path, PathBuf};

use crate::appender::file::calls::busy;
use crate::appender::file::files::Files;
use crate::appender::log::ending;
use crate::appender::storage::StoredFile;
use crate::{Error, Operation, Result};

impl Files {
    /// Opens the file that has the highest number, compressed or not, for this appender alone.
    pub(in crate::appender) fn lock_last(&self) -> Result<Box<dyn StoredFile>> {
        let open = |path: PathBuf| match self.storage.open(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            other => {
                other.map(|file| Some((path.clone(), file))).map_err(|cause| Error::new(Operation::Open, path, cause))
            }
        };
        let opened = match open(self.path.clone())? {
            None => open(self.series.packed_path(self.number))?,
            some => some,
        };
        let numbers = self.series.numbers(&*self.storage)?;
        if numbers.last() != Some(&self.number) {
            return Err(busy(&self.path));
        }
        let Some((path, file)) = opened else {
            return Err(ending::misfit(&*self.storage, &self.series, &numbers)?.unwrap_or_else(|| busy(&self.path)));
        };
        not_moved(&*file, &path)?;
        Ok(file)
    }
}

/// The program that had the file before may have moved it, and another file may be in its place.
pub(in crate::appender) fn not_moved(file: &dyn StoredFile, path: &Path) -> Result<()> {
    match file.is_at(path) {
        Ok(true) => Ok(()),
        Ok(false) => Err(busy(path)),
        Err(cause) => Err(Error::new(Operation::Open, path, cause)),
    }
}
