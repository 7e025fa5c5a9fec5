use std::ffi::CString;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::{Facts, link_target};
use crate::kind::Kind;

pub(crate) fn facts(path: &Path, meta: &Metadata) -> io::Result<Facts> {
    let kind = match meta.file_type() {
        kind if kind.is_file() => Kind::File { len: meta.len(), hash: 0 },
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_symlink() => link_target(path)?,
        kind if kind.is_fifo() => Kind::Fifo,
        kind if kind.is_socket() => Kind::Socket,
        _ => Kind::Device,
    };
    Ok(Facts {
        kind,
        mode: meta.mode() & 0o7777,
        modified: (meta.mtime(), meta.mtime_nsec()),
        shared: (meta.nlink() > 1).then(|| (meta.dev(), meta.ino())),
        allocated: meta.blocks() * 512,
    })
}

/// Makes a named pipe.
pub fn make_fifo(path: impl AsRef<Path>) -> io::Result<()> {
    let path = CString::new(path.as_ref().as_os_str().as_bytes())?;
    // SAFETY: the string ends with a NUL and outlives the call.
    match unsafe { libc::mkfifo(path.as_ptr(), 0o600) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the time of the last modification, seconds and nanoseconds: of the file of this name, or of the symbolic link
/// itself.
pub fn set_link_time(path: impl AsRef<Path>, (seconds, nanoseconds): (i64, i64)) -> io::Result<()> {
    let path = CString::new(path.as_ref().as_os_str().as_bytes())?;
    let time = libc::timespec { tv_sec: seconds as _, tv_nsec: nanoseconds as _ };
    // SAFETY: the string ends with a NUL, there are two times, and both outlive the call.
    match unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), [time; 2].as_ptr(), libc::AT_SYMLINK_NOFOLLOW) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
