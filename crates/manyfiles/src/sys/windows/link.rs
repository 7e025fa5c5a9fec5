//! Symbolic links.

use std::ffi::OsStr;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::path::{Component, Path, PathBuf, Prefix};

use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, SYMLINK_FLAG_RELATIVE,
};
use windows_sys::Win32::Foundation::{ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED, ERROR_PRIVILEGE_NOT_HELD};
use windows_sys::Win32::Storage::FileSystem::{
    CreateSymbolicLinkW, DELETE, FILE_ATTRIBUTE_NORMAL, FILE_WRITE_ATTRIBUTES, FILE_WRITE_DATA,
    GetFinalPathNameByHandleW, SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE, SYMBOLIC_LINK_FLAG_DIRECTORY,
};
use windows_sys::Win32::System::SystemServices::IO_REPARSE_TAG_SYMLINK;

use super::native::{Links, Open, wide};
use super::{control, dir};
use crate::error::explained;

/// Makes a symbolic link that says `target` at `name` in `folder`. Windows has two kinds: the link is one to a folder if the
/// target is a folder now, else one to a file.
pub(super) fn make(folder: &OwnedHandle, name: &OsStr, target: &Path) -> io::Result<()> {
    let path = path_of(folder)?;
    let to_folder = std::fs::metadata(path.join(target)).is_ok_and(|target| target.is_dir());
    let how = Open {
        access: FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | DELETE,
        attributes: FILE_ATTRIBUTE_NORMAL,
        disposition: FILE_CREATE,
        options: if to_folder { FILE_DIRECTORY_FILE } else { FILE_NON_DIRECTORY_FILE },
        links: Links::OneComponent,
    };
    let link = how.at(folder, &wide(name))?;
    let Err(error) = control::set_reparse_point(&link, &data(target)) else { return Ok(()) };
    dir::delete(&link)?;
    drop(link);
    match error.raw_os_error().map(|number| number as u32) {
        // Where the "developer mode" of Windows is on, this one call may do what privileges are needed for otherwise. It takes
        // a path; the folder on it cannot be renamed or replaced while its handle is open.
        Some(ERROR_PRIVILEGE_NOT_HELD) => by_path(&path.join(name), target, to_folder),
        Some(ERROR_INVALID_FUNCTION | ERROR_NOT_SUPPORTED) => {
            Err(explained(error, "this file system, or wine, holds no symbolic links"))
        }
        _ => Err(error),
    }
}

fn by_path(path: &Path, target: &Path, to_folder: bool) -> io::Result<()> {
    let with_nul = |path: &Path| wide(path.as_os_str()).into_iter().chain([0]).collect::<Vec<_>>();
    let folder = if to_folder { SYMBOLIC_LINK_FLAG_DIRECTORY } else { 0 };
    let flags = folder | SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE;
    // SAFETY: both are strings with a NUL at the end that live until the call returns.
    if unsafe { CreateSymbolicLinkW(with_nul(path).as_ptr(), with_nul(&with_backslashes(target)).as_ptr(), flags) } {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(match error.raw_os_error().map(|number| number as u32) {
        Some(ERROR_PRIVILEGE_NOT_HELD) => explained(
            error,
            "Windows lets only administrators make symbolic links, unless its developer mode is on (Settings, System, For developers)",
        ),
        _ => error,
    })
}

/// Where an open folder is, as a path without links.
pub(super) fn path_of(folder: &OwnedHandle) -> io::Result<PathBuf> {
    let mut path = vec![0_u16; 512];
    loop {
        // SAFETY: the buffer is as long as it is said to be.
        let len = unsafe { GetFinalPathNameByHandleW(folder.as_raw_handle(), path.as_mut_ptr(), path.len() as u32, 0) };
        match len as usize {
            0 => return Err(io::Error::last_os_error()),
            len if len < path.len() => return Ok(std::ffi::OsString::from_wide(&path[..len]).into()),
            needed => path.resize(needed + 1, 0),
        }
    }
}

/// A link with slashes leads nowhere.
pub(super) fn with_backslashes(path: &Path) -> PathBuf {
    let units =
        wide(path.as_os_str()).into_iter().map(|unit| if unit == u16::from(b'/') { u16::from(b'\\') } else { unit });
    std::ffi::OsString::from_wide(&units.collect::<Vec<_>>()).into()
}

/// What a symbolic link consists of.
fn data(target: &Path) -> Vec<u8> {
    let shown = with_backslashes(target);
    // What the system follows is written as the native calls take it, if it is absolute.
    let (native, flags) = match shown.components().next() {
        Some(Component::Prefix(prefix)) => {
            let text = shown.as_os_str().to_string_lossy();
            let native = match prefix.kind() {
                Prefix::UNC(..) => format!("\\??\\UNC{}", &text[1..]),
                Prefix::Disk(_) => format!("\\??\\{text}"),
                _ => text.replacen("\\\\?\\", "\\??\\", 1),
            };
            (wide(OsStr::new(&native)), 0)
        }
        _ => (wide(shown.as_os_str()), SYMLINK_FLAG_RELATIVE),
    };
    let shown = wide(shown.as_os_str());
    // A target can be as long as a path may be; longer ones are cut and do not resolve, as they would not anyway.
    let bytes = |name: &[u16]| u16::try_from(size_of_val(name)).unwrap_or(u16::MAX - 1);
    let (native_len, shown_len) = (bytes(&native), bytes(&shown));
    let mut data = Vec::new();
    data.extend(IO_REPARSE_TAG_SYMLINK.to_le_bytes());
    data.extend((12 + native_len.saturating_add(shown_len)).to_le_bytes());
    data.extend(0_u16.to_le_bytes());
    // Offset and length of the one, of the other.
    for number in [0, native_len, native_len, shown_len] {
        data.extend(number.to_le_bytes());
    }
    data.extend(flags.to_le_bytes());
    for unit in native.iter().chain(&shown) {
        data.extend(unit.to_le_bytes());
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two names of a link's data, and whether it is relative.
    fn read(target: &str) -> (String, String, bool) {
        let data = data(Path::new(target));
        let number = |at: usize| usize::from(u16::from_le_bytes([data[at], data[at + 1]]));
        assert_eq!(number(4), data.len() - 8, "the length is that of what follows the header");
        let text = |offset: usize, len: usize| {
            let units = data[20 + offset..][..len].chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
            String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
        };
        (text(number(8), number(10)), text(number(12), number(14)), data[16] == 1)
    }

    #[test]
    fn a_link_says_its_target_as_people_and_as_the_system_write_it() {
        let both = |text: &str, relative| (text.to_owned(), text.to_owned(), relative);
        assert_eq!(read("a/b"), both("a\\b", true));
        assert_eq!(read("../x"), both("..\\x", true));
        assert_eq!(read("/etc/x"), both("\\etc\\x", true));
        assert_eq!(read("C:/x"), ("\\??\\C:\\x".into(), "C:\\x".into(), false));
        assert_eq!(read("//srv/share/x"), ("\\??\\UNC\\srv\\share\\x".into(), "\\\\srv\\share\\x".into(), false));
        assert_eq!(read("\\\\?\\C:\\x"), ("\\??\\C:\\x".into(), "\\\\?\\C:\\x".into(), false));
    }
}
