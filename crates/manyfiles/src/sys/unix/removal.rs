//! Whole folders are removed, and never what is mounted in them.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::SystemTime;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr as again};

use super::Dir;
use crate::sys::{Entering, EntryKind, Stat};

const READABLE: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Dir {
    /// Whether the folder `name`, or anything in it, was changed at `time` or later.
    pub(crate) fn tree_changed_since(&self, name: &OsStr, time: SystemTime) -> io::Result<bool> {
        changed_since(self.as_fd(), &c_string(name)?, time)
    }

    /// A path at or below the folder `name` where something is mounted. `None` where nothing is, and where there is no
    /// `/proc` to ask.
    #[cfg(target_os = "linux")]
    pub(crate) fn mounted_in(&self, name: &OsStr) -> io::Result<Option<PathBuf>> {
        use std::os::fd::AsRawFd;
        let folder = if_there(std::fs::read_link(format!("/proc/self/fd/{}", self.as_fd().as_raw_fd())))?;
        let (Some(folder), Some(mounts)) = (folder, if_there(std::fs::read("/proc/self/mountinfo"))?) else {
            return Ok(None);
        };
        let folder = folder.join(name);
        let found = mounts.split(|&byte| byte == b'\n').find_map(|line| {
            let path = unescaped(line.split(|&byte| byte == b' ').nth(4)?);
            let path = PathBuf::from(OsStr::from_bytes(&path));
            path.starts_with(&folder).then_some(path)
        });
        Ok(found)
    }

    /// Not asked: the removal finds it.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn mounted_in(&self, _name: &OsStr) -> io::Result<Option<PathBuf>> {
        Ok(None)
    }
}

/// A folder that was opened to be emptied, and its names from the first on, in no order.
#[derive(Debug)]
pub(crate) struct Listing(rustix::fs::Dir);

/// A name in a folder.
#[derive(Debug)]
pub(crate) struct Listed(rustix::fs::DirEntry);

impl Listed {
    pub(crate) fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.0.file_name().to_bytes())
    }

    /// A kind that is missing has to be asked for.
    pub(crate) fn kind(&self) -> Option<EntryKind> {
        match self.0.file_type() {
            FileType::Unknown => None,
            kind => Some(EntryKind::from(kind)),
        }
    }
}

impl Listing {
    /// Leaves out `.` and `..`.
    pub(crate) fn next(&mut self) -> Option<io::Result<Listed>> {
        loop {
            match self.0.read()? {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                entry => return Some(entry.map(Listed).map_err(io::Error::from)),
            }
        }
    }

    /// A handle of the folder that lives longer.
    pub(crate) fn dir(&self) -> io::Result<Dir> {
        Ok(Dir(self.0.fd()?.try_clone_to_owned()?))
    }

    pub(crate) fn kind_of(&self, name: &OsStr) -> io::Result<EntryKind> {
        let stat = again(|| rustix::fs::statat(self.0.fd()?, name, AtFlags::SYMLINK_NOFOLLOW))?;
        Ok(FileType::from_raw_mode(stat.st_mode).into())
    }

    /// Removes a name that is no folder's.
    pub(crate) fn remove(&self, name: &OsStr, take_rights: bool) -> io::Result<()> {
        remove_as(self.0.fd()?, name, AtFlags::empty(), take_rights)
    }
}

fn remove_as(at: BorrowedFd<'_>, name: &OsStr, flags: AtFlags, take_rights: bool) -> io::Result<()> {
    let remove = || again(|| rustix::fs::unlinkat(at, name, flags));
    Ok(if take_rights { with_rights(at, remove) } else { remove() }?)
}

/// How one folder after the other is emptied.
impl Dir {
    /// Opens the folder `name` to list it and to remove what is in it. A link is no folder.
    pub(crate) fn enter(&self, name: &OsStr, how: Entering) -> io::Result<Listing> {
        match enter_as(self.as_fd(), &c_string(name)?, how) {
            // Some systems say ELOOP or EMLINK for a link that is not followed.
            Err(error) if is_of_link(&error) => Err(Errno::NOTDIR.into()),
            opened => Ok(Listing(rustix::fs::Dir::new(opened?)?)),
        }
    }

