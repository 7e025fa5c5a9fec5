//! Whole folders are removed, and never what is mounted in them: that is a link here, and links are not followed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use windows_sys::Wdk::Storage::FileSystem::FILE_DIRECTORY_FILE;
use windows_sys::Win32::Foundation::ERROR_DIRECTORY;
use windows_sys::Win32::Storage::FileSystem::{DELETE, FILE_READ_ATTRIBUTES};

use super::Dir;
use super::dir::{FOLDER, delete, existing};
use super::identity::kind;
use super::native::{while_in_use, wide};
use crate::sys::{Entering, EntryKind};

/// A folder that was opened to be emptied, and its names from the first on, in no order.
#[derive(Debug)]
pub(crate) struct Listing {
    dir: Dir,
    entries: std::fs::ReadDir,
}

/// A name in a folder.
#[derive(Debug)]
pub(crate) struct Listed {
    name: OsString,
    kind: Option<EntryKind>,
}

impl Listed {
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// A kind that is missing has to be asked for.
    pub(crate) fn kind(&self) -> Option<EntryKind> {
        self.kind
    }
}

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

impl Listing {
    pub(crate) fn next(&mut self) -> Option<io::Result<Listed>> {
        Some(self.entries.next()?.map(|entry| {
            let kind = entry.file_type().ok().map(|kind| match kind {
                kind if kind.is_dir() => EntryKind::Folder,
                kind if kind.is_file() => EntryKind::File,
                _ => EntryKind::Symlink,
            });
            Listed { name: entry.file_name(), kind }
        }))
    }

    /// A handle of the folder that lives longer.
    pub(crate) fn dir(&self) -> io::Result<Dir> {
        self.dir.try_clone()
    }

    pub(crate) fn kind_of(&self, name: &OsStr) -> io::Result<EntryKind> {
        Ok(self.dir.stat(name)?.kind)
    }

    /// Removes a name that is no folder's.
    pub(crate) fn remove(&self, name: &OsStr, take_rights: bool) -> io::Result<()> {
        self.dir.remove_file(name, take_rights)
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
        Dir(while_in_use(|| existing(FOLDER, FILE_DIRECTORY_FILE).at(&self.0, &name))?).unless_link()?.list()
    }

    /// The system knows no way up from a handle.
    pub(crate) fn above(&self) -> io::Result<Dir> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The names in it, from the first on.
    pub(crate) fn list(&self) -> io::Result<Listing> {
        let path = super::location::final_path(&self.0)?;
        let entries = super::in_use::while_in_use(&[&path], || std::fs::read_dir(&path))?;
        Ok(Listing { dir: self.try_clone()?, entries })
    }

    /// Removes a name that is no folder's, a read-only file's too.
    pub(crate) fn remove_file(&self, name: &OsStr, _take_rights: bool) -> io::Result<()> {
        self.remove(name)
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, name: &OsStr, _take_rights: bool) -> io::Result<()> {
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
