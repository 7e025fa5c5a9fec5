//! Files made of what the system calls them by.

#![allow(unsafe_code, reason = "whoever calls these promises what std's own ask for")]

use super::File;

#[cfg(unix)]
impl std::os::fd::FromRawFd for File {
    /// A file whose path nobody gave.
    unsafe fn from_raw_fd(fd: std::os::fd::RawFd) -> File {
        // SAFETY: the caller promises the same: the descriptor is open, and nobody else's.
        unsafe { std::fs::File::from_raw_fd(fd) }.into()
    }
}

#[cfg(windows)]
impl std::os::windows::io::FromRawHandle for File {
    /// A file whose path nobody gave.
    unsafe fn from_raw_handle(handle: std::os::windows::io::RawHandle) -> File {
        // SAFETY: the caller promises the same: the handle is open, and nobody else's.
        unsafe { std::fs::File::from_raw_handle(handle) }.into()
    }
}
