//! What a mirror asks about names in folders.

use std::ffi::OsStr;
use std::io;

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

    /// Opens the file `name` to read it.
    pub(crate) fn open_regular(&self, name: &OsStr) -> io::Result<Handle> {
        self.open_to_read(name)
    }
}
