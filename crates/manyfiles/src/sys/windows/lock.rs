//! Files that one process has for itself.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsHandle;
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::{FILE_SHARE_DELETE, FILE_SHARE_READ};

use super::{Dir, Handle};

/// Opens a file to read and write, or makes it (then it must not be there). While it is open, others may read it, and may
/// not open it to write.
pub(crate) fn open_for_one_writer(path: &Path, create: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(create).share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE);
    match options.open(path) {
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION as i32) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another program or appender has it open to write: close that one first, or share it",
        )),
        other => other,
    }
}

impl Dir {
    /// A folder has no lock.
    pub(crate) fn hold(&self, _name: &OsStr) -> io::Result<Option<File>> {
        Ok(None)
    }
}

/// A lock would keep other programs from reading the file.
pub(crate) fn hold_file(_file: &Handle) -> io::Result<bool> {
    Ok(false)
}

/// Nothing to give back: no other process has a copy of the handle, and the handle alone keeps others from opening the file.
pub(crate) fn unlock(_file: &File) {}

/// Whether a lock may be held through this handle, which its close would release. Windows does not say.
pub(crate) fn may_hold_lock(_file: impl AsHandle) -> bool {
    true
}
