//! Open files.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, IntoRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::CloseHandle;
use windows_sys::Win32::Storage::FileSystem::{FILE_APPEND_DATA, FILE_WRITE_DATA};

/// What the system closes.
pub(crate) type Handle = OwnedHandle;

/// Closes a handle, once, and says how it went.
pub(crate) fn close(handle: Handle) -> io::Result<()> {
    let handle = handle.into_raw_handle();
    // SAFETY: `into_raw_handle` gave up the only owner of this handle, so nothing else uses it or closes it again.
    match unsafe { CloseHandle(handle) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// How a handle was opened is not asked: what opened it says so, or it counts as written.
pub(crate) fn is_read_only(_file: impl AsHandle) -> bool {
    false
}

/// Windows allows millions of handles.
pub(crate) fn leaves_room<T>(_any: T) -> bool {
    true
}

/// Whether the handle was opened to append only: the system then puts each write at the end, whatever offset is given.
pub(crate) fn appends(file: &File) -> io::Result<bool> {
    let access = super::native::granted_access(file)?;
    Ok(access & FILE_APPEND_DATA != 0 && access & FILE_WRITE_DATA == 0)
}

/// How many handles this process may have open: Windows allows millions.
pub(crate) fn handle_limit() -> usize {
    usize::MAX
}

/// How many more handles this process may have open.
pub(crate) fn free_handles<T>(_any: T) -> usize {
    usize::MAX
}

/// Handles need no room to be made.
pub(crate) fn make_room_for_handles<T>(_any: T, _count: usize) {}

#[cfg(test)]
mod tests {
    use std::os::windows::io::{AsRawHandle, FromRawHandle, RawHandle};

    use windows_sys::Win32::Foundation::{ERROR_INVALID_HANDLE, HANDLE_FLAG_PROTECT_FROM_CLOSE, SetHandleInformation};

    use super::*;

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
}
