//! Folders as handles, and what is done to names in them. Nothing here follows a symbolic link.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Mode, OFlags};

use super::file::{Permissions, timestamps};
use super::{EntryKind, Stat};
use crate::error::explained;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Dir(OwnedFd);

/// A handle that names can be looked up in is all that is needed, and costs less than one that can be read.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Dir {
    /// Opens the folder at `path`, whatever links lead there: it is the caller's choice of a root.
    pub(crate) fn open_root(path: &Path) -> io::Result<Dir> {
        Ok(Dir(rustix::fs::open(path, FOLDER, Mode::empty())?))
    }

    /// A second handle for the same folder.
    pub(crate) fn try_clone(&self) -> io::Result<Dir> {
        Ok(Dir(self.0.try_clone()?))
    }

    /// Opens the folder at `path` below this one, following no symbolic link on the way.
    pub(crate) fn folder(&self, path: &Path) -> io::Result<Dir> {
        #[cfg(target_os = "linux")]
        if let Some(opened) = self.folder_in_one_call(path) {
            return opened;
        }
        self.folder_by_component(path)
    }

    /// `None` if the kernel has no `openat2` (before 5.6), or a sandbox forbids it.
    #[cfg(target_os = "linux")]
    fn folder_in_one_call(&self, path: &Path) -> Option<io::Result<Dir>> {
        use rustix::fs::ResolveFlags;
        use rustix::io::Errno;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        // EAGAIN: a folder was renamed meanwhile, so that "beneath" could not be proven; the kernel asks to try again.
        for _ in 0..64 {
            return match rustix::fs::openat2(&self.0, path, FOLDER, Mode::empty(), beneath) {
                Ok(fd) => Some(Ok(Dir(fd))),
                Err(Errno::AGAIN) => continue,
                // NAMETOOLONG: a path may be longer than one call takes.
                Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => None,
                Err(errno) => Some(Err(errno.into())),
            };
        }
        None
    }

    fn folder_by_component(&self, path: &Path) -> io::Result<Dir> {
        let mut at = None::<Dir>;
        for component in path.components() {
            let Component::Normal(name) = component else {
                return Err(rustix::io::Errno::XDEV.into());
            };
            at = Some(at.as_ref().unwrap_or(self).child(name)?);
        }
        at.map_or_else(|| self.try_clone(), Ok)
    }

    /// Opens the folder `name` in this one. A symbolic link gives the error that a file would (`ENOTDIR`).
    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Dir> {
        match rustix::fs::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(fd) => Ok(Dir(fd)),
            // Some systems say ELOOP or EMLINK for a link that is not followed.
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::MLINK) => Err(rustix::io::Errno::NOTDIR.into()),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(crate) fn make_folder(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, bits(mode))?)
    }

    /// Creates `name` for writing; `AlreadyExists` if anything at all has that name.
    pub(crate) fn create_new(&self, name: &OsStr, mode: u32) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, bits(mode))?)
    }

    /// Opens what has that name for writing, as it is. `NONBLOCK` because it may be a FIFO that nobody reads.
    pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            // A file that may be written and not read.
            Err(rustix::io::Errno::ACCESS) => {
                let flags = flags.difference(OFlags::RDWR) | OFlags::WRONLY;
                Ok(rustix::fs::openat(&self.0, name, flags, Mode::empty())?)
            }
            other => Ok(other?),
        }
    }

    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(Stat::from(rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Renames within this folder; what had the new name is replaced.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    pub(crate) fn symlink(&self, target: &Path, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, name)?)
    }

    /// Gives the file `existing` in `from` the name `name` in this folder too.
    pub(crate) fn hard_link(&self, from: &Dir, existing: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(&from.0, existing, &self.0, name, AtFlags::empty())?)
    }

    #[cfg(all(feature = "tree", not(target_vendor = "apple")))]
    pub(crate) fn make_node(&self, name: &OsStr, node: crate::tree::Node, mode: u32) -> io::Result<()> {
        use crate::tree::Node;
        use rustix::fs::{FileType, makedev, mknodat};
        let (kind, device) = match node {
            Node::Fifo => (FileType::Fifo, 0),
            Node::CharDevice(major, minor) => (FileType::CharacterDevice, makedev(major, minor)),
            Node::BlockDevice(major, minor) => (FileType::BlockDevice, makedev(major, minor)),
        };
        mknodat(&self.0, name, kind, bits(mode), device).map_err(|errno| match errno {
            rustix::io::Errno::PERM => explained(errno.into(), "only root may make devices"),
            _ => errno.into(),
        })
    }

    /// macOS has no `mknodat`; nothing else would stay below the root.
    #[cfg(all(feature = "tree", target_vendor = "apple"))]
    pub(crate) fn make_node(&self, _name: &OsStr, _node: crate::tree::Node, _mode: u32) -> io::Result<()> {
        Err(explained(rustix::io::Errno::NOTSUP.into(), "macOS makes no devices or FIFOs in an open folder"))
    }

    pub(crate) fn set_modified(&self, name: &OsStr, modified: SystemTime) -> io::Result<()> {
        Ok(rustix::fs::utimensat(&self.0, name, &timestamps(modified), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub(crate) fn set_owner(&self, name: &OsStr, (user, group): (u32, u32)) -> io::Result<()> {
        let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
        Ok(rustix::fs::chownat(&self.0, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets the permissions of the folder `name`, or of this one if the name is empty, through a handle of its own: a
    /// symbolic link that took its place is not followed.
    pub(crate) fn set_folder_permissions(&self, name: &OsStr, mode: Permissions) -> io::Result<()> {
        let name = if name.is_empty() { OsStr::new(".") } else { name };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(&self.0, name, flags, Mode::empty())?;
        Ok(rustix::fs::fchmod(folder, bits(mode))?)
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(super) fn bits(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as rustix::fs::RawMode)
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the fields' widths differ between systems")]
impl From<rustix::fs::Stat> for Stat {
    fn from(stat: rustix::fs::Stat) -> Stat {
        use rustix::fs::FileType;
        let len = u64::try_from(stat.st_size).unwrap_or(0);
        Stat {
            kind: match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Folder,
                FileType::Symlink => EntryKind::Symlink,
                _ => EntryKind::Other,
            },
            len,
            links: u64::from(stat.st_nlink),
            mode: u32::from(stat.st_mode) & 0o7777,
            modified: super::file::system_time(stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            sparse: u64::try_from(stat.st_blocks).is_ok_and(|blocks| blocks.saturating_mul(512) < len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Both ways of opening must agree on what is a folder, a link, a file, and nothing at all.
    #[test]
    #[cfg(target_os = "linux")]
    fn one_call_and_one_call_per_component_agree() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("a/b/c")).unwrap();
        std::fs::write(temp.path().join("a/file"), "").unwrap();
        symlink("b", temp.path().join("a/link")).unwrap();
        symlink("/", temp.path().join("a/out")).unwrap();
        let root = Dir::open_root(temp.path()).unwrap();
        for path in ["a", "a/b/c", "a/link", "a/link/c", "a/out/tmp", "a/file", "a/file/x", "none", "a/none/x", "../x"]
        {
            let path = Path::new(path);
            let slow = root.folder_by_component(path);
            let Some(fast) = root.folder_in_one_call(path) else {
                return eprintln!("skipped: one_call_and_one_call_per_component_agree: this kernel has no openat2");
            };
            assert_eq!(fast.is_ok(), slow.is_ok(), "{path:?}: {fast:?} {slow:?}");
        }
    }

    #[test]
    fn a_link_on_the_way_down_is_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("real/sub")).unwrap();
        symlink("real", temp.path().join("link")).unwrap();
        let root = Dir::open_root(temp.path()).unwrap();
        assert!(root.folder(Path::new("real/sub")).is_ok());
        assert!(root.folder(Path::new("link/sub")).is_err());
        assert!(root.folder(Path::new("link")).is_err());
        assert_eq!(root.child(OsStr::new("link")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }
}
