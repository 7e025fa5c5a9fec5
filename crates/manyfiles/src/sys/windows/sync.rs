//! From the page cache to the disk.

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_DIRECTORY, ERROR_INVALID_FUNCTION, ERROR_INVALID_HANDLE, ERROR_NOT_SUPPORTED,
};
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_BACKUP_SEMANTICS, FlushFileBuffers};

use super::{Dir, Handle};

/// Makes bytes and metadata durable.
pub(crate) fn sync_handle(file: &Handle) -> io::Result<()> {
    // SAFETY: the handle is open while it is borrowed.
    match unsafe { FlushFileBuffers(file.as_raw_handle()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

impl Dir {
    /// Makes the names in it durable, where the file system has a call for that and lets us: see
    /// [`super::sync_folder`].
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self.to_writable().and_then(|folder| sync_handle(&folder)) {
            Err(error) if is_without_folder_sync(&error) => Ok(()),
            other => other,
        }
    }
}

/// A file system that can be synced as a whole. There is none: Windows does that to volumes, for administrators only.
#[derive(Debug)]
pub(crate) enum WholeFileSystem {}

impl WholeFileSystem {
    pub(crate) fn of(_folder: &Dir) -> io::Result<Option<WholeFileSystem>> {
        Ok(None)
    }

    pub(crate) fn has(&self, _folder: &Dir) -> io::Result<bool> {
        match *self {}
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        match *self {}
    }
}

/// `FlushFileBuffers`. The handle must be open for writing.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// `FlushFileBuffers`: Windows has one kind of sync.
pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Flushes a folder's handle, which NTFS and ReFS take for a request to make its names durable. Where a folder cannot
/// be opened for that (no right to write in it, FAT) or flushed, its names are the file system's own affair. A program
/// that reads the folder may keep others from opening it for a moment.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let opened = super::while_in_use(&[path], || {
        File::options().write(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
    });
    // This opens files too.
    let sync = |folder: File| match folder.metadata()?.is_dir() {
        true => folder.sync_all(),
        false => Err(io::Error::from_raw_os_error(ERROR_DIRECTORY as i32)),
    };
    match opened.and_then(sync) {
        Err(error) if is_without_folder_sync(&error) && path.is_dir() => Ok(()),
        other => other,
    }
}

/// Needs Linux, whose file systems are what needs it.
pub(crate) fn forget_cached(_file: &File, _offset: u64) {}

pub(super) fn is_without_folder_sync(error: &io::Error) -> bool {
    const NONE: [u32; 4] = [ERROR_ACCESS_DENIED, ERROR_INVALID_FUNCTION, ERROR_INVALID_HANDLE, ERROR_NOT_SUPPORTED];
    error.raw_os_error().is_some_and(|number| NONE.contains(&(number as u32)))
}

/// Windows syncs a whole volume for administrators only.
pub(crate) fn sync_file_system(_file: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// See [`sync_file_system`].
pub(crate) fn can_sync_file_system(_file: &File) -> bool {
    false
}

/// Never called: no file system is synced as a whole here.
pub(crate) fn unwritten(_file: &File) -> u64 {
    0
}

/// Windows starts write-out by itself.
pub(crate) fn start_writeback(_file: &File, _offset: u64, _len: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_ones_own_is_flushed_and_not_passed_over() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Dir::open_root(temp.path()).unwrap();
        sync_handle(&folder.to_writable().unwrap()).unwrap();
    }

    use std::os::windows::fs::OpenOptionsExt;
    use std::time::Duration;

    #[test]
    fn a_folder_is_synced_when_the_program_that_keeps_others_out_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let mut alone = File::options();
        let alone = alone.read(true).share_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
        let alone = alone.open(folder.path()).unwrap();
        let opened = File::options().write(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(folder.path());
        assert!(opened.is_err(), "it can be opened all the same: this shows nothing");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                drop(alone);
            });
            sync_folder(folder.path()).unwrap();
        });
    }
}
