//! What a file has besides its bytes, times, owner and permissions.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr as again};

use super::{Dir, cannot_be_kept, flags_of, is_privileged, xattrs_at, xattrs_of};
use crate::sys::{Attributes, EntryKind, Keep, Stat, Things};

/// Of an open file or folder. One that has nothing costs a call for its attributes, and one for its flags if they are
/// kept.
pub(crate) fn attributes_of(file: impl AsFd, keep: &Keep) -> io::Result<Attributes> {
    let (xattrs, mut lost) = xattrs_of(&file, keep)?;
    let mut flags = None;
    if keep.wants(Things::FLAGS) {
        match flags_of(&file) {
            Err(error) if cannot_be_kept(&error) => lost = lost.with(Things::FLAGS),
            read => flags = read?,
        }
    }
    Ok(Attributes { xattrs, flags, lost })
}

/// Of what has the path itself, be it a link. What is neither file nor folder is not opened: to open a device may do
/// something.
pub(crate) fn attributes_at(path: &Path, keep: &Keep) -> io::Result<Attributes> {
    let kind = Stat::from(again(|| rustix::fs::lstat(path))?).kind;
    look(kind, keep, |how| rustix::fs::open(path, how, Mode::empty()), || path.to_owned())
}

impl Dir {
    /// The same of `name` in this folder, which was seen to be of this kind just now. `shown` is the path of the folder,
    /// for systems where a name is not reached by the handle of its folder alone.
    pub(crate) fn attributes_of_name(
        &self,
        name: &OsStr,
        kind: EntryKind,
        shown: impl Fn() -> PathBuf,
        keep: &Keep,
    ) -> io::Result<Attributes> {
        let open = |how| rustix::fs::openat(&self.0, name, how, Mode::empty());
        look(kind, keep, open, || self.path_of(name, &shown()))
    }
}

fn look(
    kind: EntryKind,
    keep: &Keep,
    open: impl Fn(OFlags) -> rustix::io::Result<std::os::fd::OwnedFd>,
    path: impl Fn() -> PathBuf,
) -> io::Result<Attributes> {
    let folder = match kind {
        EntryKind::Folder => OFlags::DIRECTORY,
        EntryKind::File => OFlags::empty(),
        // Only privileged processes give links any, or see them.
        EntryKind::Symlink if !is_privileged() => return Ok(Attributes::default()),
        EntryKind::Symlink | EntryKind::Other => return by_name(&path(), keep),
    };
    let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | folder;
    match again(|| open(how)) {
        Ok(file) => attributes_of(&file, keep),
        // To look at attributes needs no right to read.
        Err(Errno::ACCESS) => by_name(&path(), keep),
        Err(errno) => Err(errno.into()),
    }
}

fn by_name(path: &Path, keep: &Keep) -> io::Result<Attributes> {
    let (xattrs, lost) = xattrs_at(path, keep)?;
    Ok(Attributes { xattrs, flags: None, lost })
}
