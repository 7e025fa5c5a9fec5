//! Files that one process at a time writes.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Opens a file to read and write, or makes it (then it must not be there), and takes the lock that others who use this
/// function respect. It goes with the handle. A file system without locks is left without one.
pub(crate) fn open_for_one_writer(path: &Path, create: bool) -> io::Result<File> {
    let file = File::options().read(true).write(true).create_new(create).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another appender has it open, and a file takes one: close that one first, or share it",
        )),
        Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) | Ok(()) => Ok(file),
        Err(errno) => Err(errno.into()),
    }
}
