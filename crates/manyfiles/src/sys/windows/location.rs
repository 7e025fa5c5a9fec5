//! Where a file is: its name, as the system has it now.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle};
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_MORE_DATA;
use windows_sys::Win32::Globalization::{CSTR_EQUAL, CompareStringOrdinal};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_DIRECTORY, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_INFO_BY_HANDLE_CLASS,
    FILE_NAME_INFO, FileNameInfo, FileNormalizedNameInfo, GetFileInformationByHandleEx, GetFinalPathNameByHandleW,
};

use super::{information, regular_file};
use crate::sys::{PathPlace, Place};

/// A path on its volume, without the volume, which takes more calls to find out. A file has one such name whatever path
/// it was opened by: relative, through a link or a drive's other letter, or with a short name (8.3) on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(Vec<u16>);

impl Name {
    /// Whether this is what `folder` names, or inside it. Names are compared as the system compares them, without
    /// regard to case: two names that differ in case alone cost one more wait for a close, which does no harm.
    pub(crate) fn is_at_or_below(&self, folder: &Name) -> bool {
        /// What ends a component: the last one begins the name of a stream.
        const ENDS: [u16; 3] = [b'\\' as u16, b'/' as u16, b':' as u16];
        let Some((begin, rest)) = self.0.split_at_checked(folder.0.len()) else { return false };
        let ends = |unit: Option<&u16>| unit.is_some_and(|unit| ENDS.contains(unit));
        (rest.is_empty() || ends(rest.first()) || ends(folder.0.last())) && are_equal(begin, &folder.0)
    }

    /// Whether this is in `folder` itself.
    pub(crate) fn is_entry_of(&self, folder: &Name) -> bool {
        let is_separator = |unit: &u16| [u16::from(b'\\'), u16::from(b'/')].contains(unit);
        let below = self.0.get(folder.0.len()..).unwrap_or_default();
        let below = below.strip_prefix(&[u16::from(b'\\')]).unwrap_or(below);
        self.is_at_or_below(folder) && !below.is_empty() && !below.iter().any(is_separator)
    }
}

/// As the system folds names: each unit for itself, by its table of upper case.
fn are_equal(one: &[u16], other: &[u16]) -> bool {
    let [one_len, other_len] = [one, other].map(|name| i32::try_from(name.len()).unwrap_or(i32::MAX));
    // SAFETY: both are as long as they are said to be, and only read.
    one == other || unsafe { CompareStringOrdinal(one.as_ptr(), one_len, other.as_ptr(), other_len, 1) } == CSTR_EQUAL
}

/// Where an open file is. `None` for a pipe, which is not even asked: that would wait for a read that is going on.
pub(crate) fn place(file: impl AsHandle) -> Option<Place> {
    let file = file.as_handle();
    nameless_place(file).map(|place| Place { name: name_of(file), ..place })
}

/// The same without its name.
pub(crate) fn nameless_place(file: impl AsHandle) -> Option<Place> {
    Some(Place { identity: regular_file(file)?, mount: 0, name: None })
}

/// What is at `path`, itself or, with `follow`, what a link there leads to. `None` if that cannot be told, because it
/// does not exist, for instance.
pub(crate) fn place_at(path: &Path, follow: bool) -> Option<PathPlace> {
    let link = if follow { 0 } else { FILE_FLAG_OPEN_REPARSE_POINT };
    // Without access to the content: no other handle's sharing mode can refuse that.
    let file = OpenOptions::new().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS | link).open(path);
    // What the caller is about to do with the path says why not.
    let file = file.ok()?;
    let place = place(&file)?;
    let attributes = information(file.as_handle()).map_or(0, |info| info.dwFileAttributes);
    Some(if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 {
        PathPlace::Folder(place)
    } else {
        PathPlace::File(place.identity)
    })
}

/// Whether [`name_of`] asks no other computer.
pub(crate) const NAMES_ARE_QUICK: bool = false;

/// The path of an open file, on its volume.
pub(crate) fn name_of(file: impl AsHandle) -> Option<Name> {
    let file = file.as_handle();
    let name = query(file, FileNameInfo)?;
    // Short names stay as they were given. Asking for long ones may take a server a while, so only if there may be
    // some.
    if name.0.contains(&u16::from(b'~')) { query(file, FileNormalizedNameInfo).or(Some(name)) } else { Some(name) }
}

fn query(file: BorrowedHandle<'_>, class: FILE_INFO_BY_HANDLE_CLASS) -> Option<Name> {
    /// Room for most paths.
    const SHORT: usize = 256;
    /// Room for any: 32,767 units, two in each element, behind the length.
    const LONG: usize = 16_500;

    fn ask(file: BorrowedHandle<'_>, class: FILE_INFO_BY_HANDLE_CLASS, buffer: &mut [u32]) -> io::Result<Name> {
        let (handle, size) = (file.as_raw_handle(), size_of_val(buffer) as u32);
        // SAFETY: the handle is open while it is borrowed; the system writes at most `size` bytes to the buffer, which
        // is as aligned as a FILE_NAME_INFO must be.
        if unsafe { GetFileInformationByHandleEx(handle, class, buffer.as_mut_ptr().cast(), size) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // A FILE_NAME_INFO: the length in bytes, then the name, two units in each u32 on this little-endian system.
        const { assert!(offset_of!(FILE_NAME_INFO, FileName) == size_of::<u32>() && cfg!(target_endian = "little")) };
        let units = buffer[1..].iter().flat_map(|pair| [*pair as u16, (*pair >> 16) as u16]);
        Ok(Name(units.take(buffer[0] as usize / 2).collect()))
    }

    match ask(file, class, &mut [0; SHORT]) {
        Err(error) if error.raw_os_error() == Some(ERROR_MORE_DATA as i32) => ask(file, class, &mut vec![0; LONG]).ok(),
        // One whose file system tells no name: the caller does without.
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

    fn is_at_or_below(name: &str, folder: &str) -> bool {
        let [name, folder] = [name, folder].map(|text| Name(text.encode_utf16().collect()));
        name.is_at_or_below(&folder)
    }

    #[test]
    fn a_name_is_at_or_below_itself_its_folders_and_the_file_it_is_a_stream_of() {
        for (name, folder, is) in [
            (r"\a\b", r"\a\b", true),
            (r"\a\b", r"\a", true),
            (r"\a\b", r"\", true),
            (r"\A\Ärger", r"\a\äRGER", true),
            (r"\a\b.txt:stream", r"\a\b.txt", true),
            (r"\a\bc", r"\a\b", false),
            (r"\a", r"\a\b", false),
            (r"\b\a", r"\a", false),
            // A final sigma is no other letter to NTFS than the one that stands inside of a word.
            ("\\ΟΔΟΣ", "\\οδοσ", true),
            ("\\ΟΔΟΣ\\a", "\\οδοσ", true),
        ] {
            assert_eq!(is_at_or_below(name, folder), is, "{name} {folder}");
        }
    }

    #[test]
    fn a_name_of_32_767_units_has_room() {
        let long = format!("\\{}", "x\\".repeat(16_383));
        assert_eq!(long.encode_utf16().count(), 32_767);
        assert!(is_at_or_below(&long, &long) && is_at_or_below(&long, r"\x\x"));
    }

    #[test]
    fn a_pipe_is_not_asked_for_its_name() {
        let (reader, writer) = io::pipe().unwrap();
        assert_eq!(place(&reader), None);
        assert_eq!(place(&writer), None);
    }
}
