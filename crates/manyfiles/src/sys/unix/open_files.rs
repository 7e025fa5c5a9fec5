//! What files that are still open stand in the way of, and copying, which leaves two open.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Whether std copies by path, so that no file is left open: fclonefileat and fcopyfile.
pub(crate) const COPIES_BY_PATH: bool = cfg!(target_vendor = "apple");

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

/// Copies what is in `source`, a file of this length as far as is known, into `target`, from where both stand.
///
/// As [`io::copy`] does it for files, but without asking of both what they are: those are two calls more for each file.
pub(crate) fn copy_contents(mut source: &File, length: u64, mut target: &File) -> io::Result<u64> {
    let mut copied = 0;
    // A file that is made when it is read says that it is empty.
    #[cfg(target_os = "linux")]
    if length > 0 {
        /// As std, for file systems that take no more.
        const MOST: usize = 1 << 30;
        for call in [super::copy_in_kernel, super::send_in_kernel] {
            while let Some(more) = call(source, target, MOST)? {
                copied += more as u64;
                match more {
                    0 if copied > 0 => return Ok(copied),
                    0 => break,
                    _ => {}
                }
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = length;
    copied += io::copy(&mut source, &mut target)?;
    Ok(copied)
}

/// Whether opening may have failed because that file is not closed yet: a server of SMB says so of what is open. What something is
/// mounted at is busy whatever is closed.
pub(crate) fn may_be_for_an_open_file(error: &io::Error, paths: &[&Path]) -> bool {
    #[cfg(target_os = "linux")]
    let is_mounted = || paths.iter().any(|path| super::place::is_mount_point(path));
    #[cfg(not(target_os = "linux"))]
    let is_mounted = || paths.is_empty();
    match error.raw_os_error() {
        Some(libc::EBUSY) => !is_mounted(),
        Some(libc::ETXTBSY | libc::EACCES) => true,
        _ => false,
    }
}

/// Does `work` once. Elsewhere a virus scanner may have a file open for a moment.
pub(crate) fn while_in_use<T>(_paths: &[&Path], mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    work()
}

/// Whether a name stands for a file that was removed and is open somewhere: NFS and FUSE keep it in its folder until its close.
pub(crate) fn is_stand_in(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".nfs") || name.as_bytes().starts_with(b".fuse_hidden")
}
