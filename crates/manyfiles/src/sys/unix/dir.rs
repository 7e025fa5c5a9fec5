//! Folders as handles, and what is done to names in them. Nothing here follows a symbolic link.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr as again};

use super::{Permissions, bits, open_unless_it_blocks, timestamps};
use crate::sys::Stat;

/// An open folder. A signal that interrupts one of its calls is no error: the call is made again.
#[derive(Debug)]
pub(crate) struct Dir(pub(super) OwnedFd);

/// A handle that names can be looked up in is all that is needed, and costs less than one that can be read.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Dir {
    /// Opens the folder at `path`, whatever links lead there: it is the caller's choice of a root.
    pub(crate) fn open_root(path: &Path) -> io::Result<Dir> {
        Ok(Dir(again(|| rustix::fs::open(path, FOLDER, Mode::empty()))?))
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
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        // EAGAIN: a folder was renamed meanwhile, so that "beneath" could not be proven; the kernel asks to try again.
        for _ in 0..64 {
            return match again(|| rustix::fs::openat2(&self.0, path, FOLDER, Mode::empty(), beneath)) {
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
                return Err(Errno::XDEV.into());
            };
            at = Some(at.as_ref().unwrap_or(self).child(name)?);
        }
        at.map_or_else(|| self.try_clone(), Ok)
    }

    /// Opens the folder `name` in this one. A symbolic link gives the error that a file would (`ENOTDIR`).
    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Dir> {
        match again(|| rustix::fs::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())) {
            Ok(fd) => Ok(Dir(fd)),
            // Some systems say ELOOP or EMLINK for a link that is not followed.
            Err(Errno::LOOP | Errno::MLINK) => Err(Errno::NOTDIR.into()),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(crate) fn make_folder(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(again(|| rustix::fs::mkdirat(&self.0, name, bits(mode)))?)
    }

    /// Creates `name` for writing; `AlreadyExists` if anything at all has that name.
    pub(crate) fn create_new(&self, name: &OsStr, mode: u32) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(again(|| rustix::fs::openat(&self.0, name, flags, bits(mode)))?)
    }

    /// Opens the file of that name for writing, as it is. The caller has looked: it was a regular file a moment ago.
    pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<OwnedFd> {
        match self.open_file(name, OFlags::RDWR) {
            // A file that may be written and not read.
            Err(Errno::ACCESS) => Ok(self.open_file(name, OFlags::WRONLY)?),
            other => Ok(other?),
        }
    }

    /// The same for reading.
    pub(crate) fn open_to_read(&self, name: &OsStr) -> io::Result<OwnedFd> {
        Ok(self.open_file(name, OFlags::RDONLY)?)
    }

    fn open_file(&self, name: &OsStr, access: OFlags) -> Result<OwnedFd, Errno> {
        let how = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        open_unless_it_blocks(
            |flags| rustix::fs::openat(&self.0, name, how | flags, Mode::empty()),
            || rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW),
        )
    }

    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(Stat::from(again(|| rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW))?))
    }

    /// Of the folder itself.
    pub(crate) fn identity(&self) -> io::Result<crate::sys::Identity> {
        Ok(Stat::from(rustix::fs::fstat(&self.0)?).identity)
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(again(|| rustix::fs::unlinkat(&self.0, name, AtFlags::empty()))?)
    }

    /// Renames within this folder; what had the new name is replaced.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(again(|| rustix::fs::renameat(&self.0, from, &self.0, to))?)
    }

    /// Up to `most` of the names in it, in no order; without `.` and `..`.
    pub(crate) fn names(&self, most: usize) -> io::Result<Vec<std::ffi::OsString>> {
        use std::os::unix::ffi::OsStrExt;
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = again(|| rustix::fs::openat(&self.0, c".", how, Mode::empty()))?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(folder)? {
            let entry = entry?;
            match entry.file_name().to_bytes() {
                b"." | b".." => {}
                _ if names.len() == most => break,
                name => names.push(OsStr::from_bytes(name).to_owned()),
            }
        }
        Ok(names)
    }

    /// Whether files that are made in it get permissions that an access control list of the folder decides about, in
    /// place of the umask. Where that cannot be found out, they may.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_default_permissions(&self) -> bool {
        use std::os::fd::AsRawFd;
        const NAME: &std::ffi::CStr = c"system.posix_acl_default";
        // Too small for any list, which is an error of its own: that there is one is all that is asked.
        let mut list = [0_u8; 1];
        // A handle that only looks names up cannot be asked itself, but by its name.
        let path = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        let by_name = again(|| rustix::fs::getxattr(&*path, NAME, &mut list));
        let found = by_name.or_else(|error| match error {
            Errno::NOENT | Errno::NOTDIR | Errno::ACCESS => {
                let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let folder = again(|| rustix::fs::openat(&self.0, c".", how, Mode::empty()))?;
                again(|| rustix::fs::fgetxattr(&folder, NAME, &mut list))
            }
            error => Err(error),
        });
        !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
    }

    /// Other systems have no such lists, or they leave the permission bits alone.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn has_default_permissions(&self) -> bool {
        false
    }

    /// Whether only this process's user and root may change names in the folder, on a file system that enforces that
    /// itself: no server decides, and no program.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_private(&self) -> bool {
        use super::magic::{self, BTRFS, EXT, F2FS, TMPFS, XFS};
        const LOCAL: [u32; 5] = [EXT, XFS, BTRFS, F2FS, TMPFS];
        let (Some(kind), Ok(folder)) = (magic::of(&self.0), rustix::fs::fstat(&self.0)) else { return false };
        // An access control list never gives more than the group's bits say.
        LOCAL.contains(&kind)
            && folder.st_mode & 0o022 == 0
            && (folder.st_uid == 0 || folder.st_uid == super::own_user())
    }

    /// Not asked: nothing depends on it but one call.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn is_private(&self) -> bool {
        false
    }

    /// `None` stays as it is.
    pub(crate) fn set_times(
        &self,
        name: &OsStr,
        modified: Option<SystemTime>,
        accessed: Option<SystemTime>,
    ) -> io::Result<()> {
        if modified.is_none() && accessed.is_none() {
            return Ok(());
        }
        let times = timestamps(modified, accessed);
        Ok(again(|| rustix::fs::utimensat(&self.0, name, &times, AtFlags::SYMLINK_NOFOLLOW))?)
    }

    /// Sets the owner of the folder `name`, through a handle: whatever else took its place is left alone.
    /// Without a user, its group alone.
    pub(crate) fn set_owner(&self, name: &OsStr, user: Option<u32>, group: u32) -> io::Result<()> {
        let (user, group) = (user.map(rustix::fs::Uid::from_raw), Some(rustix::fs::Gid::from_raw(group)));
        let folder = again(|| rustix::fs::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()))?;
        #[cfg(target_os = "linux")]
        return Ok(again(|| rustix::fs::chownat(&folder, c"", user, group, AtFlags::EMPTY_PATH))?);
        #[cfg(not(target_os = "linux"))]
        Ok(again(|| rustix::fs::fchown(&folder, user, group))?)
    }

    /// Sets the permissions of the folder `name`, or of this one if the name is empty, through a handle of its own: a
    /// symbolic link that took its place is not followed.
    pub(crate) fn set_folder_permissions(&self, name: &OsStr, mode: Permissions) -> io::Result<()> {
        let name = if name.is_empty() { OsStr::new(".") } else { name };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = again(|| rustix::fs::openat(&self.0, name, flags, Mode::empty()))?;
        Ok(again(|| rustix::fs::fchmod(&folder, bits(mode)))?)
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

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
        std::fs::write(temp.path().join("real/file"), "kept").unwrap();
        symlink("real/file", temp.path().join("link to a file")).unwrap();
        let root = Dir::open_root(temp.path()).unwrap();
        assert!(root.folder(Path::new("real/sub")).is_ok());
        assert!(root.folder(Path::new("link/sub")).is_err());
        assert!(root.folder(Path::new("link")).is_err());
        assert_eq!(root.child(OsStr::new("link")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        // A link that took the name of a file after that was looked at.
        let link = OsStr::new("link to a file");
        assert!(root.open_to_write(link).is_err() && root.open_to_read(link).is_err());
    }
}
