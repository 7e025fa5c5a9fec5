//! Trees are removed.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use super::Dir;
use super::location::final_path;

impl Dir {
    /// Removes the folder `name` with all that is in it. Links and mounted volumes are removed and not followed.
    ///
    /// # Errors
    /// The first that came up, with the path from this folder on.
    pub(crate) fn remove_tree(&self, name: &OsStr) -> Result<(), (PathBuf, io::Error)> {
        let removed = final_path(&self.0).and_then(|path| std::fs::remove_dir_all(path.join(name)));
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| (PathBuf::from(name), error)),
        }
    }
}
