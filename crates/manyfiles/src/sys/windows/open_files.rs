//! What files that are still open stand in the way of: here they cannot be opened for oneself alone, their names live on when
//! they are removed, and their folders cannot be removed or renamed.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_BUSY, ERROR_DELETE_PENDING, ERROR_DIR_NOT_EMPTY, ERROR_LOCK_VIOLATION,
    ERROR_SHARING_VIOLATION,
};
use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_DELETE_ON_CLOSE;

/// The flag of a file that the system removes when it is closed.
pub(crate) const DELETE_ON_CLOSE: u32 = FILE_FLAG_DELETE_ON_CLOSE;

/// std copies by `CopyFileEx`: attributes and streams too, and without leaving a file open.
pub(crate) const COPIES_BY_PATH: bool = true;

/// Copies are made by path.
pub(crate) fn create_like(_source: &Metadata, _to: &Path, _must_be_new: bool) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn copy_contents(mut source: &File, _length: u64, mut target: &File) -> io::Result<u64> {
    io::copy(&mut source, &mut target)
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

/// Tries again for up to a second while somebody has a file open in a way that forbids what `work` does with `paths`: virus
/// scanners and indexers do so for a moment with every new file. What no open file explains is returned at once.
pub(crate) fn while_in_use<T>(paths: &[&Path], mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut pause = Duration::from_millis(1);
    loop {
        match work() {
            Err(error) if pause.as_millis() <= 512 && may_be_for_an_open_file(&error, paths) => {
                std::thread::sleep(pause);
                pause *= 2;
            }
            result => return result,
        }
    }
}

/// Windows has no such names: a removed file keeps its own until it is closed.
pub(crate) fn is_stand_in(_name: &OsStr) -> bool {
    false
}
