//! Bytes at a place of their own in a file, and on the disk.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::AsRawHandle;
use std::path::Path;

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_DIRECTORY, ERROR_DISK_FULL, ERROR_INVALID_FUNCTION, ERROR_INVALID_HANDLE,
    ERROR_NOT_SUPPORTED,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ALLOCATION_INFO, FILE_APPEND_DATA, FILE_FLAG_BACKUP_SEMANTICS, FILE_STANDARD_INFO, FILE_WRITE_DATA,
    FileAllocationInfo, GetFinalPathNameByHandleW, SetFileInformationByHandle,
};

/// One write at `offset`. On Windows it also moves the file's own position behind what it wrote.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(bytes, offset)
}

/// How many buffers one [`write_vectored`] takes.
pub(crate) const MOST_BUFFERS: usize = 1;

/// Windows writes one buffer at a time: the first that is not empty. Callers go on after a short write.
pub(crate) fn write_vectored(mut file: &File, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
    let first = buffers.iter().find(|buffer| !buffer.is_empty());
    first.map_or(Ok(0), |first| file.write(first))
}

/// As [`write_vectored`], at `offset`.
pub(crate) fn write_vectored_at(file: &File, buffers: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    let first = buffers.iter().find(|buffer| !buffer.is_empty());
    first.map_or(Ok(0), |first| write_at(file, first, offset))
}

/// `FlushFileBuffers`. The handle must be open for writing.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// `FlushFileBuffers`: Windows has one kind of sync.
pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Flushes a folder's handle, which NTFS and ReFS take for a request to make its names durable. Where a folder cannot be
/// opened for that (no right to write in it, FAT) or flushed, its names are the file system's own affair. A program that reads the
/// folder may keep others from opening it for a moment.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let opened = super::while_in_use(&[path], || {
        File::options().write(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
    });
    // This opens files too.
    let sync = |folder: File| match folder.metadata()?.is_dir() {
        true => folder.sync_all(),
        false => Err(io::Error::from_raw_os_error(ERROR_DIRECTORY as i32)),
    };
    match opened.and_then(sync) {
        Err(error) if is_without_folder_sync(&error) && path.is_dir() => Ok(()),
        other => other,
    }
}

/// The path that the open file has now. `None` where the system does not say.
pub(crate) fn path_of(file: &File) -> Option<std::path::PathBuf> {
    use std::os::windows::ffi::OsStringExt;
    let mut path = vec![0u16; 1024];
    loop {
        let most = u32::try_from(path.len()).ok()?; // longer than any path
        // SAFETY: the handle is open while it is borrowed, and the call writes at most `most` units to `path`.
        let len = unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), most, 0) } as usize;
        match len {
            0 => return None,
            len if len < path.len() => return Some(std::ffi::OsString::from_wide(&path[..len]).into()),
            // What it says then is how much room it needs.
            len => path.resize(len + 1, 0),
        }
    }
}

/// How many names the open file has. 0: it was removed.
pub(crate) fn names_of(file: &File) -> io::Result<u64> {
    let information: FILE_STANDARD_INFO = super::stat::get(&file.try_clone()?.into())?;
    Ok(if information.DeletePending { 0 } else { u64::from(information.NumberOfLinks) })
}

/// Needs Linux, whose file systems are what needs it.
pub(crate) fn forget_cached(_file: &File, _offset: u64) {}

/// Whether the handle was opened to append only: the system then puts each write at the end, whatever offset is given.
pub(crate) fn appends(file: &File) -> io::Result<bool> {
    let access = super::native::granted_access(file)?;
    Ok(access & FILE_APPEND_DATA != 0 && access & FILE_WRITE_DATA == 0)
}

/// Reads at `offset`. On Windows it also moves the file's own position behind what it read.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(bytes, offset)
}

pub(super) fn is_without_folder_sync(error: &io::Error) -> bool {
    const NONE: [u32; 4] = [ERROR_ACCESS_DENIED, ERROR_INVALID_FUNCTION, ERROR_INVALID_HANDLE, ERROR_NOT_SUPPORTED];
    error.raw_os_error().is_some_and(|number| NONE.contains(&(number as u32)))
}

/// Windows syncs a whole volume for administrators only.
pub(crate) fn sync_file_system(_file: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// See [`sync_file_system`].
pub(crate) fn can_sync_file_system(_file: &File) -> bool {
    false
}

/// One number for all: nothing here depends on it, since no file system is synced as a whole.
pub(crate) fn file_system_of(_file: &File) -> io::Result<u64> {
    Ok(0)
}

/// No file system is synced as a whole, so nobody asks.
pub(crate) fn unwritten(_file: &File) -> u64 {
    0
}

/// Windows starts write-out by itself.
pub(crate) fn start_writeback(_file: &File, _offset: u64, _len: u64) -> io::Result<()> {
    Ok(())
}

/// See [`start_writeback`].
pub(crate) fn await_writeback(_file: &File, _offset: u64, _len: u64) -> io::Result<()> {
    Ok(())
}

/// Reserves room up to `offset + len` without making the file longer. `Ok(false)` where the file system cannot. Windows gives
/// back by itself what is not used when the file closes.
pub(crate) fn preallocate(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    let end = offset.saturating_add(len);
    // A smaller number would cut the file.
    if end <= file.metadata()?.len() {
        return Ok(true);
    }
    let info = FILE_ALLOCATION_INFO { AllocationSize: i64::try_from(end).unwrap_or(i64::MAX) };
    let size = size_of_val(&info) as u32;
    // SAFETY: the handle is open while `file` is borrowed; `info` is what this class of information takes, with its size.
    let done = unsafe {
        SetFileInformationByHandle(file.as_raw_handle(), FileAllocationInfo, std::ptr::from_ref(&info).cast(), size)
    };
    if done != 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(ERROR_DISK_FULL as i32) => Err(error),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use std::os::windows::fs::OpenOptionsExt;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_folder_is_synced_when_the_program_that_keeps_others_out_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let mut alone = File::options();
        let alone = alone.read(true).share_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
        let alone = alone.open(folder.path()).unwrap();
        let opened = File::options().write(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(folder.path());
        assert!(opened.is_err(), "it can be opened all the same: this shows nothing");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                drop(alone);
            });
            sync_folder(folder.path()).unwrap();
        });
    }
}
