//! Unix.

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

use rustix::process::{Resource, getrlimit};

/// What the system closes.
pub(crate) type Handle = OwnedFd;

/// Closes a descriptor, once, and says how it went.
///
/// EINTR is reported and not retried: Linux has freed the descriptor by then, and its number may already be another
/// file's.
pub(crate) fn close(handle: Handle) -> io::Result<()> {
    let descriptor = handle.into_raw_fd();
    // SAFETY: `into_raw_fd` gave up the only owner of this descriptor, so nothing else uses it or closes it again.
    match unsafe { libc::close(descriptor) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// How many handles this process may have open; `None` if there is no limit.
pub(crate) fn handle_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}
