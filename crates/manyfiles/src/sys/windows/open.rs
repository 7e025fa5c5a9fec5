//! Files are opened.

use std::fs::{File, Metadata};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::OwnedHandle;
use std::path::Path;

use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, ERROR_REPARSE_POINT_ENCOUNTERED};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
};

use super::Handle;
use super::identity::kind;
use crate::error::explained_as;
use crate::sys::EntryKind;

/// Opens a file to be copied from. A link is an error.
pub(crate) fn open_source(path: &Path) -> io::Result<Handle> {
    let open = |flags| std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map(OwnedHandle::from);
    // With this flag folders are opened too, so that the caller can tell what is wrong.
    let itself = open(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)?;
    let (kind, attributes) = kind(&itself)?;
    match kind {
        EntryKind::Symlink => Err(io::Error::from_raw_os_error(ERROR_REPARSE_POINT_ENCOUNTERED as i32)),
        // Stored otherwise: its content comes when it is opened as usual.
        EntryKind::File if attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 => open(0),
        _ => Ok(itself),
    }
}

/// Opens a file to be synced, for which Windows wants the right to write.
pub(crate) fn open_to_sync(path: &Path) -> io::Result<Handle> {
    let how = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    std::fs::OpenOptions::new().write(true).custom_flags(how).open(path).map(OwnedHandle::from)
}

/// Creates a file to be written at its end, or cuts it to nothing if it is there.
pub(crate) fn create_to_append(path: &Path, create_new: bool) -> io::Result<File> {
    let mut options = File::options();
    options.append(true);
    if create_new {
        return options.create_new(true).open(path);
    }
    // A handle that may only append may not cut.
    File::create(path)?;
    options.open(path)
}

/// Windows denies access to a folder that is opened as a file, and says no more.
pub(crate) fn explain_folder<T>(opened: io::Result<T>, path: &Path) -> io::Result<T> {
    match opened {
        Err(error) if error.raw_os_error() == Some(ERROR_ACCESS_DENIED as i32) && path.is_dir() => {
            Err(explained_as(io::ErrorKind::IsADirectory, error, "it is a folder"))
        }
        other => other,
    }
}

/// Copies are made by path.
pub(crate) fn create_like(_source: &Metadata, _to: &Path, _must_be_new: bool) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
