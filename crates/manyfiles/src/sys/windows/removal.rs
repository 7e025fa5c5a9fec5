//! Whole folders are removed, and never what is mounted in them: that is a link here, and links are not followed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use windows_sys::Win32::Foundation::ERROR_DIRECTORY;
use windows_sys::Win32::Storage::FileSystem::{DELETE, FILE_READ_ATTRIBUTES};

use super::Dir;
use super::dir::delete;
use super::identity::kind;
use super::native::while_in_use;
use crate::sys::{Entering, EntryKind};

/// The names in a folder, in no order.
#[derive(Debug)]
pub(crate) struct Entries(std::fs::ReadDir);

impl Iterator for Entries {
    type Item = io::Result<(OsString, Option<EntryKind>)>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(|entry| {
            let kind = entry.file_type().ok().map(|kind| match kind {
                kind if kind.is_dir() => EntryKind::Folder,
                kind if kind.is_file() => EntryKind::File,
                _ => EntryKind::Symlink,
            });
            (entry.file_name(), kind)
        }))
    }
}

/// How one folder after the other is emptied.
impl Dir {
    /// Opens the folder `name`. A link is no folder, and what is mounted is one.
    pub(crate) fn enter(&self, name: &OsStr, _how: Entering) -> io::Result<Dir> {
        self.child(name)
    }

    /// The system knows no way up from a handle.
    pub(crate) fn above(&self) -> io::Result<Dir> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The names in it.
    pub(crate) fn entries(&self) -> io::Result<Entries> {
        Ok(Entries(std::fs::read_dir(super::location::final_path(&self.0)?)?))
    }

    /// Removes a name of that kind: an empty folder, or what is no folder.
    pub(crate) fn remove_as(&self, name: &OsStr, is: EntryKind, _take_rights: bool) -> io::Result<()> {
        if is != EntryKind::Folder {
            return self.remove(name);
        }
        let folder = while_in_use(|| self.open_any(name, DELETE | FILE_READ_ATTRIBUTES))?;
        match kind(&folder)?.0 {
            EntryKind::Folder => Ok(delete(&folder)?),
            _ => Err(io::Error::from_raw_os_error(ERROR_DIRECTORY as i32)),
        }
    }
}

impl Dir {
    /// Not found out: it may be.
    pub(crate) fn tree_changed_since(&self, _name: &OsStr, _time: SystemTime) -> io::Result<bool> {
        Ok(true)
    }

    /// The removal of a link removes nothing behind it.
    pub(crate) fn mounted_in(&self, _name: &OsStr) -> io::Result<Option<PathBuf>> {
        Ok(None)
    }
}
