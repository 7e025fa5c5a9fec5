//! Whole folders are removed, and never what is mounted in them: that is a link here, and links are not followed.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use super::Dir;

impl Dir {
    /// Removes the folder `name` with all that is in it.
    pub(crate) fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        std::fs::remove_dir_all(super::location::final_path(&self.0)?.join(name))
    }

    /// Not found out: it may be.
    pub(crate) fn tree_changed_since(&self, _name: &OsStr, _time: SystemTime) -> io::Result<bool> {
        Ok(true)
    }

    /// The removal of a link removes nothing behind it.
    pub(crate) fn mounted_in(&self, _name: &OsStr) -> Option<PathBuf> {
        None
    }
}
