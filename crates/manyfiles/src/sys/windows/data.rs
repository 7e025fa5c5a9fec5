//! Bytes of open files.

use std::fs::File;
use std::io;
use std::os::windows::fs::FileExt;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_DISK_FULL, ERROR_HANDLE_EOF, ERROR_NOT_SUPPORTED};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ALLOCATION_INFO, FILE_BEGIN, FILE_END_OF_FILE_INFO, FILE_INFO_BY_HANDLE_CLASS, FILE_STANDARD_INFO,
    FileAllocationInfo, FileEndOfFileInfo, ReadFile, SetFileInformationByHandle, SetFilePointerEx, WriteFile,
};

use super::information::{Information, get, set};
use super::{Handle, control, is};
use crate::sys::Unable;

/// One write.
pub(crate) fn write(file: &Handle, bytes: *const [u8]) -> io::Result<usize> {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut written = 0;
    // SAFETY: content of this crate on Windows is memory that lives and stays as it is while it is written (see
    // `Mapping`).
    match unsafe { WriteFile(file.as_raw_handle(), bytes.cast(), len, &mut written, std::ptr::null_mut()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(written as usize),
    }
}

/// One read. Zero at the end.
pub(crate) fn read(file: &Handle, buffer: &mut [u8]) -> io::Result<usize> {
    let len = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
    let mut read = 0;
    // SAFETY: the buffer is this function's to be written, and at least `len` bytes long.
    match unsafe { ReadFile(file.as_raw_handle(), buffer.as_mut_ptr(), len, &mut read, std::ptr::null_mut()) } {
        0 => match io::Error::last_os_error() {
            end if is(&end, &[ERROR_HANDLE_EOF, ERROR_BROKEN_PIPE]) => Ok(0),
            error => Err(error),
        },
        _ => Ok(read as usize),
    }
}

/// Holes shorter than this are never left out: NTFS leaves out whole units of 64 KiB.
const HOLE: u64 = 64 << 10;

/// Moves the position of the next write, leaving a hole behind.
pub(crate) fn seek(file: &Handle, offset: u64) -> io::Result<()> {
    // Only on its way to a new end: files are written from the beginning.
    if offset >= HOLE && offset - HOLE >= len(file)? {
        make_sparse(file)?;
    }
    set_position(file, offset)
}

fn set_position(file: &Handle, offset: u64) -> io::Result<()> {
    let offset = i64::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: it changes a number of the handle; the new position is not asked for.
    match unsafe { SetFilePointerEx(file.as_raw_handle(), offset, std::ptr::null_mut(), FILE_BEGIN) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

pub(super) fn len(file: &Handle) -> io::Result<u64> {
    Ok(u64::try_from(get::<FILE_STANDARD_INFO>(file)?.EndOfFile).unwrap_or(0))
}

/// A file system that knows no holes writes zeros.
fn make_sparse(file: &Handle) -> io::Result<()> {
    control::make_sparse(file).or(Ok(()))
}

// SAFETY: so says the documentation of SetFileInformationByHandle.
unsafe impl Information for FILE_END_OF_FILE_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileEndOfFileInfo;
}

pub(crate) fn set_len(file: &Handle, new: u64) -> io::Result<()> {
    if new >= HOLE && new - HOLE >= len(file)? {
        make_sparse(file)?;
    }
    let end = i64::try_from(new).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    set(file, &FILE_END_OF_FILE_INFO { EndOfFile: end })
}

/// Sharing blocks needs ReFS, and is left to the system's own copy.
pub(crate) fn clone_file(_from: &Handle, _to: &Handle) -> io::Result<Result<(), Unable>> {
    Ok(Err(Unable::All))
}

/// Windows copies inside the kernel by path only.
pub(crate) fn copy_in_kernel(_from: &Handle, _to: &Handle, _len: usize) -> io::Result<Option<usize>> {
    Ok(None)
}

/// The next stretch of data at or after `from` in a sparse file: where it begins and ends. `Ok(None)` if only a hole
/// follows. A file system that knows no holes says that all is data.
pub(crate) fn next_data(file: &Handle, from: u64, len: u64) -> io::Result<Option<(u64, u64)>> {
    if from >= len {
        return Ok(None);
    }
    let found = match control::first_allocated(file, from, len) {
        Err(error) if is(&error, &[ERROR_NOT_SUPPORTED, windows_sys::Win32::Foundation::ERROR_INVALID_FUNCTION]) => {
            Some((from, len))
        }
        found => found?,
    };
    let Some((start, end)) = found else { return Ok(None) };
    // It tells of whole units, which may begin before and end behind.
    let (start, end) = (start.max(from), end.min(len));
    set_position(file, start)?;
    Ok(Some((start, end)))
}

/// std copies by `CopyFileEx`: attributes and streams too, and without leaving a file open.
pub(crate) const COPIES_BY_PATH: bool = true;

pub(crate) fn copy_contents(mut source: &File, _length: u64, mut target: &File) -> io::Result<u64> {
    io::copy(&mut source, &mut target)
}

/// One write at `offset`. On Windows it also moves the file's own position behind what it wrote.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(bytes, offset)
}

/// Reads at `offset`. On Windows it also moves the file's own position behind what it read.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(bytes, offset)
}

/// Reserves room up to `offset + len` without making the file longer. `Ok(false)` where the file system cannot. Windows
/// gives back by itself what is not used when the file closes.
pub(crate) fn preallocate(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    let end = offset.saturating_add(len);
    // A smaller number would cut the file.
    if end <= file.metadata()?.len() {
        return Ok(true);
    }
    let info = FILE_ALLOCATION_INFO { AllocationSize: i64::try_from(end).unwrap_or(i64::MAX) };
    let size = size_of_val(&info) as u32;
    // SAFETY: the handle is open while `file` is borrowed; `info` is what this class of information takes, with its
    // size.
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
    use super::*;

    #[test]
    fn what_is_left_out_reads_as_zeros_and_what_is_data_is_found() {
        let file = Handle::from(tempfile::tempfile().unwrap());
        seek(&file, 1 << 20).unwrap();
        write(&file, b"middle").unwrap();
        set_len(&file, 3 << 20).unwrap();
        let (start, end) = next_data(&file, 0, 3 << 20).unwrap().expect("there is data");
        assert!(start <= 1 << 20 && end >= (1 << 20) + 6, "{start} {end}");
        let mut bytes = vec![1; (1 << 20) + 6 - start as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += read(&file, &mut bytes[filled..]).unwrap();
        }
        let (zeros, data) = bytes.split_at(bytes.len() - 6);
        assert!(zeros.iter().all(|&byte| byte == 0));
        assert_eq!(data, b"middle");
        assert_eq!(next_data(&file, 3 << 20, 3 << 20).unwrap(), None);
    }
}
