//! What files that are still open stand in the way of, and copying, which leaves two open.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Whether an open file keeps others from using its path. Here it has no say: what is open can be opened again, renamed
/// and removed.
pub(crate) const OPEN_FILES_HINDER: bool = false;

/// The name by which open files are told apart; none is needed.
pub(crate) fn name(_file: &impl AsFd) -> Option<String> {
    None
}

/// The [`name`] of what is at `path`, itself or, with `follow`, what a link there leads to.
pub(crate) fn name_at(_path: &Path, _follow: bool) -> Option<String> {
    None
}

/// Whether a call may have failed because of a file that is not closed yet.
///
/// Local file systems know only the last two lines. A server that locks what is open says no through the others: a file
/// of an SMB share is busy (`ETXTBSY`) or denied, a file removed while it is open lives on under another name on NFS and
/// most FUSE mounts, which keeps its folder from being empty.
pub(crate) fn may_be_for_an_open_file(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ETXTBSY | libc::EBUSY | libc::EACCES | libc::ENOTEMPTY |
            // The descriptors themselves.
            libc::EMFILE | libc::ENFILE |
            // A removed file keeps its space until it is closed.
            libc::ENOSPC | libc::EDQUOT
        )
    )
}

/// Copies content and permissions as `std::fs::copy` does, and returns the two files, which are still open, if the
/// system has not closed them itself. That is the one difference: opening, checking and `io::copy`, which lets the kernel
/// copy, are the same as in std.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<(u64, Option<(File, File)>)> {
    // fclonefileat and fcopyfile, by path.
    if cfg!(target_vendor = "apple") {
        return Ok((std::fs::copy(from, to)?, None));
    }
    let source = File::open(from)?;
    let metadata = source.metadata()?;
    if !metadata.is_file() {
        let message = "the source path is neither a regular file nor a symlink to a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let permissions = metadata.permissions();
    let target = OpenOptions::new().mode(permissions.mode()).write(true).create(true).truncate(true).open(to)?;
    // One that existed has its own; devices and FIFOs keep theirs.
    if target.metadata()?.is_file() {
        target.set_permissions(permissions)?;
    }
    let copied = io::copy(&mut &source, &mut &target)?;
    Ok((copied, Some((source, target))))
}
