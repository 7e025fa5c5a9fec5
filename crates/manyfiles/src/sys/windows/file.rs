//! Open files: write, set what they carry, close. Every error keeps its number.

use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, IntoRawHandle, OwnedHandle};
use std::path::Path;
use std::time::SystemTime;

use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_ACCESS_DENIED, ERROR_ALREADY_EXISTS, ERROR_BROKEN_PIPE, ERROR_HANDLE_EOF, ERROR_NOT_SUPPORTED,
    ERROR_REPARSE_POINT_ENCOUNTERED, ERROR_SHARING_VIOLATION, ERROR_TOO_MANY_OPEN_FILES, ERROR_USER_MAPPED_FILE,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_READONLY, FILE_ATTRIBUTE_REPARSE_POINT, FILE_BASIC_INFO, FILE_BEGIN,
    FILE_END_OF_FILE_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_INFO_BY_HANDLE_CLASS,
    FILE_STANDARD_INFO, FileEndOfFileInfo, ReadFile, SetFilePointerEx, WriteFile,
};

use super::EntryKind;
use super::control;
use super::dir::is_read_only;
use super::stat::{Information, file_time, get, kind, set};

/// Permission bits, of which only those for writing mean something here.
pub(crate) type Permissions = u32;

/// What the system closes.
pub(crate) type Handle = OwnedHandle;

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

/// One write.
pub(crate) fn write(file: &Handle, bytes: *const [u8]) -> io::Result<usize> {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut written = 0;
    // SAFETY: content of this crate on Windows is memory that lives and stays as it is while it is written (see `Mapping`).
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

fn is(error: &io::Error, numbers: &[u32]) -> bool {
    error.raw_os_error().is_some_and(|number| numbers.contains(&(number as u32)))
}

/// Whether `error` says that the bytes handed to [`write`] could not be read: they always can.
pub(crate) fn is_unreadable(_error: &io::Error) -> bool {
    false
}

/// Whether `error` says that what has a name cannot be opened and written over, though it may be replaced: a link, a program
/// that runs, a read-only file.
pub(crate) fn is_not_writable_in_place(error: &io::Error) -> bool {
    let numbers =
        [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_USER_MAPPED_FILE, ERROR_REPARSE_POINT_ENCOUNTERED];
    is(error, &numbers)
}

/// Whether `error` says that this process, or the system, has no room for another handle.
pub(crate) fn is_out_of_handles(error: &io::Error) -> bool {
    is(error, &[ERROR_TOO_MANY_OPEN_FILES])
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

fn len(file: &Handle) -> io::Result<u64> {
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

pub(crate) fn set_modified(file: &Handle, modified: SystemTime) -> io::Result<()> {
    // Zero leaves the others as they are.
    set(file, &FILE_BASIC_INFO { LastWriteTime: file_time(modified), ..FILE_BASIC_INFO::default() })
}

/// A file that nobody may write is read-only. There is no more to Unix permissions here: what users may do with a file is what
/// its folder hands down.
pub(crate) fn set_permissions(file: &Handle, mode: Permissions) -> io::Result<()> {
    set_read_only(file, is_read_only(mode)).map(drop)
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

/// The error that a name is taken.
pub(crate) fn name_is_taken() -> io::Error {
    io::Error::from_raw_os_error(ERROR_ALREADY_EXISTS as i32)
}

pub(super) fn no_owner() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "users and groups of Windows have no numbers, so that no owner can be set",
    )
}

/// Sharing blocks needs ReFS, and is left to the system's own copy.
pub(crate) fn clone_file(_from: &Handle, _to: &Handle) -> io::Result<bool> {
    Ok(false)
}

/// Windows copies inside the kernel by path only.
pub(crate) fn copy_in_kernel(_from: &Handle, _to: &Handle, _len: usize) -> io::Result<Option<usize>> {
    Ok(None)
}

/// The next stretch of data at or after `from` in a sparse file: where it begins and ends. `Ok(None)` if only a hole follows.
/// A file system that knows no holes says that all is data.
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

/// Closes a handle, once, and says how it went.
pub(crate) fn close(handle: Handle) -> io::Result<()> {
    let handle = handle.into_raw_handle();
    // SAFETY: `into_raw_handle` gave up the only owner of this handle, so nothing else uses it or closes it again.
    match unsafe { CloseHandle(handle) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::windows::io::{FromRawHandle, RawHandle};
    use windows_sys::Win32::Foundation::{ERROR_INVALID_HANDLE, HANDLE_FLAG_PROTECT_FROM_CLOSE, SetHandleInformation};

    #[test]
    fn a_close_that_fails_says_what_getlasterror_said() {
        let file = OwnedHandle::from(tempfile::tempfile().unwrap());
        let raw: RawHandle = file.as_raw_handle();
        let protect = |flag| {
            // SAFETY: the handle is open; its flag decides only whether it can be closed.
            assert_ne!(unsafe { SetHandleInformation(raw, HANDLE_FLAG_PROTECT_FROM_CLOSE, flag) }, 0);
        };
        protect(HANDLE_FLAG_PROTECT_FROM_CLOSE);
        assert_eq!(close(file).unwrap_err().raw_os_error(), Some(ERROR_INVALID_HANDLE as i32));
        protect(0);
        // SAFETY: it could not be closed, so it is still open, and nothing else owns it.
        close(unsafe { OwnedHandle::from_raw_handle(raw) }).unwrap();
    }

    #[test]
    fn what_is_left_out_reads_as_zeros_and_what_is_data_is_found() {
        let file = OwnedHandle::from(tempfile::tempfile().unwrap());
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
