//! Whole folders are removed, and never what is mounted in them: that is a link here, and links are not followed.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use windows_sys::Wdk::Storage::FileSystem::FILE_DIRECTORY_FILE;
use windows_sys::Win32::Foundation::ERROR_DIRECTORY;
use windows_sys::Win32::Storage::FileSystem::{DELETE, FILE_READ_ATTRIBUTES};

use super::dir::{FOLDER, existing};
use super::identity::kind;
use super::native::{while_in_use, wide};
use super::{Dir, Listing};
use crate::sys::{Entering, EntryKind};

/// No folder is changed so that it can be emptied.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rights {}

impl Dir {
    pub(crate) fn rights(&self) -> io::Result<Option<Rights>> {
        Ok(None)
    }

    pub(crate) fn rights_of(&self, _name: &OsStr) -> io::Result<Option<Rights>> {
        Ok(None)
    }

    pub(crate) fn give_back(&self, rights: Rights) -> io::Result<()> {
        match rights {}
    }
}

/// How one folder after the other is emptied.
impl Dir {
    /// Opens the folder `name` to list it and to remove what is in it. A link is no folder, and what is mounted is one.
    pub(crate) fn enter(&self, name: &OsStr, _how: Entering) -> io::Result<Listing> {
        if name == "." {
            return self.list();
        }
        let name = wide(name);
        let folder = Dir(while_in_use(|| existing(FOLDER, FILE_DIRECTORY_FILE).at(&self.0, &name))?);
        Ok(Listing::of(folder.unless_link()?))
    }

    /// The system knows no way up from a handle.
    pub(crate) fn above(&self) -> io::Result<Dir> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a name that is no folder's, a read-only file's too.
    pub(crate) fn remove_file(&self, name: &OsStr, _take_rights: bool) -> io::Result<()> {
        self.remove(name)
    }

    /// Removes an empty folder, a read-only one too: Windows marks folders so that look otherwise than most.
    pub(crate) fn remove_folder(&self, name: &OsStr, _take_rights: bool) -> io::Result<()> {
        let folder = while_in_use(|| self.open_any(name, DELETE | FILE_READ_ATTRIBUTES))?;
        match kind(&folder)?.0 {
            EntryKind::Folder => self.delete_even_read_only(&folder, name),
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
