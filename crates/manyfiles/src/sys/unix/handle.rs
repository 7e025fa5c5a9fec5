//! Open files.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};

use rustix::fs::OFlags;

/// The handle of an open file.
pub(crate) type Handle = OwnedFd;

/// Closes, and says what the system said. Never made again, not even when interrupted: on Linux the descriptor is gone
/// by then.
pub(crate) fn close(file: Handle) -> io::Result<()> {
    // SAFETY: `into_raw_fd` gave up ownership, so this is the one close of that descriptor.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether it was opened for reading alone, as far as the system says.
pub(crate) fn is_read_only(file: impl AsFd) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags & OFlags::ACCMODE == OFlags::RDONLY)
}

/// Whether this handle may stay open a while longer without taking from the program what it needs.
///
/// Descriptors are given out from the lowest free number on, so that all below a new one's number are in use: a quarter
/// of the limit is left free for sockets, pipes and whatever else the program opens elsewhere.
pub(crate) fn leaves_room(file: impl AsFd) -> bool {
    let limit = super::handle_limit();
    usize::try_from(file.as_fd().as_raw_fd()).is_ok_and(|number| number < limit - limit / 4)
}

/// Whether the handle was opened to append: the system then puts each write at the end, whatever offset is given.
pub(crate) fn appends(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(file)?.contains(rustix::fs::OFlags::APPEND))
}

/// How many handles this process may have open.
pub(crate) fn handle_limit() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// About how many more handles this process may have open, told by the number that the next one gets. `any` is some open
/// one.
pub(crate) fn free_handles(any: impl AsFd) -> usize {
    let next = rustix::io::fcntl_dupfd_cloexec(any, 0);
    let next = next.ok().and_then(|next| usize::try_from(next.as_raw_fd()).ok()); // None is free where this fails.
    next.map_or(0, |next| handle_limit().saturating_sub(next))
}

/// Makes room for `count` handles in this thread's descriptor table; `any` is some open one.
///
/// Linux lets a table grow only after every processor has passed a quiescent state if threads share it: 10–20 ms each
/// time it doubles from its first 64. Where it is not shared yet this costs nothing, and where it is, only once.
#[cfg(target_os = "linux")]
pub(crate) fn make_room_for_handles(any: impl std::os::fd::AsFd, count: usize) {
    let last = count.min(handle_limit()).saturating_sub(1);
    let last = i32::try_from(last).unwrap_or(i32::MAX);
    // Where it fails, the table grows when it must. Dropping the descriptor closes it; the room stays.
    drop(rustix::io::fcntl_dupfd_cloexec(any, last));
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn make_room_for_handles(_any: impl std::os::fd::AsFd, _count: usize) {}
