//! What a mirror asks about names in folders.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::location::final_path;
use super::{Dir, Handle};
use crate::sys::{Node, Stat};

impl Dir {
    /// Folders hold none.
    pub(crate) fn node(&self, _name: &OsStr) -> io::Result<Option<Node>> {
        Ok(None)
    }

    /// What the read-only attribute comes to.
    pub(crate) fn own_mode(&self, _name: &OsStr, stat: &Stat) -> u32 {
        stat.mode
    }

    /// Folders are.
    pub(crate) fn allow_changes(&self, _name: &OsStr) -> Option<u32> {
        None
    }

    /// Opens a file below this folder to be copied from. A link at the end is an error.
    pub(crate) fn open_source_below(&self, path: &Path) -> io::Result<Handle> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        match path.parent().filter(|above| !above.as_os_str().is_empty()) {
            Some(above) => self.folder(above)?.open_regular(name),
            None => self.open_regular(name),
        }
    }

    /// A path by which `name` is reached.
    pub(crate) fn path_of(&self, name: &OsStr, shown: &Path) -> PathBuf {
        final_path(&self.0).unwrap_or_else(|_| shown.to_owned()).join(name)
    }

    /// Not asked.
    pub(crate) fn keeps_permissions(&self) -> bool {
        true
    }

    /// The times themselves tell.
    pub(crate) fn keeps_coarse_times(&self) -> bool {
        false
    }

    /// Renames into another folder; `AlreadyExists` if anything has the new name.
    pub(crate) fn move_to(&self, from: &OsStr, folder: &Dir, to: &OsStr) -> io::Result<()> {
        super::rename_new(&final_path(&self.0)?.join(from), &final_path(&folder.0)?.join(to))
    }

    /// Opens the file `name` to read it.
    pub(crate) fn open_regular(&self, name: &OsStr) -> io::Result<Handle> {
        self.open_to_read(name)
    }
}
