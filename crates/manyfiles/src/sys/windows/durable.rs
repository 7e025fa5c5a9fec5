//! What a tree needs to be durable: syncs of its handles.

use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Storage::FileSystem::FlushFileBuffers;

use super::sync::is_without_folder_sync;
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
    /// Makes the names in it durable, where the file system has a call for that and lets us: see [`super::sync_folder`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_ones_own_is_flushed_and_not_passed_over() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Dir::open_root(temp.path()).unwrap();
        sync_handle(&folder.to_writable().unwrap()).unwrap();
    }
}
