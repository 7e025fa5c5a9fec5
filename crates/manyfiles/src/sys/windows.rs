//! Windows.

use std::io;
use std::os::windows::io::{IntoRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::CloseHandle;

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

/// Handles need no room to be made.
pub(crate) fn make_room_for_handles(_any: &Handle, _count: usize) {}

/// How many handles this process may have open: Windows allows millions.
pub(crate) fn handle_limit() -> usize {
    usize::MAX
}
