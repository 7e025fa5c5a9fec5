//! Links, and files that are neither file, folder nor link.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::{Errno, retry_on_intr as again};

use super::{Dir, bits};
use crate::error::explained;
use crate::sys::{Metadata, Node, Symlink};

/// There is one kind of symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {}

pub(crate) fn read_symlink(path: &Path) -> io::Result<Symlink> {
    std::fs::read_link(path).map(Symlink::from)
}

pub(crate) fn becomes(link: &Symlink, there: &Symlink) -> bool {
    link == there
}

impl Dir {
    pub(crate) fn symlink(&self, link: &Symlink, name: &OsStr) -> io::Result<()> {
        Ok(again(|| rustix::fs::symlinkat(link.target(), &self.0, name))?)
    }

    /// Whether `name` is such a link.
    pub(crate) fn is_symlink(&self, name: &OsStr, link: &Symlink) -> io::Result<bool> {
        match again(|| rustix::fs::readlinkat(&self.0, name, Vec::new())) {
            Ok(says) => Ok(says.as_bytes() == link.target().as_os_str().as_bytes()),
            Err(Errno::INVAL) => Ok(false), // It is none.
            Err(errno) => Err(errno.into()),
        }
    }

    /// Gives the file `existing` in `from` the name `name` in this folder too.
    pub(crate) fn hard_link(&self, from: &Dir, existing: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(again(|| rustix::fs::linkat(&from.0, existing, &self.0, name, AtFlags::empty()))?)
    }

    #[cfg(not(target_vendor = "apple"))]
    pub(crate) fn make_node(&self, name: &OsStr, node: Node, mode: u32) -> io::Result<()> {
        let (kind, device) = kind_of(node);
        again(|| rustix::fs::mknodat(&self.0, name, kind, bits(mode), device)).map_err(|errno| match errno {
            Errno::PERM => explained(errno.into(), "only root may make devices"),
            _ => errno.into(),
        })
    }

    /// macOS has no `mknodat`; nothing else would stay below the root.
    #[cfg(target_vendor = "apple")]
    pub(crate) fn make_node(&self, _name: &OsStr, _node: Node, _mode: u32) -> io::Result<()> {
        Err(explained(Errno::NOTSUP.into(), "macOS makes no devices or FIFOs in an open folder"))
    }

    /// Whether `name` is such a node.
    #[cfg(not(target_vendor = "apple"))]
    pub(crate) fn is_node(&self, name: &OsStr, node: Node) -> io::Result<bool> {
        let (kind, device) = kind_of(node);
        let stat = again(|| rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW))?;
        let same = rustix::fs::FileType::from_raw_mode(stat.st_mode) == kind;
        Ok(same && (matches!(node, Node::Fifo) || stat.st_rdev == device))
    }

    /// It makes none.
    #[cfg(target_vendor = "apple")]
    pub(crate) fn is_node(&self, _name: &OsStr, _node: Node) -> io::Result<bool> {
        Ok(false)
    }

    /// Sets what a link or node is to carry. `mode` is what a node's permissions are to be, if they are not yet.
    ///
    /// Owner and permissions are given through a handle, and only to what this process's user owns and what has no
    /// other name: another user with rights to the folder could have put a name of one of this user's files there
    /// meanwhile.
    pub(crate) fn dress(&self, name: &OsStr, metadata: &Metadata, mode: Option<u32>) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if metadata.owner.is_some() || mode.is_some() || !metadata.xattrs.is_empty() {
            return self.dress_through_handle(name, metadata, mode);
        }
        #[cfg(not(target_os = "linux"))]
        {
            if let Some((user, group)) = metadata.owner {
                let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                again(|| rustix::fs::chownat(&self.0, name, Some(user), Some(group), flags))?;
            }
            if let Some(mode) = mode {
                again(|| rustix::fs::chmodat(&self.0, name, bits(mode), AtFlags::SYMLINK_NOFOLLOW))?;
            }
            if !metadata.xattrs.is_empty() {
                return Err(explained(Errno::NOTSUP.into(), "only files and folders get extended attributes here"));
            }
        }
        metadata.modified.map_or(Ok(()), |modified| self.set_modified(name, modified))
    }

    #[cfg(target_os = "linux")]
    fn dress_through_handle(&self, name: &OsStr, metadata: &Metadata, mode: Option<u32>) -> io::Result<()> {
        use std::os::fd::AsRawFd;

        use rustix::fs::OFlags;

        use crate::sys::{EntryKind, Stat};
        let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = again(|| rustix::fs::openat(&self.0, name, how, rustix::fs::Mode::empty()))?;
        let stat = Stat::from(again(|| rustix::fs::fstat(&handle))?);
        let ours = stat.links == 1 && matches!(stat.kind, EntryKind::Symlink | EntryKind::Other);
        let owner = metadata.owner.filter(|owner| *owner != stat.owner);
        if !ours || (stat.owner.0 != super::own_user() && owner.is_some()) {
            return Err(explained(Errno::STALE.into(), "something else has the name now"));
        }
        if let Some((user, group)) = owner {
            let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
            again(|| rustix::fs::chownat(&handle, c"", Some(user), Some(group), AtFlags::EMPTY_PATH))?;
        }
        // What the handle stands for, itself, under the name that the kernel gives to handles.
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        super::xattrs::set_at(&path, &metadata.xattrs)?;
        if let Some(mode) = mode.filter(|_| stat.kind == EntryKind::Other) {
            again(|| rustix::fs::chmod(&*path, bits(mode)))?;
        }
        if let Some(modified) = metadata.modified {
            let times = super::timestamps(modified);
            again(|| rustix::fs::utimensat(rustix::fs::CWD, &*path, &times, AtFlags::empty()))?;
        }
        Ok(())
    }
}

#[cfg(not(target_vendor = "apple"))]
fn kind_of(node: Node) -> (rustix::fs::FileType, rustix::fs::Dev) {
    use rustix::fs::{FileType, makedev};
    match node {
        Node::Fifo => (FileType::Fifo, 0),
        Node::CharDevice(major, minor) => (FileType::CharacterDevice, makedev(major, minor)),
        Node::BlockDevice(major, minor) => (FileType::BlockDevice, makedev(major, minor)),
    }
}
