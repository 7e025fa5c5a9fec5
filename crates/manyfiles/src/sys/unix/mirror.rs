//! What a mirror asks about names in folders.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::retry_on_intr as again;

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

    /// Opens the regular file `name` to read it; `None` if it is none.
    pub(crate) fn open_regular(&self, name: &OsStr) -> io::Result<Handle> {
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        Ok(again(|| rustix::fs::openat(&self.0, name, how, Mode::empty()))?)
    }
}

/// What a list in the kernel's form (a version, then entries of tag, permissions and id) gives the group that the file
/// belongs to.
#[cfg(target_os = "linux")]
fn of_owning_group(list: &[u8]) -> Option<u32> {
    const GROUP: u16 = 0x04;
    let entries = list.strip_prefix(&2_u32.to_le_bytes())?.chunks_exact(8);
    let of = |entry: &[u8], at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
    entries.filter(|entry| of(entry, 0) == GROUP).map(|entry| u32::from(of(entry, 2) & 7)).next()
}
