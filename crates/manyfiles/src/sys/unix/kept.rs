//! What keeping handles open takes: which file a path leads to, and a cheap clock.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::Identity;

/// Of the file that the path leads to, through links.
pub(crate) fn id_of_path(path: &Path) -> io::Result<Identity> {
    let metadata = fs::metadata(path)?;
    Ok(Identity { volume: metadata.dev(), file: metadata.ino().into() })
}

/// How many names the file has that the path leads to, through links.
pub(crate) fn names_at(path: &Path) -> io::Result<u64> {
    Ok(fs::metadata(path)?.nlink())
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

/// The path that has these bytes.
pub(crate) fn path_from_bytes(bytes: Vec<u8>) -> io::Result<PathBuf> {
    Ok(OsString::from_vec(bytes).into())
}

/// Milliseconds on a clock that never goes back. It steps with the kernel's ticks, every 1 to 10 ms, and reading it takes 5 ns, where
/// the exact one takes 25 to 40.
#[cfg(target_os = "linux")]
#[cfg_attr(loom, allow(dead_code, reason = "no time passes in a model"))]
pub(crate) fn coarse_milliseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    now.tv_sec as u64 * 1_000 + now.tv_nsec as u64 / 1_000_000
}

/// Needs Linux; the exact clock, then.
#[cfg(not(target_os = "linux"))]
pub(crate) fn coarse_milliseconds() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64
}
