//! Where a file is: its name, as the system has it now.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};

use super::{look_at, nameless_place};
use crate::sys::{EntryKind, PathPlace, Place};

/// A path without links, from the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(Vec<u8>);

impl Name {
    /// Whether this is what `folder` names, or inside it.
    pub(crate) fn is_at_or_below(&self, folder: &Name) -> bool {
        match self.0.strip_prefix(&folder.0[..]) {
            Some([]) => true,
            // The root's name ends with its separator.
            Some([first, ..]) => *first == b'/' || folder.0.ends_with(b"/"),
            None => false,
        }
    }

    /// Whether this is in `folder` itself.
    pub(crate) fn is_entry_of(&self, folder: &Name) -> bool {
        let below = self.0.strip_prefix(&folder.0[..]);
        let below = below.map(|below| below.strip_prefix(b"/").unwrap_or(below));
        self.is_at_or_below(folder) && below.is_some_and(|below| !below.is_empty() && !below.contains(&b'/'))
    }
}

/// Where an open file is. `None` for what is no regular file: a pipe, a socket, a folder.
pub(crate) fn place(file: impl AsFd) -> Option<Place> {
    let file = file.as_fd();
    nameless_place(file).map(|place| Place { name: name_of(file), ..place })
}

/// What is at `path`, itself or, with `follow`, what a link there leads to. `None` for nothing, and for what is neither
/// a file nor a folder.
pub(crate) fn place_at(path: &Path, follow: bool) -> Option<PathPlace> {
    match look_at(path, follow)? {
        (EntryKind::File, place) => Some(PathPlace::File(place.identity)),
        (EntryKind::Folder, place) => {
            #[cfg(target_os = "linux")]
            let how = OFlags::PATH;
            #[cfg(not(target_os = "linux"))]
            let how = OFlags::RDONLY;
            let how = how | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let name = rustix::fs::open(path, how, Mode::empty()).ok().and_then(|folder| name_of(&folder));
            Some(PathPlace::Folder(Place { name, ..place }))
        }
        _ => None,
    }
}

/// Whether [`name_of`] asks the kernel alone, at no more than some microseconds, whatever server or process the file is
/// with.
pub(crate) const NAMES_ARE_QUICK: bool = cfg!(target_os = "linux");

/// The path of an open file.
#[cfg(target_os = "linux")]
pub(crate) fn name_of(file: impl AsFd) -> Option<Name> {
    let mut room = [0_u8; 512];
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file.as_fd()));
    match rustix::fs::readlinkat_raw(CWD, &*link, &mut room[..]) {
        // It may have been cut.
        Ok(len) if len == room.len() => {
            let name = std::fs::read_link(link).ok()?;
            Some(Name(std::os::unix::ffi::OsStringExt::into_vec(name.into_os_string())))
        }
        Ok(len) => Some(Name(room[..len].to_vec())),
        Err(_) => None, // no /proc
    }
}

#[cfg(target_vendor = "apple")]
pub(crate) fn name_of(file: impl AsFd) -> Option<Name> {
    rustix::fs::getpath(file).ok().map(|path| Name(path.into_bytes()))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn name_of(_file: impl AsFd) -> Option<Name> {
    None
}

/// Whether something is mounted at this path.
#[cfg(target_os = "linux")]
pub(super) fn is_mount_point(path: &Path) -> bool {
    has_attribute(path, rustix::fs::StatxAttributes::MOUNT_ROOT)
}

/// Whether what is at `path` keeps its name whoever asks: something is mounted there, or it is immutable.
#[cfg(target_os = "linux")]
pub(super) fn is_fixed(path: &Path) -> bool {
    use rustix::fs::StatxAttributes as Has;
    has_attribute(path, Has::MOUNT_ROOT | Has::IMMUTABLE | Has::APPEND)
}

/// The same. Other systems are not asked.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_fixed(_path: &Path) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn has_attribute(path: &Path, any: rustix::fs::StatxAttributes) -> bool {
    use rustix::fs::{AtFlags, StatxFlags};
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(CWD, path, flags, StatxFlags::TYPE).is_ok_and(|stat| stat.stx_attributes.intersects(any))
}

/// The path that the open file has now, as the kernel knows it. `None` where the kernel does not say.
#[cfg(target_os = "linux")]
pub(crate) fn path_of(file: &File) -> Option<std::path::PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok() // no /proc
}

/// As above: `F_GETPATH`.
#[cfg(target_vendor = "apple")]
pub(crate) fn path_of(file: &File) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file).ok()?; // a file that has no name any more
    Some(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

/// Other systems do not say.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn path_of(_file: &File) -> Option<std::path::PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::super::regular_file;
    use super::*;

    #[test]
    fn a_name_is_at_or_below_itself_and_its_folders_alone() {
        for (name, folder, is) in [
            ("/a/b", "/a/b", true),
            ("/a/b", "/a", true),
            ("/a/b", "/", true),
            ("/a/bc", "/a/b", false),
            ("/a", "/a/b", false),
            ("/A/b", "/a", false),
        ] {
            let [name, folder] = [name, folder].map(|text| Name(text.into()));
            assert_eq!(name.is_at_or_below(&folder), is, "{name:?} {folder:?}");
        }
    }

    #[test]
    fn a_file_is_one_by_every_name_and_its_folder_is_above_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        let file = std::fs::File::create(&path).unwrap();
        std::fs::hard_link(&path, temp.path().join("b")).unwrap();
        std::os::unix::fs::symlink("a", temp.path().join("link")).unwrap();
        let place = place(&file).unwrap();
        assert_eq!(regular_file(&file), Some(place.identity));
        for other in ["a", "b", "link"] {
            assert_eq!(place_at(&temp.path().join(other), true), Some(PathPlace::File(place.identity)), "{other}");
        }
        assert_eq!(place_at(&temp.path().join("link"), false), None);
        let Some(PathPlace::Folder(folder)) = place_at(temp.path(), true) else { panic!("a folder") };
        if cfg!(any(target_os = "linux", target_vendor = "apple")) {
            assert!(place.name.unwrap().is_at_or_below(&folder.name.unwrap()));
        }
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(regular_file(&reader), None);
    }
}
