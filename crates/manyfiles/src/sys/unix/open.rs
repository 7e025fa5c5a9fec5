//! Files are opened.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr as again};

use super::Handle;
use crate::sys::{EntryKind, Stat};

/// Opens without waiting for the other end of a FIFO that took a file's place. Only for a regular file a wait is right:
/// another program (Samba, a server of NFS) has a lease on the file, and the kernel asks it to give the lease up.
pub(super) fn open_unless_it_blocks(
    open: impl Fn(OFlags) -> Result<OwnedFd, Errno>,
    look: impl Fn() -> Result<rustix::fs::Stat, Errno>,
) -> Result<OwnedFd, Errno> {
    match again(|| open(OFlags::NONBLOCK)) {
        Err(Errno::AGAIN) if Stat::from(again(look)?).kind == EntryKind::File => again(|| open(OFlags::empty())),
        other => other,
    }
}

/// Opens a file to be copied from. A symbolic link is an error, a FIFO does not block.
pub(crate) fn open_source(path: &Path) -> io::Result<Handle> {
    let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(open_unless_it_blocks(|flags| rustix::fs::open(path, how | flags, Mode::empty()), || rustix::fs::lstat(path))?)
}

/// Opens a file to be synced, which takes no right to write.
pub(crate) fn open_to_sync(path: &Path) -> io::Result<Handle> {
    open_source(path)
}

/// Creates a file to be written at its end, or cuts it to nothing if it is there.
pub(crate) fn create_to_append(path: &Path, create_new: bool) -> io::Result<File> {
    let mut options = File::options();
    options.append(true).create(true).create_new(create_new);
    // std does not let these two go together, though all systems do.
    options.custom_flags(if create_new { 0 } else { libc::O_TRUNC }).open(path)
}

/// Unix says of a folder that it is one.
pub(crate) fn explain_folder<T>(opened: io::Result<T>, _path: &Path) -> io::Result<T> {
    opened
}

/// Opens the file that is copied to, as `std::fs::copy` does, or only if there is none.
pub(crate) fn create_like(source: &Metadata, to: &Path, must_be_new: bool) -> io::Result<File> {
    let permissions = source.permissions();
    let mut how = OpenOptions::new();
    let how = how.mode(permissions.mode()).write(true).create(true).truncate(true).create_new(must_be_new);
    let target = how.open(to)?;
    // One that existed has its own; devices and FIFOs keep theirs.
    if target.metadata()?.is_file() {
        target.set_permissions(permissions)?;
    }
    Ok(target)
}
