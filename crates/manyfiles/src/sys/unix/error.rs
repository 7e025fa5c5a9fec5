//! What an error says.

use std::io;
use std::path::Path;

/// Whether `error` says that the bytes handed to [`write`] could not be read.
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EFAULT)
}

/// Whether `error` says that what has a name cannot be opened and written over, though it may be replaced: a symbolic
/// link, a program that runs, a file without permission to write.
pub(crate) fn is_not_writable_in_place(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ELOOP | libc::EMLINK | libc::ETXTBSY | libc::EACCES | libc::EPERM))
}

/// Whether `error` says that this process, or the system, has no room for another handle.
pub(crate) fn is_out_of_handles(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// The error that a name is taken.
pub(crate) fn name_is_taken() -> io::Error {
    rustix::io::Errno::EXIST.into()
}

/// Whether `error` says that there is no room, or no more is allowed: nothing that another way of writing would change.
#[cfg(target_os = "linux")]
pub(super) fn is_out_of_space(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG))
}

/// Whether opening may have failed because that file is not closed yet: a server of SMB says so of what is open. What
/// something is mounted at is busy whatever is closed.
pub(crate) fn may_be_for_an_open_file(error: &io::Error, paths: &[&Path]) -> bool {
    #[cfg(target_os = "linux")]
    let is_mounted = || paths.iter().any(|path| super::is_mount_point(path));
    #[cfg(not(target_os = "linux"))]
    let is_mounted = || paths.is_empty();
    match error.raw_os_error() {
        Some(libc::EBUSY) => !is_mounted(),
        Some(libc::ETXTBSY | libc::EACCES) => true,
        _ => false,
    }
}
