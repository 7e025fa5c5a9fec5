//! What keeping handles open takes: which file a path leads to, and a cheap clock.

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::ERROR_ACCESS_DENIED;
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_BACKUP_SEMANTICS, FILE_STANDARD_INFO};
use windows_sys::Win32::System::SystemInformation::GetTickCount64;

use super::Identity;
use crate::error::explained_as;

/// Of the file that the path leads to, through links. One that is removed, and only has its name until the last handle closes,
/// is an error: it cannot be opened any more, or says so itself.
pub(crate) fn id_of_path(path: &Path) -> io::Result<Identity> {
    let file = opened_to_ask(path)?;
    let id = super::identity_of(&file)?;
    let information: FILE_STANDARD_INFO = super::stat::get(&file.into())?;
    if information.DeletePending { Err(io::ErrorKind::NotFound.into()) } else { Ok(id) }
}

/// No right at all is needed to ask, so nobody's sharing mode is in the way.
fn opened_to_ask(path: &Path) -> io::Result<File> {
    File::options().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// How many names the file has that the path leads to, through links.
pub(crate) fn names_at(path: &Path) -> io::Result<u64> {
    super::names_of(&opened_to_ask(path)?)
}

/// Creates a file to be written at its end, or cuts it to nothing if it is there.
pub(crate) fn create_to_append(path: &Path, create_new: bool) -> io::Result<File> {
    let mut options = File::options();
    options.append(true);
    if create_new {
        return options.create_new(true).open(path);
    }
    // A handle that may only append may not cut.
    File::create(path)?;
    options.open(path)
}

/// Windows denies access to a folder that is opened as a file, and says no more.
pub(crate) fn explain_folder<T>(opened: io::Result<T>, path: &Path) -> io::Result<T> {
    match opened {
        Err(error) if error.raw_os_error() == Some(ERROR_ACCESS_DENIED as i32) && path.is_dir() => {
            Err(explained_as(io::ErrorKind::IsADirectory, error, "it is a folder"))
        }
        other => other,
    }
}

/// The path that has these bytes, which are to be UTF-8.
pub(crate) fn path_from_bytes(bytes: Vec<u8>) -> io::Result<PathBuf> {
    let text = String::from_utf8(bytes);
    text.map(PathBuf::from).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the URI's path is not UTF-8"))
}

/// Milliseconds on a clock that never goes back. It steps every 16 ms or so, and reading it takes a few ns.
pub(crate) fn coarse_milliseconds() -> u64 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { GetTickCount64() }
}
