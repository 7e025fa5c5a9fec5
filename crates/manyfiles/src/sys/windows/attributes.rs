//! What a file has besides its bytes, times and permissions: the attributes hidden, system, archive and not indexed.
//! Extended attributes and owners by number are none of this system's.

use std::ffi::OsStr;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, OwnedHandle};
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_ARCHIVE, FILE_ATTRIBUTE_HIDDEN, FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_NOT_CONTENT_INDEXED,
    FILE_ATTRIBUTE_SYSTEM, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_READ_ATTRIBUTES, FILE_WRITE_ATTRIBUTES,
};

use super::information::{get, set};
use super::{Dir, Handle};
use crate::sys::{Attributes, EntryKind, FileFlags, Identity, Keep, Stat, Things, Xattrs};

impl FileFlags {
    /// None changes how the content is stored.
    pub(crate) const FIRST: FileFlags = FileFlags(0);
    /// None stands in the way of what comes later.
    pub(crate) const LAST: FileFlags = FileFlags(0);
    pub(crate) const KEPT: FileFlags = FileFlags(
        FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_SYSTEM | FILE_ATTRIBUTE_ARCHIVE | FILE_ATTRIBUTE_NOT_CONTENT_INDEXED,
    );
}

pub(crate) fn attributes_of(file: impl AsHandle, keep: &Keep) -> io::Result<Attributes> {
    let flags = match keep.wants(Things::FLAGS) {
        true => flags_of(&file.as_handle().try_clone_to_owned()?)?,
        false => None,
    };
    Ok(Attributes { flags, ..Attributes::default() })
}

/// Of what has the path itself, be it a link.
pub(crate) fn attributes_at(path: &Path, keep: &Keep) -> io::Result<Attributes> {
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    let file = std::fs::OpenOptions::new().access_mode(FILE_READ_ATTRIBUTES).custom_flags(flags).open(path)?;
    attributes_of(&file, keep)
}

impl Dir {
    /// The same of `name` in this folder, whose path is `shown`.
    pub(crate) fn attributes_of_name(
        &self,
        name: &OsStr,
        _kind: EntryKind,
        shown: impl Fn() -> PathBuf,
        keep: &Keep,
    ) -> io::Result<Attributes> {
        attributes_at(&self.path_of(name, &shown()), keep)
    }
}

pub(crate) fn flags_of(file: &OwnedHandle) -> io::Result<Option<FileFlags>> {
    let attributes = get::<FILE_BASIC_INFO>(file)?.FileAttributes;
    Ok(Some(FileFlags(attributes).only(FileFlags::KEPT)))
}

/// Makes those of `which` as they are in `flags`. False if some could not be set.
pub(crate) fn set_flags(file: &OwnedHandle, flags: FileFlags, which: FileFlags) -> io::Result<bool> {
    let has = FileFlags(get::<FILE_BASIC_INFO>(file)?.FileAttributes);
    let wanted = has.without(which).0 | flags.only(which).0;
    if wanted == has.0 {
        return Ok(true);
    }
    // Zero would leave them as they are.
    let wanted =
        if wanted & !FILE_ATTRIBUTE_NORMAL == 0 { FILE_ATTRIBUTE_NORMAL } else { wanted & !FILE_ATTRIBUTE_NORMAL };
    match set(file, &FILE_BASIC_INFO { FileAttributes: wanted, ..FILE_BASIC_INFO::default() }) {
        Err(error) if cannot_be_kept(&error) => Ok(false),
        set => set.map(|()| true),
    }
}

/// Whether `error` says that something cannot be kept here: it is not allowed, or the system does not have it.
pub(crate) fn cannot_be_kept(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

/// Sets them, and returns what could not be kept and need not be: all.
pub(crate) fn set_xattrs(_file: &Handle, xattrs: &Xattrs, keep: &Keep) -> io::Result<Things> {
    without_xattrs(xattrs, keep)
}

pub(super) fn without_xattrs(xattrs: &Xattrs, keep: &Keep) -> io::Result<Things> {
    let mut lost = Things::default();
    for (name, _) in xattrs.iter() {
        if keep.requires_attribute(name) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "extended attributes are not set on Windows"));
        }
        lost = lost.with(Keep::thing(name).unwrap_or_default());
    }
    Ok(lost)
}

pub(crate) fn has_xattrs(_file: &Handle, xattrs: &Xattrs) -> bool {
    xattrs.is_empty()
}

/// There are none to take away.
pub(crate) fn take_away_other_xattrs(_file: &Handle, _given: &Xattrs, _exact: Things) -> io::Result<bool> {
    Ok(false)
}

pub(crate) fn has_other_xattrs(_file: &Handle, _given: &Xattrs, _exact: Things) -> io::Result<bool> {
    Ok(false)
}

/// Groups have no rights here that a list could hide.
pub(crate) fn mode_without_list(mode: u32, _given: &Xattrs) -> u32 {
    mode
}

/// What is reserved is given back when the file is closed.
pub(crate) fn reserve_like(_from: &Handle, _stat: &Stat, _to: &Handle) -> io::Result<bool> {
    Ok(true)
}

impl Dir {
    /// Gives the folder `name` its flags. Returns what could not be kept and need not be.
    pub(crate) fn set_folder_attributes(
        &self,
        name: &OsStr,
        xattrs: &Xattrs,
        _exact: Things,
        flags: Option<FileFlags>,
        keep: &Keep,
    ) -> io::Result<Things> {
        let lost = without_xattrs(xattrs, keep)?;
        match flags {
            Some(flags) if !self.set_flags(name, flags, FileFlags::KEPT, None)? => Ok(lost.with(Things::FLAGS)),
            _ => Ok(lost),
        }
    }

    /// The same for what has this name, if it is, where that is known, this file.
    pub(crate) fn set_flags(
        &self,
        name: &OsStr,
        flags: FileFlags,
        which: FileFlags,
        identity: Option<Identity>,
    ) -> io::Result<bool> {
        let file = self.open_any(name, FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES)?;
        match identity {
            Some(is) if super::identity::identity(&file)? != is => {
                Err(io::Error::new(io::ErrorKind::NotFound, "something else has the name now"))
            }
            _ => set_flags(&file, flags, which),
        }
    }
}
