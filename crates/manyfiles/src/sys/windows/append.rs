//! Files that one process at a time writes.

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::{FILE_SHARE_DELETE, FILE_SHARE_READ, MoveFileExW};

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

/// Nothing to give back: no other process has a copy of the handle, and who may open the file depends on that alone.
pub(crate) fn unlock(_file: &File) {}

/// Gives a file another name; `AlreadyExists` if anything has that.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (null_terminated(from), null_terminated(to));
    // SAFETY: both are strings that end in a null and live until the call returns.
    match unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), 0) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// An absolute path for a call of the system: a long one is only taken with a prefix.
fn null_terminated(path: &Path) -> Vec<u16> {
    const LONG: usize = 240;
    let wide: Vec<u16> = path.as_os_str().encode_wide().collect();
    let has_drive = wide.get(1) == Some(&u16::from(b':'));
    let prefix = if wide.len() >= LONG && has_drive { r"\\?\" } else { "" };
    prefix.encode_utf16().chain(wide).chain([0]).collect()
}
