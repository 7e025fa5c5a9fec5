//! Links, and files that are neither file, folder nor link.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::{Errno, retry_on_intr as again};

use super::{Dir, bits};
use crate::error::explained;
use crate::sys::{Keep, Metadata, Node, Symlink, Things, Unable};

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

    /// Gives the file at `existing`, wherever that is, the name `name` in this folder too. A link at `existing` itself is
    /// not followed.
    pub(crate) fn link_from(&self, existing: &Path, name: &OsStr) -> io::Result<()> {
        Ok(again(|| rustix::fs::linkat(rustix::fs::CWD, existing, &self.0, name, AtFlags::empty()))?)
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
    /// Returns what could not be kept and need not be.
    pub(crate) fn dress(
        &self,
        name: &OsStr,
        metadata: &Metadata,
        mode: Option<u32>,
        keep: &Keep,
    ) -> io::Result<Things> {
        #[cfg(target_os = "linux")]
        if metadata.owner.is_some() || mode.is_some() || !metadata.xattrs.is_empty() {
            return self.dress_through_handle(name, metadata, mode, keep);
        }
        #[cfg(not(target_os = "linux"))]
        let mut lost = Things::default();
        #[cfg(not(target_os = "linux"))]
        {
            if let Some((user, group)) = metadata.owner {
                let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                match again(|| rustix::fs::chownat(&self.0, name, Some(user), Some(group), flags)) {
                    Err(errno) if keep.may_lose(Things::OWNERS) && super::cannot_be_kept(&errno.into()) => {
                        lost = lost.with(Things::OWNERS);
                    }
                    set => set?,
                }
            }
            if let Some(mode) = mode {
                again(|| rustix::fs::chmodat(&self.0, name, bits(mode), AtFlags::SYMLINK_NOFOLLOW))?;
            }
            if !metadata.xattrs.is_empty() && keep.may_lose(Things::XATTRS) {
                lost = lost.with(Things::XATTRS);
            } else if !metadata.xattrs.is_empty() {
                return Err(explained(Errno::NOTSUP.into(), "only files and folders get extended attributes here"));
            }
        }
        self.set_times(name, metadata.modified, metadata.accessed)?;
        #[cfg(target_os = "linux")]
        return Ok(Things::default());
        #[cfg(not(target_os = "linux"))]
        Ok(lost)
    }

    #[cfg(target_os = "linux")]
    fn dress_through_handle(
        &self,
        name: &OsStr,
        metadata: &Metadata,
        mode: Option<u32>,
        keep: &Keep,
    ) -> io::Result<Things> {
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
        let (mut mode, mut lost) = (mode, Things::default());
        if let Some(owner) = owner {
            let give = |user: Option<u32>, group| {
                let (user, group) = (user.map(rustix::fs::Uid::from_raw), Some(rustix::fs::Gid::from_raw(group)));
                Ok(again(|| rustix::fs::chownat(&handle, c"", user, group, AtFlags::EMPTY_PATH))?)
            };
            if !keep.give_owner(owner, give)? {
                (mode, lost) = (mode.map(|mode| mode & 0o1777), Things::OWNERS);
            }
        }
        // What the handle stands for, itself, under the name that the kernel gives to handles.
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let exact = if stat.kind == EntryKind::Other { metadata.exact } else { Things::default() };
        let not_set = super::xattrs::set_at(&path, &metadata.xattrs, exact, keep)?;
        lost = lost.with(not_set);
        if not_set.has(Things::ACLS) {
            mode = mode.map(|mode| super::mode_without_list(mode, &metadata.xattrs));
        }
        if let Some(mode) = mode.filter(|_| stat.kind == EntryKind::Other) {
            again(|| rustix::fs::chmod(&*path, bits(mode)))?;
        }
        if metadata.modified.is_some() || metadata.accessed.is_some() {
            let times = super::timestamps(metadata.modified, metadata.accessed);
            again(|| rustix::fs::utimensat(rustix::fs::CWD, &*path, &times, AtFlags::empty()))?;
        }
        Ok(lost)
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

/// Whether `error` says that the file cannot have another name there, so that it has to be copied.
pub(crate) fn unable_to_link(error: &io::Error) -> Option<Unable> {
    match error.raw_os_error()? {
        libc::EXDEV | libc::EOPNOTSUPP | libc::ENOSYS => Some(Unable::All),
        // As many names as a file may have; another user's, which is protected, or immutable. File systems without hard
        // links say EPERM as well.
        libc::EMLINK | libc::EPERM | libc::EACCES => Some(Unable::These),
        _ => None,
    }
}
