//! Folders are listed by their handle: no limit of a path applies, and nothing else can have the path meanwhile.

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::offset_of;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};

use windows_sys::Wdk::Storage::FileSystem::FILE_DIRECTORY_FILE;
use windows_sys::Win32::Foundation::{ERROR_FILE_NOT_FOUND, ERROR_NO_MORE_FILES};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ID_BOTH_DIR_INFO, FileIdBothDirectoryInfo, GetFileInformationByHandleEx,
};

use super::Dir;
use super::dir::{FOLDER, existing};
use super::identity::kind_of;
use super::native::while_in_use;
use crate::sys::EntryKind;

/// A folder that was opened to be emptied, and its names from the first on, in no order.
#[derive(Debug)]
pub(crate) struct Listing {
    dir: Dir,
    /// What the system gave last, and where in it the next entry is. `None`: the system has to be asked for more.
    entries: Vec<u64>,
    at: Option<usize>,
    is_at_the_end: bool,
}

/// A name in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    name: OsString,
    kind: EntryKind,
}

impl Listed {
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// A kind that is missing has to be asked for: none is.
    pub(crate) fn kind(&self) -> Option<EntryKind> {
        Some(self.kind)
    }
}

impl Dir {
    /// The names in it, from the first on.
    pub(crate) fn list(&self) -> io::Result<Listing> {
        // Handles that are copies of each other share the place in the list.
        let dir = Dir(while_in_use(|| existing(FOLDER, FILE_DIRECTORY_FILE).at(&self.0, &[]))?);
        Ok(Listing::of(dir))
    }
}

impl Listing {
    /// Of a folder that was opened for this.
    pub(super) fn of(dir: Dir) -> Listing {
        Listing { dir, entries: Vec::new(), at: None, is_at_the_end: false }
    }

    /// An error ends the list.
    pub(crate) fn next(&mut self) -> Option<io::Result<Listed>> {
        while !self.is_at_the_end {
            let Some(at) = self.at else {
                match self.ask() {
                    Ok(more) => (self.at, self.is_at_the_end) = (more.then_some(0), !more),
                    Err(error) => {
                        self.is_at_the_end = true;
                        return Some(Err(error));
                    }
                }
                continue;
            };
            let Some((listed, next)) = entry(&self.entries, at) else {
                self.is_at_the_end = true;
                return Some(Err(io::Error::new(io::ErrorKind::InvalidData, "the file system's list makes no sense")));
            };
            self.at = next;
            if listed.name != "." && listed.name != ".." {
                return Some(Ok(listed));
            }
        }
        None
    }

    /// Asks for more entries. False: there are none.
    fn ask(&mut self) -> io::Result<bool> {
        /// 32 KiB: some 200 names at a time.
        const WORDS: usize = 4096;
        self.entries.clear();
        self.entries.resize(WORDS, 0);
        let size = size_of_val(&self.entries[..]) as u32;
        let folder: &OwnedHandle = &self.dir.0;
        // SAFETY: the handle is open while it is borrowed; the system writes at most `size` bytes, and the buffer is as
        // aligned as the structure must be.
        let got = unsafe {
            GetFileInformationByHandleEx(
                folder.as_raw_handle(),
                FileIdBothDirectoryInfo,
                self.entries.as_mut_ptr().cast(),
                size,
            )
        };
        if got != 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error().map(|number| number as u32) {
            Some(ERROR_NO_MORE_FILES | ERROR_FILE_NOT_FOUND) => Ok(false),
            _ => Err(error),
        }
    }

    /// A handle of the folder that lives longer.
    pub(crate) fn dir(&self) -> io::Result<Dir> {
        self.dir.try_clone()
    }

    pub(crate) fn kind_of(&self, name: &OsStr) -> io::Result<EntryKind> {
        Ok(self.dir.stat(name)?.kind)
    }

    /// Removes a name that is no folder's.
    pub(crate) fn remove(&self, name: &OsStr, take_rights: bool) -> io::Result<()> {
        self.dir.remove_file(name, take_rights)
    }
}

