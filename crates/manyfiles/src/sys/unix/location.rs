//! Where a file is: its path, as the system has it now.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::{SystemPath, location_without_path, look_at};
use crate::sys::{AtPath, EntryKind, Location};

/// Where an open file is. `None` for what is no regular file: a pipe, a socket, a folder.
pub(crate) fn location(file: impl AsFd) -> Option<Location> {
    let file = file.as_fd();
    location_without_path(file).map(|location| Location { path: system_path(file), ..location })
}

/// What is at `path`, itself or, with `follow`, what a link there leads to. `None` for nothing, and for what is neither
/// a file nor a folder.
pub(crate) fn at_path(path: &Path, follow: bool) -> Option<AtPath> {
    match look_at(path, follow)? {
        (EntryKind::File, location) => Some(AtPath::File(location.identity)),
        (EntryKind::Folder, location) => {
            #[cfg(target_os = "linux")]
            let how = OFlags::PATH;
            #[cfg(not(target_os = "linux"))]
            let how = OFlags::RDONLY;
            let how = how | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let path = rustix::fs::open(path, how, Mode::empty()).ok().and_then(|folder| system_path(&folder));
            Some(AtPath::Folder(Location { path, ..location }))
        }
        _ => None,
    }
}

/// Whether [`system_path`] asks the kernel alone, and takes some microseconds at most, whatever server or process the
/// file is with.
pub(crate) const SYSTEM_PATHS_ARE_QUICK: bool = cfg!(target_os = "linux");

/// The path of an open file.
#[cfg(target_os = "linux")]
pub(crate) fn system_path(file: impl AsFd) -> Option<SystemPath> {
    let mut room = [0_u8; 512];
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file.as_fd()));
    match rustix::fs::readlinkat_raw(rustix::fs::CWD, &*link, &mut room[..]) {
        // It may have been cut.
        Ok(len) if len == room.len() => {
            let path = std::fs::read_link(link).ok()?;
            Some(SystemPath::new(std::os::unix::ffi::OsStringExt::into_vec(path.into_os_string())))
        }
        Ok(len) => Some(SystemPath::new(room[..len].to_vec())),
        Err(_) => None, // no /proc
    }
}

#[cfg(target_vendor = "apple")]
pub(crate) fn system_path(file: impl AsFd) -> Option<SystemPath> {
    rustix::fs::getpath(file).ok().map(|path| SystemPath::new(path.into_bytes()))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn system_path(_file: impl AsFd) -> Option<SystemPath> {
    None
}

/// Whether something is mounted at this path.
#[cfg(target_os = "linux")]
pub(super) fn is_mount_point(path: &Path) -> bool {
    has_attribute(path, rustix::fs::StatxAttributes::MOUNT_ROOT)
}

/// Whether no user may rename or remove what is at `path`: something is mounted there, or the file is immutable.
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
    let flags = AtFlags::SYMLINK_NOFOLLOW | super::identity::DONT_SYNC;
    rustix::fs::statx(rustix::fs::CWD, path, flags, StatxFlags::TYPE)
        .is_ok_and(|stat| stat.stx_attributes.intersects(any))
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
    fn a_file_is_one_by_every_name_and_its_folder_is_above_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        let file = std::fs::File::create(&path).unwrap();
        std::fs::hard_link(&path, temp.path().join("b")).unwrap();
        std::os::unix::fs::symlink("a", temp.path().join("link")).unwrap();
        let location = location(&file).unwrap();
        assert_eq!(regular_file(&file), Some(location.identity));
        for other in ["a", "b", "link"] {
            assert_eq!(at_path(&temp.path().join(other), true), Some(AtPath::File(location.identity)), "{other}");
        }
        assert_eq!(at_path(&temp.path().join("link"), false), None);
        let Some(AtPath::Folder(folder)) = at_path(temp.path(), true) else { panic!("a folder") };
        if cfg!(any(target_os = "linux", target_vendor = "apple")) {
            assert!(location.path.unwrap().is_at_or_below(&folder.path.unwrap()));
        }
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(regular_file(&reader), None);
    }
}
