//! [`Place`]: where something is, and on which file system.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Stat, fstat, statat};
use rustix::io::retry_on_intr as again;

use super::open_folder;
use crate::sys::FileId;

/// What is to be moved: a name in a folder.
pub(super) struct Place {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
    /// Its path without links, but for the last name.
    pub(super) path: PathBuf,
    pub(super) id: FileId,
    is_folder: bool,
    /// Where its folder is mounted.
    pub(super) mount: Mount,
}

/// A file system as it is mounted at one place: within it things can be renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    device: u64,
    /// One device may be mounted at two places. Not known before Linux 5.8, nor elsewhere.
    number: Option<u64>,
}

impl Place {
    pub(super) fn of(path: &Path) -> io::Result<Place> {
        let (Some(name), Some(above)) = (path.file_name(), path.parent()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no name of its own"));
        };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        let real = fs::canonicalize(above)?;
        let folder = open_folder(&real)?;
        let stat = again(|| statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW))?;
        let mount = mount_of(&folder)?;
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Ok(Place { name: name.to_owned(), path: real.join(name), id: id(&stat), is_folder, mount, folder })
    }

    /// The highest folder above it on the same file system.
    pub(super) fn top(&self) -> io::Result<PathBuf> {
        let mut top = self.path.parent().unwrap_or(Path::new("/"));
        while let Some(above) = top.parent() {
            // What cannot be asked ends it: a trash there could not be reached either.
            match open_folder(above).and_then(mount_of) {
                Ok(mount) if mount == self.mount => top = above,
                _ => break,
            }
        }
        Ok(top.to_owned())
    }

    /// What is mounted would be moved with the folder that it is mounted in, and stay mounted.
    pub(super) fn check_no_mounts(&self) -> io::Result<()> {
        // On anything but a folder it is the rename that fails.
        match self.is_folder.then(|| self.mounted()).transpose()?.flatten() {
            Some(at) if at == self.path => {
                Err(io::Error::new(io::ErrorKind::ResourceBusy, "something is mounted there"))
            }
            Some(at) => {
                let why = format!("something is mounted in it, at {}: unmount that first", at.display());
                Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
            }
            None => Ok(()),
        }
    }

    #[cfg(target_os = "linux")]
    fn mounted(&self) -> io::Result<Option<PathBuf>> {
        use std::os::unix::ffi::OsStrExt;
        let mounts = fs::read("/proc/self/mountinfo").map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("what is mounted in it cannot be found out: /proc/self/mountinfo: {error}"),
            )
        })?;
        Ok(mounts.split(|&byte| byte == b'\n').find_map(|line| {
            let path = unescaped(line.split(|&byte| byte == b' ').nth(4)?);
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(&path));
            path.starts_with(&self.path).then_some(path)
        }))
    }

    /// There is no list of mounts that every system has: the devices of its folders tell.
    #[cfg(not(target_os = "linux"))]
    fn mounted(&self) -> io::Result<Option<PathBuf>> {
        use std::os::unix::fs::MetadataExt;
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            if fs::symlink_metadata(&folder)?.dev() != self.mount.device {
                return Ok(Some(folder));
            }
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        Ok(None)
    }
}

pub(super) fn id(stat: &Stat) -> FileId {
    (stat.st_dev as _, stat.st_ino as _)
}

pub(super) fn mount_of(folder: impl AsFd) -> io::Result<Mount> {
    let device = again(|| fstat(&folder))?.st_dev as _;
    Ok(Mount { device, number: number_of(folder) })
}

#[cfg(target_os = "linux")]
fn number_of(folder: impl AsFd) -> Option<u64> {
    use rustix::fs::{StatxFlags, statx};
    let stat = statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id)
}

#[cfg(not(target_os = "linux"))]
fn number_of(_folder: impl AsFd) -> Option<u64> {
    None
}

/// Which folder a path leads to, and those above that. Nothing there: none.
pub(super) fn ids_of_it_and_above(path: &Path) -> Vec<FileId> {
    let Ok(real) = fs::canonicalize(path) else { return Vec::new() };
    real.ancestors()
        .filter_map(|folder| again(|| statat(CWD, folder, AtFlags::empty())).ok())
        .map(|it| id(&it))
        .collect()
}

/// The kernel writes a space, tab, line feed and backslash as a backslash and three octal digits.
#[cfg(target_os = "linux")]
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let octal =
            behind.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|it| matches!(it, b'0'..=b'7')));
        plain.push(match octal {
            Some(digits) => digits.iter().fold(0_u8, |byte, digit| byte.wrapping_mul(8) + (digit - b'0')),
            None => first,
        });
        rest = if octal.is_some() { &behind[3..] } else { behind };
    }
    plain
}
