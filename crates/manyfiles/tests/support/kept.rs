//! Files of a `Vfs` whose handles are kept.
#![allow(dead_code, reason = "not every test uses all")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use manyfiles::vfs::Vfs;

/// Longer than a kept handle goes without a look at its path, on every system's coarse clock.
pub const A_WHILE: Duration = Duration::from_millis(50);

/// How many of this process's open files are or were in `folder`.
#[cfg(target_os = "linux")]
pub fn handles_in(folder: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    open.filter(|fd| fs::read_link(fd.as_ref().unwrap().path()).is_ok_and(|path| path.starts_with(folder))).count()
}

/// A file with a kept handle and something in its buffer.
pub fn written_twice(vfs: &Vfs, path: &Path) {
    vfs.write(path, b"1").unwrap();
    vfs.write(path, b"2").unwrap();
}

/// Writes until something is in the buffer: what comes late goes straight to the file.
pub fn has_bytes_buffered(vfs: &Vfs, path: &Path) {
    let mut written = 0;
    while written == 0 || fs::metadata(path).unwrap().len() == written {
        vfs.write(path, b"<n>").unwrap();
        written += 3;
    }
}
