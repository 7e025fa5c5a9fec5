//! What files that are still open stand in the way of, and copying.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::path::Path;

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_BUSY, ERROR_DELETE_PENDING, ERROR_DIR_NOT_EMPTY, ERROR_DISK_FULL,
    ERROR_DISK_QUOTA_EXCEEDED, ERROR_HANDLE_DISK_FULL, ERROR_LOCK_VIOLATION, ERROR_MORE_DATA, ERROR_SHARING_VIOLATION,
    ERROR_TOO_MANY_OPEN_FILES,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_DELETE_ON_CLOSE, FILE_FLAG_OPEN_REPARSE_POINT, FILE_INFO_BY_HANDLE_CLASS,
    FILE_NAME_INFO, FileNameInfo, FileNormalizedNameInfo, GetFileInformationByHandleEx,
};

/// Whether an open file keeps others from using its path. Here it does: it cannot be opened for oneself alone, its
/// name lives on when it is removed, its folder cannot be removed or renamed, and what its folder and its times say is
/// not up to date.
pub(crate) const OPEN_FILES_HINDER: bool = true;

/// The flag of a file that the system removes when it is closed.
pub(crate) const DELETE_ON_CLOSE: u32 = FILE_FLAG_DELETE_ON_CLOSE;

/// The name by which open files are told apart: the path on its volume, without the volume, which takes more calls to
/// find out. The same file has one name whatever path it was opened by: relative, through a link or a drive's other
/// letter, or with a short name (8.3) on the way. `None` for what is no file.
pub(crate) fn name(file: &impl AsHandle) -> Option<String> {
    let name = query(file, FileNameInfo)?;
    // Short names stay as they were given. Asking for long ones may take a server a while, so only if there may be some.
    if name.contains('~') { query(file, FileNormalizedNameInfo).or(Some(name)) } else { Some(name) }
}

fn query(file: &impl AsHandle, class: FILE_INFO_BY_HANDLE_CLASS) -> Option<String> {
    /// Room for most paths; a path has at most 32,767 units.
    const SHORT: usize = 256;
    const LONG: usize = 16_500;

    fn ask(file: &impl AsHandle, class: FILE_INFO_BY_HANDLE_CLASS, buffer: &mut [u32]) -> io::Result<String> {
        let (handle, size) = (file.as_handle().as_raw_handle(), size_of_val(buffer) as u32);
        // SAFETY: the handle is open while it is borrowed; the system writes at most `size` bytes to the buffer, which is
        // as aligned as a FILE_NAME_INFO must be.
        if unsafe { GetFileInformationByHandleEx(handle, class, buffer.as_mut_ptr().cast(), size) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // A FILE_NAME_INFO: the length in bytes, then the name, two units in each u32 on this little-endian system.
        const { assert!(offset_of!(FILE_NAME_INFO, FileName) == size_of::<u32>() && cfg!(target_endian = "little")) };
        let units = buffer[1..].iter().flat_map(|pair| [*pair as u16, (*pair >> 16) as u16]);
        let name: Vec<u16> = units.take(buffer[0] as usize / 2).collect();
        // A name that is no Unicode becomes like another one at worst: then one more close is waited for.
        Ok(String::from_utf16_lossy(&name))
    }

    match ask(file, class, &mut [0; SHORT]) {
        Err(error) if error.raw_os_error() == Some(ERROR_MORE_DATA as i32) => ask(file, class, &mut vec![0; LONG]).ok(),
        // Not a file, or one whose file system tells no name: the caller does without.
        result => result.ok(),
    }
}

/// The [`name`] of what is at `path`, itself or, with `follow`, what a link there leads to. `None` if that cannot be
/// told, because it does not exist, for instance.
pub(crate) fn name_at(path: &Path, follow: bool) -> Option<String> {
    let link = if follow { 0 } else { FILE_FLAG_OPEN_REPARSE_POINT };
    // Without access to what is inside, which nobody can refuse who has it open.
    let file = OpenOptions::new().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS | link).open(path);
    // What the caller is about to do with the path says why not.
    name(&file.ok()?)
}

/// Whether a call may have failed because of a file that is not closed yet.
pub(crate) fn may_be_for_an_open_file(error: &io::Error) -> bool {
    let Some(number) = error.raw_os_error() else { return false };
    matches!(
        number as u32,
        ERROR_SHARING_VIOLATION | ERROR_LOCK_VIOLATION | ERROR_BUSY |
        // Also what everyone says of a file that is removed, but not closed.
        ERROR_ACCESS_DENIED | ERROR_DELETE_PENDING |
        // Such a file is still in its folder.
        ERROR_DIR_NOT_EMPTY |
        ERROR_TOO_MANY_OPEN_FILES |
        // It keeps its space, too.
        ERROR_DISK_FULL | ERROR_HANDLE_DISK_FULL | ERROR_DISK_QUOTA_EXCEEDED
    )
}

/// Copies as `std::fs::copy` does, by `CopyFileEx`: attributes and streams too, and without leaving a file open.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<(u64, Option<(File, File)>)> {
    Ok((std::fs::copy(from, to)?, None))
}
