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

/// Gives back the lock of [`open_for_one_writer`], for all copies of the handle.
pub(crate) fn unlock(file: &File) {
    // Without locks there is none to give back; else it goes with the handle.
    let _goes_anyway = flock(file, FlockOperation::Unlock);
}

/// Gives a file another name; `AlreadyExists` if anything has that.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // A file system or a kernel without it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            other => return Ok(other?),
        }
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system that has neither: nothing there tells two at the same moment apart.
        Err(_) => match std::fs::symlink_metadata(to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::rename(from, to),
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        },
    }
}
