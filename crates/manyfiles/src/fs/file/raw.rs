//! Files made of the system's raw handles.

#![allow(unsafe_code, reason = "the callers promise what std's own functions ask for")]

use super::File;

#[cfg(unix)]
impl std::os::fd::FromRawFd for File {
    /// A file whose path is not known.
    unsafe fn from_raw_fd(fd: std::os::fd::RawFd) -> File {
        // SAFETY: the caller promises the same: the descriptor is open, and no other code owns it.
        unsafe { std::fs::File::from_raw_fd(fd) }.into()
    }
}

#[cfg(windows)]
impl std::os::windows::io::FromRawHandle for File {
    /// A file whose path is not known.
    unsafe fn from_raw_handle(handle: std::os::windows::io::RawHandle) -> File {
        // SAFETY: the caller promises the same: the handle is open, and no other code owns it.
        unsafe { std::fs::File::from_raw_handle(handle) }.into()
    }
}
