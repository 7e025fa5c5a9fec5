//! A file that a writer writes to and that is not one of the local file system's.

use std::io;

use crate::sys::Identity;

/// A file of a [`Backend`](crate::vfs::Backend) that is being written: a handle, and what belongs to it. Dropping it
/// closes the file.
pub trait Output: Send {
    /// Writes all of `bytes` behind what is there. After an error no more is written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes durable what was written, and the file's name.
    fn sync(&mut self) -> io::Result<()>;

    /// What the file is, if that can be told: see [`Backend::identity`](crate::vfs::Backend::identity). As long as it
    /// is open no other file has the same.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// How many names the file has now: 0 if it was removed or replaced. `None`: that cannot be told.
    fn names(&self) -> Option<u64> {
        None
    }

    /// Closes, and says how that went.
    fn close(self: Box<Self>) -> io::Result<()>;
}
