use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Makes a path of an archive's bytes. False if the bytes cannot be taken as they are; on Unix they always can.
pub(crate) const fn make_representable(_bytes: &mut Vec<u8>) -> bool {
    true
}

/// The path with these bytes.
pub(crate) fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Whether a name can only be Unicode.
pub(crate) const NAMES_ARE_UNICODE: bool = false;

/// The mode of a file with DOS's read-only bit. Here the bit gives no mode: it says nothing about other users, and a
/// mode made from it would give them rights that the umask takes away.
pub(crate) const READ_ONLY: Option<u32> = None;

pub(crate) fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    file.read_at(buffer, position)
}

pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<()> {
    file.read_exact_at(buffer, position)
}