/// The entry at the byte `at`, a FILE_ID_BOTH_DIR_INFO, and where the next one is. `None`: it is not whole.
fn entry(entries: &[u64], at: usize) -> Option<(Listed, Option<usize>)> {
    use FILE_ID_BOTH_DIR_INFO as Info;
    let bytes = entries.len() * 8;
    // Of this little-endian system.
    let byte = |at: usize| entries.get(at / 8).map(|word| word.to_le_bytes()[at % 8]);
    let number = |field: usize| {
        let from = at.checked_add(field)?;
        Some(u32::from_le_bytes([byte(from)?, byte(from + 1)?, byte(from + 2)?, byte(from + 3)?]))
    };
    let attributes = number(offset_of!(Info, FileAttributes))?;
    // What follows a reparse point's name in other calls: its tag.
    let tag = number(offset_of!(Info, EaSize))?;
    let len = number(offset_of!(Info, FileNameLength))? as usize;
    let begin = at.checked_add(offset_of!(Info, FileName))?;
    let end = begin.checked_add(len).filter(|&end| end <= bytes)?;
    let units = (begin..end).step_by(2).map(|at| Some(u16::from_le_bytes([byte(at)?, byte(at + 1)?])));
    let name = OsString::from_wide(&units.collect::<Option<Vec<_>>>()?);
    let next = match number(offset_of!(Info, NextEntryOffset))? as usize {
        0 => None,
        next => Some(at.checked_add(next).filter(|&next| next < bytes)?),
    };
    Some((Listed { name, kind: kind_of(attributes, tag) }, next))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use windows_sys::Win32::Storage::FileSystem::{FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_REPARSE_POINT};
    use windows_sys::Win32::System::SystemServices::IO_REPARSE_TAG_MOUNT_POINT;

    use super::*;

    /// As the documentation of FILE_ID_BOTH_DIR_INFO has it: the offset of the next one, attributes at 56, the length
    /// of the name, the tag; the name at 104.
    fn listed(next: u32, attributes: u32, tag: u32, name: &str) -> Vec<u64> {
        let mut bytes = vec![0; 104];
        bytes[..4].copy_from_slice(&next.to_le_bytes());
        for (at, number) in [(56, attributes), (60, name.encode_utf16().count() as u32 * 2), (64, tag)] {
            bytes[at..][..4].copy_from_slice(&number.to_le_bytes());
        }
        bytes.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    fn names_and_kinds_are_read_one_after_the_other() {
        let folder = FILE_ATTRIBUTE_DIRECTORY;
        let link = folder | FILE_ATTRIBUTE_REPARSE_POINT;
        let first = listed(112, link, IO_REPARSE_TAG_MOUNT_POINT, "äb");
        let both = [first, listed(0, folder, 0, "folder")].concat();
        let expected = |name: &str, kind| Listed { name: name.into(), kind };
        assert_eq!(entry(&both, 0), Some((expected("äb", EntryKind::Symlink), Some(112))));
        assert_eq!(entry(&both, 112), Some((expected("folder", EntryKind::Folder), None)));
    }

    #[test]
    fn an_entry_that_is_not_whole_is_none() {
        let whole = listed(0, 0, 0, "name");
        assert!(entry(&whole, 0).is_some());
        for words in 0..whole.len() {
            assert_eq!(entry(&whole[..words], 0), None, "{words}");
        }
        assert_eq!(entry(&listed(4096, 0, 0, "name"), 0), None);
        assert_eq!(entry(&whole, usize::MAX - 8), None);
    }

    #[test]
    fn a_folder_with_more_names_than_one_call_gives_is_listed_whole_twice_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let names: BTreeSet<_> = (0..700).map(|n| OsString::from(format!("a name that takes some room {n}"))).collect();
        for name in &names {
            std::fs::write(temp.path().join(name), "").unwrap();
        }
        let dir = Dir::open_root(temp.path()).unwrap();
        let (mut one, mut other) = (dir.list().unwrap(), dir.list().unwrap());
        let (mut seen, mut seen_again) = (Vec::new(), Vec::new());
        while let (Some(listed), Some(again)) = (one.next(), other.next()) {
            seen.push(listed.unwrap().name);
            seen_again.push(again.unwrap().name);
        }
        assert!(one.next().is_none() && other.next().is_none());
        assert_eq!((seen.len(), seen_again.len()), (names.len(), names.len()));
        assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), names);
        let empty = tempfile::tempdir().unwrap();
        assert!(Dir::open_root(empty.path()).unwrap().list().unwrap().next().is_none());
    }
}
