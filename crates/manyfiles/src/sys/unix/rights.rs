//! Permissions: modes, owners, access control lists.

use std::ffi::CStr;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

#[cfg(target_os = "linux")]
use lists::list_of;
use rustix::fs::{Gid, Mode, Uid};
use rustix::io::retry_on_intr as again;

use super::Handle;

/// Owner, group, permission bits, and the access control list where there is one.
#[derive(Debug)]
pub(crate) struct Access {
    mode: u32,
    user: u32,
    group: u32,
    is_folder: bool,
    list: List,
    /// What new entries of a folder inherit.
    inherited: List,
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
        let is_folder = metadata.is_dir();
        let inherited = if is_folder { list_of(path, DEFAULT) } else { List::None };
        Ok(Access { mode, user, group, is_folder, list: list_of(path, ACCESS), inherited })
    }

    /// Gives a new file the same. What this process may not set makes the rights fewer, and never more: no user gets a
    /// right to the new file that the user did not have to the old one. The exception is the user that makes the file.
    pub(crate) fn give_to(&self, file: &File) -> io::Result<()> {
        let (same_owner, same_group) = self.give_owner_to(file)?;
        self.give_rights(file, same_owner, same_group)
    }

    fn give_rights(&self, file: &File, same_owner: bool, same_group: bool) -> io::Result<()> {
        let mut mode = self.mode;
        if !(same_owner && super::is_privileged()) {
            // As the kernel does when a set-id file is written. On a folder set-group-id gives no rights.
            mode &= if self.is_folder { 0o3777 } else { 0o1777 };
        }
        if !same_group {
            // The group changed: its old members count as others now, and the reverse. Both get only the rights that
            // both had.
            let both = mode >> 3 & mode & 0o7;
            mode = mode & !0o77 | both << 3 | both;
        }
        if !self.give_list_to(file, &self.list, ACCESS)? {
            mode &= !0o77; // a list may forbid as well as allow
        }
        Ok(again(|| rustix::fs::fchmod(file, bits(mode)))?)
    }

    /// The same but for the owner, which stays as it is.
    pub(crate) fn give_rights_to(&self, file: &File) -> io::Result<()> {
        let has = file.metadata()?;
        self.give_rights(file, has.gid() == self.group && has.uid() == self.user, has.gid() == self.group)
    }

    /// Gives it the same owner and group, as far as this process may. Says whether it has the same owner, and group.
    pub(crate) fn give_owner_to(&self, file: &File) -> io::Result<(bool, bool)> {
        let has = file.metadata()?;
        let mut same_group = has.gid() == self.group;
        let mut same_owner = same_group && has.uid() == self.user;
        if !same_owner {
            let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.group));
            same_owner = again(|| rustix::fs::fchown(file, Some(user), Some(group))).is_ok();
            same_group = same_owner || same_group || again(|| rustix::fs::fchown(file, None, Some(group))).is_ok();
        }
        Ok((same_owner, same_group))
    }

    /// New entries of `folder` inherit what those of the other folder did.
    pub(crate) fn give_inherited_to(&self, folder: &File) -> io::Result<()> {
        self.give_list_to(folder, &self.inherited, DEFAULT).map(drop)
    }
}

/// Names of the lists.
const ACCESS: &CStr = c"system.posix_acl_access";
const DEFAULT: &CStr = c"system.posix_acl_default";

#[cfg(target_os = "linux")]
mod lists {
    use rustix::fs::XattrFlags;
    use rustix::io::Errno;

    use super::*;

    /// No list is longer: what the kernel allows any attribute.
    const LONGEST: usize = 64 << 10;

    pub(super) fn list_of(path: &Path, name: &CStr) -> List {
        let mut list = vec![0; LONGEST];
        match again(|| rustix::fs::getxattr(path, name, &mut list)) {
            Ok(len) => {
                list.truncate(len);
                List::Is(list)
            }
            Err(Errno::NODATA | Errno::OPNOTSUPP) => List::None,
            Err(_) => List::Unknown,
        }
    }

    impl Access {
        /// Whether the file has the same list now. What it got from its folder is taken away if not.
        pub(super) fn give_list_to(&self, file: &File, list: &List, name: &CStr) -> io::Result<bool> {
            if let List::Is(bytes) = list
                && again(|| rustix::fs::fsetxattr(file, name, bytes, XattrFlags::empty())).is_ok()
            {
                return Ok(true);
            }
            match again(|| rustix::fs::fremovexattr(file, name)) {
                Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(matches!(list, List::None)),
                Err(errno) => Err(errno.into()),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn list_of(_path: &Path, _name: &CStr) -> List {
    List::None
}

#[cfg(not(target_os = "linux"))]
impl Access {
    fn give_list_to(&self, _file: &File, list: &List, _name: &CStr) -> io::Result<bool> {
        Ok(matches!(list, List::None))
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
