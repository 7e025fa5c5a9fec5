//! Which names a system takes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::sys::Refusal;

/// The path that has these bytes.
pub(crate) fn path_from_bytes(bytes: Vec<u8>) -> io::Result<PathBuf> {
    Ok(OsString::from_vec(bytes).into())
}

/// Whether `byte` ends a component of a path.
pub(crate) const fn is_separator(byte: u8) -> bool {
    byte == b'/'
}

/// Whether a path has its separators as `Path` joins them.
pub(crate) const fn has_usual_separators(_path: &[u8]) -> bool {
    true
}

/// Why a component of a path, neither `.` nor `..`, means something else than a file of that name. Nothing does here:
/// what cannot be held is an error of the call.
pub(crate) const fn refusal_of_name(_name: &[u8]) -> Option<Refusal> {
    None
}

/// Whether a name stands for a file that was removed and is open somewhere: NFS and FUSE keep it in its folder until
/// its close.
pub(crate) fn is_stand_in(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".nfs") || name.as_bytes().starts_with(b".fuse_hidden")
}