    /// The folder that this one is in now.
    pub(crate) fn above(&self) -> io::Result<Dir> {
        Ok(Dir(again(|| rustix::fs::openat(self, c"..", READABLE, Mode::empty()))?))
    }

    /// The names in a folder that was [entered](Dir::enter), from the first on.
    pub(crate) fn list(&self) -> io::Result<Listing> {
        let mut entries = rustix::fs::Dir::new(self.0.try_clone()?)?;
        entries.rewind();
        Ok(Listing(entries))
    }

    /// Removes a name that is no folder's.
    pub(crate) fn remove_file(&self, name: &OsStr, take_rights: bool) -> io::Result<()> {
        remove_as(self.as_fd(), name, AtFlags::empty(), take_rights)
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, name: &OsStr, take_rights: bool) -> io::Result<()> {
        remove_as(self.as_fd(), name, AtFlags::REMOVEDIR, take_rights)
    }
}

/// What a folder that stays gets back, if it was changed so that it could be emptied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights(Mode);

impl Dir {
    pub(crate) fn rights(&self) -> io::Result<Option<Rights>> {
        Ok(Some(Rights(Mode::from_raw_mode(rustix::fs::fstat(self)?.st_mode))))
    }

    /// Of the folder `name` in it.
    pub(crate) fn rights_of(&self, name: &OsStr) -> io::Result<Option<Rights>> {
        let stat = again(|| rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW))?;
        Ok(Some(Rights(Mode::from_raw_mode(stat.st_mode))))
    }

    pub(crate) fn give_back(&self, rights: Rights) -> io::Result<()> {
        if Mode::from_raw_mode(rustix::fs::fstat(self)?.st_mode) != rights.0 {
            again(|| rustix::fs::fchmod(self, rights.0))?;
        }
        Ok(())
    }
}

fn is_of_link(error: &io::Error) -> bool {
    [Errno::LOOP, Errno::MLINK].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// What `/proc` says. `None`: there is none. Any other failure, such as a want of handles, is no answer.
#[cfg(target_os = "linux")]
fn if_there<T>(asked: io::Result<T>) -> io::Result<Option<T>> {
    match asked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        asked => asked.map(Some),
    }
}

fn c_string(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// The kernel writes a space, tab, line feed and backslash as a backslash and three octal digits.
#[cfg(target_os = "linux")]
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let octal =
            behind.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|it| matches!(it, b'0'..=b'7')));
        match octal {
            Some(digits) => {
                plain.push(digits.iter().fold(0_u8, |byte, digit| byte.wrapping_mul(8) + (digit - b'0')));
                rest = &behind[3..];
            }
            None => {
                plain.push(first);
                rest = behind;
            }
        }
    }
    plain
}

/// Makes the call again with the rights that it needs, if this user may take them: a tree may have folders that forbid
/// changes even to their owner.
fn with_rights(folder: BorrowedFd<'_>, call: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    match call() {
        Err(Errno::ACCESS) if again(|| rustix::fs::fchmod(folder, Mode::RWXU)).is_ok() => call(),
        done => done,
    }
}

