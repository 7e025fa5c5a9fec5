//! Names are moved.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::{Errno, retry_on_intr as again};

use super::Dir;

/// Gives a file another name; `AlreadyExists` if anything has that.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // A file system or a kernel without it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            other => return Ok(other?),
        }
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system that has neither: nothing there tells two at the same moment apart.
        Err(_) => match std::fs::symlink_metadata(to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::rename(from, to),
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        },
    }
}

impl Dir {
    /// Whether the folder holds names as one that differ in case, or may: a FUSE file system doesn't say.
    #[cfg(target_os = "linux")]
    pub(crate) fn folds(&self) -> bool {
        use rustix::fs::{IFlags, Mode, OFlags, ioctl_getflags, openat};

        use super::magic::{self, BCACHEFS, EXFAT, EXT, F2FS, FAT, FUSE, HFS, HFS_PLUS, NTFS, SMB, TMPFS};
        const ALWAYS: [u32; 10] = [FAT, EXFAT, NTFS[0], NTFS[1], SMB[0], SMB[1], SMB[2], HFS, HFS_PLUS, FUSE];
        // Those where a folder may be made to.
        const MAY: [u32; 4] = [EXT, F2FS, TMPFS, BCACHEFS];
        /// `FS_CASEFOLD_FL`.
        const CASEFOLD: u32 = 0x4000_0000;
        let Some(kind) = magic::of(self.as_fd()) else { return false };
        if !MAY.contains(&kind) {
            return ALWAYS.contains(&kind);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(folder) = openat(self.as_fd(), c".", flags, Mode::empty()) else { return false };
        ioctl_getflags(folder).is_ok_and(|flags| flags.intersects(IFlags::from_bits_retain(CASEFOLD)))
    }

    /// Apple's file systems fold unless they were made not to.
    #[cfg(target_vendor = "apple")]
    pub(crate) fn folds(&self) -> bool {
        use std::os::fd::AsRawFd;
        // SAFETY: it takes numbers only, and the descriptor is open as long as `self` is.
        unsafe { libc::fpathconf(self.as_fd().as_raw_fd(), libc::_PC_CASE_SENSITIVE) != 1 }
    }

    /// Other systems' file systems do not.
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    pub(crate) fn folds(&self) -> bool {
        false
    }

    /// Renames within this folder; `AlreadyExists` if anything has the new name.
    pub(crate) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match self.rename_without_replacing(from, self, to)? {
            true => Ok(()),
            false => {
                self.hard_link(self, from, to)?;
                self.remove(from)
            }
        }
    }

    /// Renames into another folder; `AlreadyExists` if anything has the new name.
    pub(crate) fn move_to(&self, from: &OsStr, folder: &Dir, to: &OsStr) -> io::Result<()> {
        if self.rename_without_replacing(from, folder, to)? {
            return Ok(());
        }
        // Nothing there tells two at the same moment apart.
        match folder.stat(to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(again(|| rustix::fs::renameat(self.as_fd(), from, folder.as_fd(), to))?)
            }
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// False: the file system or the kernel has no such call.
    fn rename_without_replacing(&self, from: &OsStr, folder: &Dir, to: &OsStr) -> io::Result<bool> {
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            match renameat_with(self.as_fd(), from, folder.as_fd(), to, RenameFlags::NOREPLACE) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                other => return Ok(other.map(|()| true)?),
            }
        }
        let _none = (from, folder, to);
        Ok(false)
    }

    /// Exchanges what two names in this folder stand for, at one moment. `Ok(false)`, and nothing happens, where the
    /// system cannot.
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    pub(crate) fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<bool> {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(self.as_fd(), one, self.as_fd(), other, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Needs Linux or macOS.
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    pub(crate) fn exchange(&self, _one: &OsStr, _other: &OsStr) -> io::Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_not_given_again() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_root(temp.path()).unwrap();
        let name = OsStr::new;
        std::fs::write(temp.path().join("a"), "a").unwrap();
        std::fs::write(temp.path().join("b"), "b").unwrap();
        let taken = dir.rename_new(name("a"), name("b")).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        dir.rename_new(name("a"), name("c")).unwrap();
        assert_eq!(std::fs::read(temp.path().join("c")).unwrap(), b"a");
        assert!(!temp.path().join("a").exists());
    }
}
