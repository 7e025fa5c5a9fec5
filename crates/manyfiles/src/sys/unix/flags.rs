//! File flags, which `chattr` sets and `lsattr` shows.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;

use rustix::io::retry_on_intr as again;

use super::Dir;
use crate::sys::{FileFlags, Identity};

#[cfg(target_os = "linux")]
impl FileFlags {
    /// They say how the content is stored, and are set while a file is empty: compressed, not compressed, not copied on
    /// write.
    pub(crate) const FIRST: FileFlags = FileFlags(0x4 | 0x400 | 0x80_0000);
    /// With them nothing else can be changed: immutable, append-only.
    pub(crate) const LAST: FileFlags = FileFlags(0x10 | 0x20);
    /// Also to be removed securely, undeletable, synchronous, not dumped, without access times, journaled data, whole
    /// tails, synchronous folder, top of a hierarchy. Not those by which the file system says how it keeps a file.
    pub(crate) const KEPT: FileFlags =
        FileFlags(FileFlags::FIRST.0 | FileFlags::LAST.0 | 0x1 | 0x2 | 0x8 | 0x40 | 0x80 | 0x4000 | 0x8000 | 0x3_0000);
}

/// None are kept.
#[cfg(not(target_os = "linux"))]
impl FileFlags {
    pub(crate) const FIRST: FileFlags = FileFlags(0);
    pub(crate) const LAST: FileFlags = FileFlags(0);
    pub(crate) const KEPT: FileFlags = FileFlags(0);
}

/// Of those that are kept. `None` where the file system has none.
#[cfg(target_os = "linux")]
pub(crate) fn flags_of(file: impl AsFd) -> io::Result<Option<FileFlags>> {
    match again(|| rustix::fs::ioctl_getflags(&file)) {
        Ok(flags) => Ok(Some(FileFlags(flags.bits() & FileFlags::KEPT.0))),
        Err(errno) if is_unknown_call(errno) => Ok(None),
        Err(errno) => Err(crate::error::explained(errno.into(), "the file's flags cannot be read")),
    }
}

/// Whether the file system has nothing of the kind.
#[cfg(target_os = "linux")]
pub(super) fn is_unknown_call(errno: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(errno, Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
}

/// Makes those of `which` as they are in `flags`. False if some could not be set.
#[cfg(target_os = "linux")]
pub(crate) fn set_flags(file: impl AsFd, flags: FileFlags, which: FileFlags) -> io::Result<bool> {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let has = match again(|| ioctl_getflags(&file)) {
        Ok(has) => has.bits(),
        Err(errno) if super::cannot_be_kept(&errno.into()) => return Ok(flags.0 & which.0 == 0),
        Err(errno) => return Err(crate::error::explained(errno.into(), "the file's flags cannot be read")),
    };
    let set = |flags| match again(|| ioctl_setflags(&file, IFlags::from_bits_retain(flags))) {
        Ok(()) => Ok(true),
        Err(errno) if super::cannot_be_kept(&errno.into()) => Ok(false),
        Err(errno) => Err(crate::error::explained(errno.into(), "the file's flags cannot be set")),
    };
    let wanted = has & !which.0 | flags.0 & which.0;
    if has == wanted || set(wanted)? {
        return Ok(true);
    }
    // One that the file system does not have is no reason to lose the others.
    let (mut now, mut all) = (has, true);
    for bit in (0..32).map(|n| 1 << n).filter(|bit| (has ^ wanted) & bit != 0) {
        match set(now ^ bit)? {
            true => now ^= bit,
            false => all = false,
        }
    }
    Ok(all)
}

/// They are not read here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn flags_of(_file: impl AsFd) -> io::Result<Option<FileFlags>> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn set_flags(_file: impl AsFd, flags: FileFlags, which: FileFlags) -> io::Result<bool> {
    Ok(flags.0 & which.0 == 0)
}

impl Dir {
    /// The same for what has this name, if it is a file or folder and, where that is known, this one.
    pub(crate) fn set_flags(
        &self,
        name: &OsStr,
        flags: FileFlags,
        which: FileFlags,
        identity: Option<Identity>,
    ) -> io::Result<bool> {
        use rustix::fs::{Mode, OFlags};
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let file = again(|| rustix::fs::openat(&self.0, name, how, Mode::empty()))?;
        if identity.is_some_and(|is| super::stat(&file).map_or(true, |now| now.identity != is)) {
            let error = rustix::io::Errno::STALE.into();
            return Err(crate::error::explained(error, "something else has the name now"));
        }
        set_flags(&file, flags, which)
    }
}