fn changed_since(at: BorrowedFd<'_>, name: &CStr, time: SystemTime) -> io::Result<bool> {
    let stat = again(|| rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW))?;
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if Stat::from(stat).changed >= time {
        return Ok(true);
    }
    if is_folder {
        let mut folder = rustix::fs::Dir::new(open_on_this_mount(at, name)?)?;
        while let Some(entry) = folder.read() {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." && changed_since(folder.fd()?, name, time)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Opens a folder to list it and to remove what is in it.
fn enter_as(at: BorrowedFd<'_>, name: &CStr, how: Entering) -> io::Result<OwnedFd> {
    let open = || match how.across_mounts {
        true => Ok(again(|| rustix::fs::openat(at, name, READABLE, Mode::empty()))?),
        false => open_on_this_mount(at, name),
    };
    match open() {
        Err(error)
            if how.take_rights
                && error.kind() == io::ErrorKind::PermissionDenied
                && allow_to_list(at, name).is_ok() =>
        {
            open()
        }
        opened => opened,
    }
}

/// Gives this user the rights to a folder of its own that cannot be listed.
#[cfg(target_os = "linux")]
fn allow_to_list(at: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = again(|| rustix::fs::openat(at, name, how, Mode::empty()))?;
    // The folder itself, whatever has its name by now.
    Ok(again(|| rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU))?)
}

#[cfg(not(target_os = "linux"))]
fn allow_to_list(at: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    Ok(again(|| rustix::fs::chmodat(at, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW))?)
}

fn mounted() -> io::Error {
    io::Error::new(io::ErrorKind::CrossesDevices, "something is mounted in it, which is not removed: unmount it first")
}

/// Opens a folder to be listed, unless something is mounted there.
fn open_on_this_mount(at: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let here = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        for _ in 0..64 {
            match again(|| rustix::fs::openat2(at, name, READABLE, Mode::empty(), here)) {
                Ok(folder) => return Ok(folder),
                Err(Errno::AGAIN) => {} // Something was renamed meanwhile: the kernel asks to try again.
                Err(Errno::XDEV) => return Err(mounted()),
                Err(Errno::NOSYS | Errno::PERM) => break, // A kernel before 5.6, or a sandbox.
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    let folder = again(|| rustix::fs::openat(at, name, READABLE, Mode::empty()))?;
    if mount_of(at)? == mount_of(folder.as_fd())? { Ok(folder) } else { Err(mounted()) }
}

/// The device of a folder; and on Linux the number of its mount, since a folder of one device may be mounted in
/// another. Without `/proc` there is no such number.
fn mount_of(folder: BorrowedFd<'_>) -> io::Result<(u64, Option<String>)> {
    let device: u64 = rustix::fs::fstat(folder)?.st_dev as _;
    #[cfg(target_os = "linux")]
    let mount = {
        use std::os::fd::AsRawFd;
        let info = if_there(std::fs::read_to_string(format!("/proc/self/fdinfo/{}", folder.as_raw_fd())))?;
        info.unwrap_or_default()
            .lines()
            .find_map(|line| line.strip_prefix("mnt_id:"))
            .map(|number| number.trim().to_owned())
    };
    #[cfg(not(target_os = "linux"))]
    let mount = None;
    Ok((device, mount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_change_anywhere_in_a_tree_tells() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("tree/a/b")).unwrap();
        std::fs::write(temp.path().join("tree/a/b/f"), "x").unwrap();
        let dir = Dir::open_root(temp.path()).unwrap();
        let at = dir.folder(std::path::Path::new("tree/a/b")).unwrap();
        let latest = at.stat(OsStr::new("f")).unwrap().changed;
        let since = |time| dir.tree_changed_since(OsStr::new("tree"), time).unwrap();
        assert!(since(latest));
        assert!(!since(latest + std::time::Duration::from_nanos(1)));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn names_in_the_list_of_mounts_are_read_as_they_are() {
        assert_eq!(unescaped(br"/a\040b\134c\x"), br"/a b\c\x");
    }

    /// Where the kernel cannot be asked to stay on the mount, its number tells: the device is the same.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_of_one_device_that_is_mounted_in_another_is_of_another_mount() {
        use std::process::Command;
        manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Root);
        let temp = tempfile::tempdir().unwrap();
        let paths = ["what", "at"].map(|name| temp.path().join(name));
        paths.iter().for_each(|path| std::fs::create_dir(path).unwrap());
        assert!(Command::new("mount").arg("--bind").args(&paths).status().unwrap().success());
        let dir = Dir::open_root(temp.path()).unwrap();
        let (here, there) = (mount_of(dir.as_fd()), mount_of(dir.child(OsStr::new("at")).unwrap().as_fd()));
        assert!(Command::new("umount").arg(&paths[1]).status().unwrap().success());
        let (here, there) = (here.unwrap(), there.unwrap());
        assert_eq!(here.0, there.0, "a device");
        assert_ne!(here.1, there.1);
    }

    #[test]
    fn the_folder_and_one_in_it_are_of_one_mount() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("in")).unwrap();
        let dir = Dir::open_root(temp.path()).unwrap();
        let inside = dir.child(OsStr::new("in")).unwrap();
        assert_eq!(mount_of(dir.as_fd()).unwrap(), mount_of(inside.as_fd()).unwrap());
    }
}
