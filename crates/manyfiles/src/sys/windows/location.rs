//! Where a file is: its path, as the system has it now.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle};
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_MORE_DATA;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_DIRECTORY, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_INFO_BY_HANDLE_CLASS,
    FILE_NAME_INFO, FileNameInfo, FileNormalizedNameInfo, GetFileInformationByHandleEx, GetFinalPathNameByHandleW,
};

use super::{SystemPath, information, regular_file};
use crate::sys::{AtPath, Location};

/// Where an open file is. `None` for a pipe, which is not even asked: that would wait for a read that is going on.
pub(crate) fn location(file: impl AsHandle) -> Option<Location> {
    let file = file.as_handle();
    location_without_path(file).map(|location| Location { path: system_path(file), ..location })
}

/// The same without its path.
pub(crate) fn location_without_path(file: impl AsHandle) -> Option<Location> {
    Some(Location { identity: regular_file(file)?, mount: 0, path: None })
}

/// What is at `path`, itself or, with `follow`, what a link there leads to. `None` if that cannot be told, because it
/// does not exist, for instance.
pub(crate) fn at_path(path: &Path, follow: bool) -> Option<AtPath> {
    let link = if follow { 0 } else { FILE_FLAG_OPEN_REPARSE_POINT };
    // Without access to the content: no other handle's sharing mode can refuse that.
    let file = OpenOptions::new().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS | link).open(path);
    // What the caller is about to do with the path says why not.
    let file = file.ok()?;
    let location = location(&file)?;
    let attributes = information(file.as_handle()).map_or(0, |info| info.dwFileAttributes);
    Some(if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 {
        AtPath::Folder(location)
    } else {
        AtPath::File(location.identity)
    })
}

/// Whether [`system_path`] asks no other computer.
pub(crate) const SYSTEM_PATHS_ARE_QUICK: bool = false;

/// The path of an open file, on its volume.
pub(crate) fn system_path(file: impl AsHandle) -> Option<SystemPath> {
    let file = file.as_handle();
    let path = query(file, FileNameInfo)?;
    // Short names stay as they were given. Asking for long ones may take a server a while, so only if there may be
    // some.
    if path.may_be_short() { query(file, FileNormalizedNameInfo).or(Some(path)) } else { Some(path) }
}

fn query(file: BorrowedHandle<'_>, class: FILE_INFO_BY_HANDLE_CLASS) -> Option<SystemPath> {
    /// Room for most paths.
    const SHORT: usize = 256;
    /// Room for any: 32,767 units, two in each element, behind the length.
    const LONG: usize = 16_500;

    fn ask(file: BorrowedHandle<'_>, class: FILE_INFO_BY_HANDLE_CLASS, buffer: &mut [u32]) -> io::Result<SystemPath> {
        let (handle, size) = (file.as_raw_handle(), size_of_val(buffer) as u32);
        // SAFETY: the handle is open while it is borrowed; the system writes at most `size` bytes to the buffer, which
        // is as aligned as a FILE_NAME_INFO must be.
        if unsafe { GetFileInformationByHandleEx(handle, class, buffer.as_mut_ptr().cast(), size) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // A FILE_NAME_INFO: the length in bytes, then the name, two units in each u32 on this little-endian system.
        const { assert!(offset_of!(FILE_NAME_INFO, FileName) == size_of::<u32>() && cfg!(target_endian = "little")) };
        let units = buffer[1..].iter().flat_map(|pair| [*pair as u16, (*pair >> 16) as u16]);
        Ok(SystemPath::new(units.take(buffer[0] as usize / 2).collect()))
    }

    match ask(file, class, &mut [0; SHORT]) {
        Err(error) if error.raw_os_error() == Some(ERROR_MORE_DATA as i32) => ask(file, class, &mut vec![0; LONG]).ok(),
        // A file whose file system tells no path: the caller does without.
        result => result.ok(),
    }
}

/// The path that the open file has now. `None` where the system does not say.
pub(crate) fn path_of(file: &File) -> Option<std::path::PathBuf> {
    final_path(file).ok()
}

/// Where an open file or folder is, as a path without links.
pub(super) fn final_path(file: &impl AsRawHandle) -> io::Result<std::path::PathBuf> {
    use std::os::windows::ffi::OsStringExt;
    let mut path = vec![0_u16; 512];
    loop {
        // SAFETY: the handle is open while it is borrowed, and the buffer is as long as it is said to be.
        let len = unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), path.len() as u32, 0) };
        match len as usize {
            0 => return Err(io::Error::last_os_error()),
            len if len < path.len() => return Ok(std::ffi::OsString::from_wide(&path[..len]).into()),
            // What it says then is how much room it needs.
            needed => path.resize(needed + 1, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_not_asked_for_its_path() {
        let (reader, writer) = io::pipe().unwrap();
        assert_eq!(location(&reader), None);
        assert_eq!(location(&writer), None);
    }
}
