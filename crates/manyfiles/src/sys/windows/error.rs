//! What an error says.

use std::io;
use std::path::Path;

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_ALREADY_EXISTS, ERROR_BUSY, ERROR_DELETE_PENDING, ERROR_DIR_NOT_EMPTY,
    ERROR_LOCK_VIOLATION, ERROR_REPARSE_POINT_ENCOUNTERED, ERROR_SHARING_VIOLATION, ERROR_TOO_MANY_OPEN_FILES,
    ERROR_USER_MAPPED_FILE,
};

pub(super) fn is(error: &io::Error, numbers: &[u32]) -> bool {
    error.raw_os_error().is_some_and(|number| numbers.contains(&(number as u32)))
}

/// Whether `error` says that the bytes handed to [`write`] could not be read: they always can.
pub(crate) fn is_unreadable(_error: &io::Error) -> bool {
    false
}

/// Whether `error` says that what has a name cannot be opened and written over, though it may be replaced: a link, a
/// program that runs, a read-only file.
pub(crate) fn is_not_writable_in_place(error: &io::Error) -> bool {
    let numbers =
        [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_USER_MAPPED_FILE, ERROR_REPARSE_POINT_ENCOUNTERED];
    is(error, &numbers)
}

/// Whether `error` says that this process, or the system, has no room for another handle.
pub(crate) fn is_out_of_handles(error: &io::Error) -> bool {
    is(error, &[ERROR_TOO_MANY_OPEN_FILES])
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

/// Whether a call that opens, renames or removes `paths` may have failed because of a file that is not closed yet.
pub(crate) fn may_be_for_an_open_file(error: &io::Error, paths: &[&Path]) -> bool {
    let Some(number) = error.raw_os_error() else { return false };
    match number as u32 {
        ERROR_SHARING_VIOLATION | ERROR_LOCK_VIOLATION | ERROR_BUSY | ERROR_DELETE_PENDING => true,
        // Said of a file that is removed but not closed, of one that is to be replaced and open; and of what may not be
        // written to, or is a folder, which no close changes.
        ERROR_ACCESS_DENIED => !paths.iter().any(|path| {
            std::fs::symlink_metadata(path)
                .is_ok_and(|known| known.is_dir() || known.permissions().readonly() || known.is_symlink())
        }),
        // A file that is removed but not closed is still in its folder.
        ERROR_DIR_NOT_EMPTY => {
            paths.iter().any(|path| std::fs::read_dir(path).is_ok_and(|mut names| names.next().is_none()))
        }
        _ => false,
    }
}
