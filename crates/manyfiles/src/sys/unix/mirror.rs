//! What a mirror asks about names in folders.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr as again};

use super::{Dir, Handle};
use crate::sys::{EntryKind, Node, Stat, Symlink};

impl Dir {
    /// The symbolic link `name`.
    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<Symlink> {
        let says = again(|| rustix::fs::readlinkat(&self.0, name, Vec::new()))?;
        Ok(OsString::from_vec(says.into_bytes()).into())
    }

    /// What `name` is, if it can be made again: a socket cannot.
    pub(crate) fn node(&self, name: &OsStr) -> io::Result<Option<Node>> {
        let stat = again(|| rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW))?;
        let (major, minor) = (rustix::fs::major(stat.st_rdev as _), rustix::fs::minor(stat.st_rdev as _));
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Fifo => Some(Node::Fifo),
            FileType::CharacterDevice => Some(Node::CharDevice(major as _, minor as _)),
            FileType::BlockDevice => Some(Node::BlockDevice(major as _, minor as _)),
            _ => None,
        })
    }

    /// The permission bits of `name`, with what its group really may do: where there is an access control list, the bits
    /// say what anybody in the list may do at most.
    pub(crate) fn own_mode(&self, name: &OsStr, stat: &Stat) -> u32 {
        let (group, others) = (stat.mode >> 3 & 7, stat.mode & 7);
        // Rights that all other users have as well cannot be given away, and asking takes time.
        if group & !others == 0 || stat.kind == EntryKind::Symlink {
            return stat.mode;
        }
        match self.group_rights(name) {
            Some(really) => stat.mode & !0o070 | (really & group) << 3,
            None => stat.mode,
        }
    }

    #[cfg(target_os = "linux")]
    fn group_rights(&self, name: &OsStr) -> Option<u32> {
        use std::os::fd::AsRawFd;
        let path = std::path::Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string()).join(name);
        // More entries than lists have in practice.
        let mut list = [0; 4096];
        let len = again(|| rustix::fs::lgetxattr(&path, c"system.posix_acl_access", &mut list)).ok()?;
        of_owning_group(&list[..len])
    }

    #[cfg(not(target_os = "linux"))]
    fn group_rights(&self, _name: &OsStr) -> Option<u32> {
        None
    }

    /// Makes a folder of this user's writable for the time of a change. `None`: it is, or that is not to be had.
    pub(crate) fn allow_changes(&self, name: &OsStr) -> Option<u32> {
        let stat = self.stat(name).ok()?;
        let needs = stat.kind == EntryKind::Folder && stat.mode & 0o300 != 0o300 && !super::is_privileged();
        (needs && self.set_folder_permissions(name, stat.mode | 0o700).is_ok()).then_some(stat.mode)
    }

    /// Opens a file below this folder to be copied from. No link is followed, at the end or on the way.
    pub(crate) fn open_source_below(&self, path: &Path) -> io::Result<Handle> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
            match again(|| rustix::fs::openat2(self, path, how, Mode::empty(), beneath)) {
                Ok(file) => return Ok(file),
                // A rename on the way, or a lease; no such call; a path longer than one call takes.
                Err(Errno::AGAIN | Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) if above.as_os_str().is_empty() => self.open_to_read(name),
            (Some(above), Some(name)) => self.folder(above)?.open_to_read(name),
            _ => Err(Errno::ISDIR.into()),
        }
    }

    /// Whether the file system is of a kind that keeps times in steps of 10 ms to 2 s, and may keep the time of a last
    /// change otherwise.
    #[cfg(target_os = "linux")]
    pub(crate) fn keeps_coarse_times(&self) -> bool {
        use super::magic::{self, EXFAT, FAT, HFS, HFS_PLUS};
        magic::of(&self.0).is_some_and(|kind| [EXFAT, FAT, HFS, HFS_PLUS].contains(&kind))
    }

    /// A path by which `name` is reached, whatever becomes of the path `_shown` of the folder.
    #[cfg(target_os = "linux")]
    pub(crate) fn path_of(&self, name: &OsStr, _shown: &Path) -> PathBuf {
        use std::os::fd::AsRawFd;
        Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string()).join(name)
    }

    /// A path by which `name` is reached.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn path_of(&self, name: &OsStr, shown: &Path) -> PathBuf {
        shown.join(name)
    }

    /// Whether the file system keeps permissions at all.
    #[cfg(target_os = "linux")]
    pub(crate) fn keeps_permissions(&self) -> bool {
        use super::magic::{self, EXFAT, FAT, HFS};
        !magic::of(&self.0).is_some_and(|kind| [EXFAT, FAT, HFS].contains(&kind))
    }

    /// Not asked.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn keeps_permissions(&self) -> bool {
        true
    }

    /// The times themselves tell.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn keeps_coarse_times(&self) -> bool {
        false
    }

    /// Opens the regular file `name` to read it; `None` if it is none.
    pub(crate) fn open_regular(&self, name: &OsStr) -> io::Result<Handle> {
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        Ok(again(|| rustix::fs::openat(&self.0, name, how, Mode::empty()))?)
    }
}

/// What a list in the kernel's form (a version, then entries of tag, permissions and id) gives the group that the file
/// belongs to.
#[cfg(target_os = "linux")]
pub(super) fn of_owning_group(list: &[u8]) -> Option<u32> {
    const GROUP: u16 = 0x04;
    let entries = list.strip_prefix(&2_u32.to_le_bytes())?.chunks_exact(8);
    let of = |entry: &[u8], at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
    entries.filter(|entry| of(entry, 0) == GROUP).map(|entry| u32::from(of(entry, 2) & 7)).next()
}
