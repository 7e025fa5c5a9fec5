//! Files that one process has for itself.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use super::Dir;

/// Opens a file to read and write, or makes it (then it must not be there), and takes the lock that other processes with this
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

impl Dir {
    /// Takes the lock of the folder `name`, which goes with the handle, for this process alone. `ResourceBusy` if
    /// another handle has it. `Ok(None)`: the file system has no locks, or none of folders.
    pub(crate) fn hold(&self, name: &OsStr) -> io::Result<Option<File>> {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = File::from(rustix::fs::openat(self, name, how, Mode::empty())?);
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(folder)),
            Err(Errno::WOULDBLOCK) => Err(io::ErrorKind::ResourceBusy.into()),
            Err(_) => Ok(None),
        }
    }
}

/// Takes the lock of an open file, which goes with the handle, for this process alone. `ResourceBusy` if another handle
/// has it. `Ok(false)`: the file system has no locks.
pub(crate) fn hold_file(file: impl AsFd) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Err(io::ErrorKind::ResourceBusy.into()),
        Err(_) => Ok(false),
    }
}

/// Gives back the lock of [`open_for_one_writer`], for all copies of the handle.
pub(crate) fn unlock(file: &File) {
    // Without locks there is none to give back; else it goes with the handle.
    let _goes_anyway = flock(file, FlockOperation::Unlock);
}

/// Whether a lock may be held through this handle, which its close would release.
#[cfg(target_os = "linux")]
pub(crate) fn may_hold_lock(file: impl AsFd) -> bool {
    use super::magic::{self, BCACHEFS, BTRFS, EXFAT, EXT, F2FS, FAT, OVERLAY, RAMFS, TMPFS, XFS, ZFS};
    /// The kernel keeps the locks of these, and lists them. One on FUSE, NFS or SMB may be known to the server alone.
    const LISTED: [u32; 11] = [BCACHEFS, BTRFS, EXFAT, EXT, F2FS, FAT, OVERLAY, RAMFS, TMPFS, XFS, ZFS];
    if !magic::of(&file).is_some_and(|kind| LISTED.contains(&kind)) {
        return true;
    }
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", std::os::fd::AsRawFd::as_raw_fd(&file.as_fd())));
    info.map_or(true, |info| info.contains("\nlock:"))
}

/// Linux alone says.
#[cfg(not(target_os = "linux"))]
pub(crate) fn may_hold_lock(_file: impl AsFd) -> bool {
    true
}
