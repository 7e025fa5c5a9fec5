//! Names that a file has until it is whole.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes a file in the folder of `path` that nobody else has. The name begins with a dot and is never longer than its own.
pub(super) fn create(path: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // What is left over from an earlier crash has other names, as a rule; if not, the next try has.
    loop {
        let random = RandomState::new().hash_one(number);
        let name = OsString::from(format!(".manyfiles-{random:016x}.tmp"));
        let temporary = path.with_file_name(name);
        match File::options().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            opened => return Ok((opened?, temporary)),
        }
    }
}
