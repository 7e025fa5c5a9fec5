//! Names are moved.

use std::ffi::OsStr;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::MoveFileExW;

use super::Dir;

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

impl Dir {
    /// Windows has no such call.
    pub(crate) fn exchange(&self, _one: &OsStr, _other: &OsStr) -> io::Result<bool> {
        Ok(false)
    }
}
