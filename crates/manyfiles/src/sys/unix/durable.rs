//! What a tree needs to be durable: syncs of its handles, and of its whole file system.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};

use super::sync::{can_sync_file_system, file_system_of, sync_file_system, sync_open_folder};
use super::{Dir, Handle};

/// Makes bytes and metadata durable.
pub(crate) fn sync_handle(file: &Handle) -> io::Result<()> {
    super::sync_all(file)
}

impl Dir {
    /// The folder opened to be read, which its handle here need not be.
    fn to_file(&self) -> io::Result<File> {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(self.as_fd(), c".", how, Mode::empty())?.into())
    }

    /// Makes the names in it durable, where the file system has a call for that.
    pub(crate) fn sync(&self) -> io::Result<()> {
        sync_open_folder(self.to_file()?)
    }
}

/// A file system that can be synced as a whole, and tells what was lost since this was made.
#[derive(Debug)]
pub(crate) struct WholeFileSystem {
    root: File,
    number: u64,
}

impl WholeFileSystem {
    /// The one that `folder` is on. `None` where a sync of all is not to be trusted.
    pub(crate) fn of(folder: &Dir) -> io::Result<Option<WholeFileSystem>> {
        let root = folder.to_file()?;
        let number = file_system_of(&root)?;
        Ok(can_sync_file_system(&root).then_some(WholeFileSystem { root, number }))
    }

    /// Whether the folder is on it.
    pub(crate) fn has(&self, folder: &Dir) -> io::Result<bool> {
        let number: u64 = rustix::fs::fstat(folder.as_fd())?.st_dev as _;
        Ok(number == self.number)
    }

    /// Makes everything durable that was written to it, by anybody.
    pub(crate) fn sync(&self) -> io::Result<()> {
        sync_file_system(&self.root)
    }
}
