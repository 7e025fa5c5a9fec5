//! Permissions: modes, owners, access control lists.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

#[cfg(target_os = "linux")]
use lists::{give_default_list, list_of};
use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::io::retry_on_intr as again;

use super::{Dir, Handle};

/// Whether both modes come to the same here.
pub(crate) fn same_permissions(one: u32, other: u32) -> bool {
    one & 0o7777 == other & 0o7777
}

/// Owner, group, permission bits, and the access control list where there is one.
#[derive(Debug)]
pub(crate) struct Access {
    mode: u32,
    user: u32,
    group: u32,
    list: List,
}

#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "lists of other systems are not read"))]
enum List {
    None,
    Is(Vec<u8>),
    /// There may be one, and it cannot be read.
    Unknown,
}

impl Access {
    /// Of the file that the path leads to.
    pub(crate) fn of(path: &Path) -> io::Result<Access> {
        let metadata = fs::metadata(path)?;
        let (mode, user, group) = (metadata.mode() & 0o7777, metadata.uid(), metadata.gid());
        Ok(Access { mode, user, group, list: list_of(path) })
    }

    /// Gives a new file the same. What this process may not set makes the rights fewer, and never more: no user gets a right to
    /// the new file that the user did not have to the old one. The exception is the user that makes the file.
    pub(crate) fn give_to(&self, file: &File) -> io::Result<()> {
        let owner = self.give_owner_to(file, &file.metadata()?);
        // As where a user writes over a set-id file.
        let special = if owner.0 && super::is_privileged() { 0o7777 } else { 0o1777 };
        let mode = self.mode_for(owner, self.mode & special, self.give_list_to(file)?);
        Ok(again(|| rustix::fs::fchmod(file, bits(mode)))?)
    }

    /// The same for the folder `name` in `parent`, which takes the place of the one that this is of, at `old`. What was
    /// given for it stays: its owner with `keeps_owner`, its permissions with `keeps_mode`.
    pub(crate) fn give_to_folder(
        &self,
        (parent, name): (&Dir, &OsStr),
        old: &Path,
        (keeps_owner, keeps_mode): (bool, bool),
    ) -> io::Result<()> {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = File::from(again(|| rustix::fs::openat(parent, name, how, Mode::empty()))?);
        let metadata = folder.metadata()?;
        let owner = match keeps_owner {
            true => (true, true),
            false => self.give_owner_to(&folder, &metadata),
        };
        if keeps_mode {
            return Ok(());
        }
        let mode = self.mode_for(owner, self.mode & if owner.1 { 0o7777 } else { 0o1777 }, self.give_list_to(&folder)?);
        give_default_list(old, &folder);
        match again(|| rustix::fs::fchmod(&folder, bits(mode))) {
            // Where permissions cannot be set, those that it has are fewer.
            Err(_) if metadata.mode() & 0o7777 & !(mode | 0o700) == 0 => Ok(()),
            set => Ok(set?),
        }
    }

    /// Whether it has the same owner then, and the same group.
    fn give_owner_to(&self, file: &File, has: &fs::Metadata) -> (bool, bool) {
        let mut same_group = has.gid() == self.group;
        let mut same_owner = same_group && has.uid() == self.user;
        if !same_owner {
            let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.group));
            same_owner = again(|| rustix::fs::fchown(file, Some(user), Some(group))).is_ok();
            same_group = same_owner || same_group || again(|| rustix::fs::fchown(file, None, Some(group))).is_ok();
        }
        (same_owner, same_group)
    }

    /// `mode`, less what the new owner or a missing list makes too much.
    fn mode_for(&self, (_, same_group): (bool, bool), mut mode: u32, has_list: bool) -> u32 {
        if !same_group {
            // Users of the old group are others now, and the other way round.
            let both = mode >> 3 & mode & 0o7;
            mode = mode & !0o77 | both << 3 | both;
        }
        if has_list { mode } else { mode & !0o77 } // A list may forbid as well as allow.
    }
}

#[cfg(target_os = "linux")]
mod lists {
    use rustix::fs::XattrFlags;
    use rustix::io::Errno;

    use super::*;

    const NAME: &std::ffi::CStr = c"system.posix_acl_access";
    const DEFAULT: &std::ffi::CStr = c"system.posix_acl_default";

    /// No list is longer: what the kernel allows any attribute.
    const LONGEST: usize = 64 << 10;

    pub(super) fn list_of(path: &Path) -> List {
        let mut list = vec![0; LONGEST];
        match again(|| rustix::fs::getxattr(path, NAME, &mut list)) {
            Ok(len) => {
                list.truncate(len);
                List::Is(list)
            }
            Err(Errno::NODATA | Errno::OPNOTSUPP) => List::None,
            Err(_) => List::Unknown,
        }
    }

    /// Gives a folder the list that its new files get, as the one at `old` has it. Where that cannot be read or set,
    /// the folder keeps what it got from the one above: files that are made later are not this process's.
    pub(super) fn give_default_list(old: &Path, folder: &File) {
        let mut list = vec![0; LONGEST];
        let given = match again(|| rustix::fs::getxattr(old, DEFAULT, &mut list)) {
            Ok(len) => again(|| rustix::fs::fsetxattr(folder, DEFAULT, &list[..len], XattrFlags::empty())),
            Err(Errno::NODATA) => again(|| rustix::fs::fremovexattr(folder, DEFAULT)),
            Err(_) => Ok(()),
        };
        given.unwrap_or(());
    }

    impl Access {
        /// Whether the file has the same list now. What it got from its folder is taken away if not.
        pub(super) fn give_list_to(&self, file: &File) -> io::Result<bool> {
            if let List::Is(list) = &self.list
                && again(|| rustix::fs::fsetxattr(file, NAME, list, XattrFlags::empty())).is_ok()
            {
                return Ok(true);
            }
            match again(|| rustix::fs::fremovexattr(file, NAME)) {
                Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(matches!(self.list, List::None)),
                Err(errno) => Err(errno.into()),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn list_of(_path: &Path) -> List {
    List::None
}

#[cfg(not(target_os = "linux"))]
fn give_default_list(_old: &Path, _folder: &File) {}

#[cfg(not(target_os = "linux"))]
impl Access {
    fn give_list_to(&self, _file: &File) -> io::Result<bool> {
        Ok(matches!(self.list, List::None))
    }
}

/// Permission bits, set-id and sticky bits included.
pub(crate) type Permissions = u32;

pub(crate) fn set_permissions(file: &Handle, mode: Permissions) -> io::Result<()> {
    Ok(again(|| rustix::fs::fchmod(file, bits(mode)))?)
}

/// Sets user and group. This takes set-id bits away.
pub(crate) fn set_owner(file: &Handle, (user, group): (u32, u32)) -> io::Result<()> {
    let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
    Ok(again(|| rustix::fs::fchown(file, Some(user), Some(group)))?)
}

/// Sets the group only, which a user may do with groups that the user is a member of.
pub(crate) fn set_group(file: &Handle, group: u32) -> io::Result<()> {
    Ok(again(|| rustix::fs::fchown(file, None, Some(rustix::fs::Gid::from_raw(group))))?)
}

/// Whether writing to a file takes no set-id bits away from it.
pub(crate) fn is_privileged() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user whose files this process makes.
pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The process's umask, without changing it even for a moment. `None` where the system doesn't say.
pub(crate) fn umask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?; // no /proc: not an error
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(line.trim(), 8).ok()
}

pub(super) fn bits(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as rustix::fs::RawMode)
}
