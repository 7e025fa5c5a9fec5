//! Which file an open handle is, where it is, and how it was opened. Nothing here waits for a server.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use crate::sys::{EntryKind, Identity, PathPlace, Place, Stat};

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

/// The same without its name.
pub(crate) fn nameless_place(file: impl AsFd) -> Option<Place> {
    match look(file.as_fd(), c"", true)? {
        (EntryKind::File, place) => Some(place),
        _ => None,
    }
}

/// Which file it is. `None` for what is no regular file.
pub(crate) fn regular_file(file: impl AsFd) -> Option<Identity> {
    nameless_place(file).map(|place| place.identity)
}

/// Which regular file `path` leads to, where that can be told without opening it.
pub(crate) fn file_at(path: &Path) -> Option<Identity> {
    let path = std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())).ok()?;
    match look(CWD, &path, true)? {
        (EntryKind::File, place) => Some(place.identity),
        _ => None,
    }
}

/// What is at `path`, itself or, with `follow`, what a link there leads to. `None` for nothing, and for what is neither a file
/// nor a folder.
pub(crate) fn place_at(path: &Path, follow: bool) -> Option<PathPlace> {
    let path_c = std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())).ok()?;
    match look(CWD, &path_c, follow)? {
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

/// What is at `path`, all but its name. An empty `path` asks about `at` itself.
#[cfg(target_os = "linux")]
fn look(at: BorrowedFd<'_>, path: &std::ffi::CStr, follow: bool) -> Option<(EntryKind, Place)> {
    use rustix::fs::{FileType, StatxFlags};
    // What the kernel knows by itself: NFS writes out a file's data before it answers anything else.
    let mut flags = AtFlags::STATX_DONT_SYNC;
    flags.set(AtFlags::EMPTY_PATH, path.is_empty());
    flags.set(AtFlags::SYMLINK_NOFOLLOW, !follow);
    let Ok(stat) = rustix::fs::statx(at, path, flags, StatxFlags::TYPE | StatxFlags::INO | StatxFlags::MNT_ID) else {
        return by_stat(at, path, follow);
    };
    let kind = match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Symlink,
        _ => EntryKind::Other,
    };
    let volume = rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor);
    // Linux before 5.8 does not say.
    let mount = if stat.stx_mask & StatxFlags::MNT_ID.bits() == 0 { 0 } else { stat.stx_mnt_id };
    Some((kind, Place { identity: Identity { volume, file: stat.stx_ino.into() }, mount, name: None }))
}

#[cfg(not(target_os = "linux"))]
fn look(at: BorrowedFd<'_>, path: &std::ffi::CStr, follow: bool) -> Option<(EntryKind, Place)> {
    by_stat(at, path, follow)
}

fn by_stat(at: BorrowedFd<'_>, path: &std::ffi::CStr, follow: bool) -> Option<(EntryKind, Place)> {
    let links = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    let stat = if path.is_empty() { rustix::fs::fstat(at) } else { rustix::fs::statat(at, path, links) };
    let stat = Stat::from(stat.ok()?);
    Some((stat.kind, Place { identity: stat.identity, mount: 0, name: None }))
}

/// Whether [`name_of`] asks the kernel alone, at no more than some microseconds, whatever server or process the file is with.
pub(crate) const NAMES_ARE_QUICK: bool = cfg!(target_os = "linux");

/// The path of an open file.
#[cfg(target_os = "linux")]
pub(crate) fn name_of(file: impl AsFd) -> Option<Name> {
    let mut room = [0_u8; 512];
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
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
    use rustix::fs::{StatxAttributes, StatxFlags};
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(CWD, path, flags, StatxFlags::TYPE)
        .is_ok_and(|stat| stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Whether it was opened for reading alone, as far as the system says.
pub(crate) fn is_read_only(file: impl AsFd) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags & OFlags::ACCMODE == OFlags::RDONLY)
}

/// Whether this handle may stay open a while longer without taking from the program what it needs.
///
/// Descriptors are given out from the lowest free number on, so that all below a new one's number are in use: a quarter of the
/// limit is left free for sockets, pipes and whatever else the program opens elsewhere.
pub(crate) fn leaves_room(file: impl AsFd) -> bool {
    let limit = super::handle_limit();
    usize::try_from(file.as_fd().as_raw_fd()).is_ok_and(|number| number < limit - limit / 4)
}

/// Whether a name may be moved between what these are about.
pub(crate) fn may_be_on_one_volume(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    a.dev() == b.dev()
}

/// Whether a lock may be held through this handle, which its close would release.
#[cfg(target_os = "linux")]
pub(crate) fn may_hold_lock(file: impl AsFd) -> bool {
    use super::magic::{self, BCACHEFS, BTRFS, EXFAT, EXT, F2FS, FAT, OVERLAY, RAMFS, TMPFS, XFS, ZFS};
    /// The kernel keeps the locks of these, and lists them. One on FUSE, NFS or SMB may be known to the server alone.
    const LISTED: [u32; 11] = [BCACHEFS, BTRFS, EXFAT, EXT, F2FS, FAT, OVERLAY, RAMFS, TMPFS, XFS, ZFS];
    if !magic::of(&file).is_some_and(|kind| LISTED.contains(&kind)) {
        return true;
    }
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_fd().as_raw_fd()));
    info.map_or(true, |info| info.contains("\nlock:"))
}

/// Linux alone says.
#[cfg(not(target_os = "linux"))]
pub(crate) fn may_hold_lock(_file: impl AsFd) -> bool {
    true
}

/// Lets `what` run when the process ends by `exit`, or by returning from `main`.
pub(crate) fn at_exit(what: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the function takes nothing, and stays where it is as long as this code does.
    match unsafe { libc::atexit(what) } {
        0 => Ok(()),
        _ => Err(io::Error::other("no room for another function that runs at exit")),
    }
}

/// Lets these run around each fork: on the thread that forks, before it and after it, and in the child. The last may do no more
/// than a signal handler.
pub(crate) fn around_forks(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) -> io::Result<()> {
    /// The C library's type for it is `unsafe`.
    type Handler = unsafe extern "C" fn();
    // SAFETY: the functions take nothing, and stay where they are as long as this code does.
    match unsafe { libc::pthread_atfork(Some(before as Handler), Some(parent as Handler), Some(child as Handler)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
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
