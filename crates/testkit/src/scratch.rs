//! Folders that tests write in.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub(crate) const PREFIX: &str = "manyfiles-testkit-";

/// A temporary folder in memory where the system has that (`/dev/shm`), else in the folder for temporary files. What a
/// `SlowMount` stands on, so that a test measures the delays it asked for and not the disk's.
pub fn scratch() -> io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    // On Windows that could only be a folder that happens to have this name.
    new_folder(if cfg!(unix) && memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() })
}

/// The process's number is in the name, so that others can tell whether the folder is still in use.
pub(crate) fn new_folder(parent: PathBuf) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(&format!("{PREFIX}{}-", std::process::id())).tempdir_in(parent)
}

/// Makes a symbolic link at `path` that says `target`; on Windows one to a folder if that is there.
pub fn symlink(target: impl AsRef<Path>, path: impl AsRef<Path>) -> io::Result<()> {
    let (target, path) = (target.as_ref(), path.as_ref());
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, path);
    #[cfg(windows)]
    {
        let folder = path.parent().unwrap_or(Path::new("")).join(target).is_dir();
        if folder {
            std::os::windows::fs::symlink_dir(target, path)
        } else {
            std::os::windows::fs::symlink_file(target, path)
        }
    }
}

/// A folder in which each close of a file that was read or written takes 2 ms longer, as with a virus scanner.
/// `scripts/test-windows` sees to that; elsewhere the error says why there is none.
#[cfg(windows)]
pub fn slow_close_folder() -> Result<TempDir, String> {
    let Ok(name) = std::env::var("MANYFILES_SLOW_CLOSE") else {
        return Err("needs slow closes, which scripts/test-windows brings in".into());
    };
    tempfile::Builder::new().prefix(&name).tempdir().map_err(|error| error.to_string())
}
