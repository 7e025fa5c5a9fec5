//! Permissions: modes, owners, access control lists.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_READONLY, FILE_BASIC_INFO};

use super::information::{get, set};
use super::{Dir, Handle, no_owner};

#[derive(Debug)]
pub(crate) struct Access;

impl Access {
    pub(crate) fn of(_path: &Path) -> io::Result<Access> {
        Ok(Access)
    }

    pub(crate) fn give_to(&self, _file: &File) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn give_to_folder(&self, _folder: (&Dir, &OsStr), _old: &Path, _keeps: (bool, bool)) -> io::Result<()> {
        Ok(())
    }
}

/// Permission bits, of which only those for writing mean something here.
pub(crate) type Permissions = u32;

pub(super) fn forbids_writing(mode: Permissions) -> bool {
    mode & 0o222 == 0
}

/// A mode without any right to write means a read-only file. There is no more to Unix permissions here: what users may do with a file is what
/// its folder hands down.
pub(crate) fn set_permissions(file: &Handle, mode: Permissions) -> io::Result<()> {
    set_read_only(file, forbids_writing(mode)).map(drop)
}

/// False if it was so already.
pub(super) fn set_read_only(file: &Handle, read_only: bool) -> io::Result<bool> {
    let attributes = get::<FILE_BASIC_INFO>(file)?.FileAttributes;
    if (attributes & FILE_ATTRIBUTE_READONLY != 0) == read_only {
        return Ok(false);
    }
    let attributes = match (attributes ^ FILE_ATTRIBUTE_READONLY) & !FILE_ATTRIBUTE_NORMAL {
        // Zero would leave them as they are.
        0 => FILE_ATTRIBUTE_NORMAL,
        attributes => attributes,
    };
    set(file, &FILE_BASIC_INFO { FileAttributes: attributes, ..FILE_BASIC_INFO::default() })?;
    Ok(true)
}

pub(crate) fn set_owner(_file: &Handle, _owner: (u32, u32)) -> io::Result<()> {
    Err(no_owner())
}

/// The group that a replaced file had and a new one has are the same number: none.
pub(crate) fn set_group(_file: &Handle, _group: u32) -> io::Result<()> {
    Err(no_owner())
}

/// There are no set-id bits that it would matter for.
pub(crate) fn is_privileged() -> bool {
    false
}

/// Users have no numbers: the one that [`Stat`](super::Stat) has for all.
pub(crate) fn own_user() -> u32 {
    0
}

/// No umask is a umask of zero.
pub(crate) fn umask() -> Option<u32> {
    Some(0)
}
