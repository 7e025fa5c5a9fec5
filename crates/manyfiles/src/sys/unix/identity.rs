//! Which file it is, and what the system says of it.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use rustix::fs::{AtFlags, CWD};
use rustix::io::retry_on_intr as again;

use super::Handle;
use crate::sys::{EntryKind, Identity, Location, Stat};

impl From<rustix::fs::FileType> for EntryKind {
    fn from(kind: rustix::fs::FileType) -> EntryKind {
        use rustix::fs::FileType;
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Symlink,
            _ => EntryKind::Other,
        }
    }
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the fields' widths differ between systems")]
impl From<rustix::fs::Stat> for Stat {
    fn from(stat: rustix::fs::Stat) -> Stat {
        use rustix::fs::FileType;
        let len = u64::try_from(stat.st_size).unwrap_or(0);
        let allocated = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
        let block = u64::try_from(stat.st_blksize).unwrap_or(0).max(4096);
        Stat {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            identity: Identity { volume: stat.st_dev as u64, file: u128::from(stat.st_ino) },
            len,
            links: u64::from(stat.st_nlink),
            mode: u32::from(stat.st_mode) & 0o7777,
            owner: (stat.st_uid, stat.st_gid),
            modified: super::system_time(stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            changed: super::system_time(stat.st_ctime as i64, stat.st_ctime_nsec as u32),
            accessed: super::system_time(stat.st_atime as i64, stat.st_atime_nsec as u32),
            allocated,
            sparse: allocated < len,
            spare: len.checked_next_multiple_of(block).is_some_and(|whole| allocated > whole),
        }
    }
}

pub(crate) fn stat(file: &Handle) -> io::Result<Stat> {
    Ok(Stat::from(again(|| rustix::fs::fstat(file))?))
}

/// Which file it is.
pub(crate) fn identity_of(file: &std::fs::File) -> io::Result<crate::sys::Identity> {
    Ok(Stat::from(again(|| rustix::fs::fstat(file))?).identity)
}

/// Which file it is, and when it was made, where the file system knows that: the time tells a file from an earlier one
/// that had its number.
pub(crate) fn identity_and_birth(file: &std::fs::File) -> io::Result<(Identity, Option<std::time::SystemTime>)> {
    let metadata = file.metadata()?;
    let identity = Identity { volume: metadata.dev(), file: metadata.ino().into() };
    Ok((identity, metadata.created().ok()))
}

/// Of the file that the path leads to, through links.
pub(crate) fn id_of_path(path: &Path) -> io::Result<Identity> {
    let metadata = fs::metadata(path)?;
    Ok(Identity { volume: metadata.dev(), file: metadata.ino().into() })
}

/// How many names the file has that the path leads to, through links.
pub(crate) fn names_at(path: &Path) -> io::Result<u64> {
    Ok(fs::metadata(path)?.nlink())
}

/// Where an open file is, without its path.
pub(crate) fn location_without_path(file: impl AsFd) -> Option<Location> {
    match look(file.as_fd(), c"", true)? {
        (EntryKind::File, location) => Some(location),
        _ => None,
    }
}

/// Which file it is. `None` for what is no regular file.
pub(crate) fn regular_file(file: impl AsFd) -> Option<Identity> {
    location_without_path(file).map(|location| location.identity)
}

/// Which regular file `path` leads to, where that can be told without opening it.
pub(crate) fn file_at(path: &Path) -> Option<Identity> {
    match look_at(path, true)? {
        (EntryKind::File, location) => Some(location.identity),
        _ => None,
    }
}

/// What is at `path`, all but its path. Nothing is at an empty path.
pub(super) fn look_at(path: &Path, follow: bool) -> Option<(EntryKind, Location)> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    let path = std::ffi::CString::new(path).ok().filter(|path| !path.is_empty())?;
    look(CWD, &path, follow)
}

/// `AT_STATX_DONT_SYNC`: what the kernel knows by itself. NFS writes out a file's data before it answers anything else.
/// rustix names the flag for glibc alone.
#[cfg(target_os = "linux")]
pub(super) const DONT_SYNC: AtFlags = AtFlags::from_bits_retain(0x4000);

/// What is at `path` from `at` on, all but its path. An empty `path` asks about `at` itself.
#[cfg(target_os = "linux")]
fn look(at: BorrowedFd<'_>, path: &std::ffi::CStr, follow: bool) -> Option<(EntryKind, Location)> {
    use rustix::fs::{FileType, StatxFlags};
    let mut flags = DONT_SYNC;
    flags.set(AtFlags::EMPTY_PATH, path.is_empty());
    flags.set(AtFlags::SYMLINK_NOFOLLOW, !follow);
    let Ok(stat) = rustix::fs::statx(at, path, flags, StatxFlags::TYPE | StatxFlags::INO | StatxFlags::MNT_ID) else {
        return by_stat(at, path, follow);
    };
    let kind = FileType::from_raw_mode(stat.stx_mode.into()).into();
    let volume = rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor);
    // Linux before 5.8 does not say.
    let mount = if stat.stx_mask & StatxFlags::MNT_ID.bits() == 0 { 0 } else { stat.stx_mnt_id };
    Some((kind, Location { identity: Identity { volume, file: stat.stx_ino.into() }, mount, path: None }))
}

#[cfg(not(target_os = "linux"))]
fn look(at: BorrowedFd<'_>, path: &std::ffi::CStr, follow: bool) -> Option<(EntryKind, Location)> {
    by_stat(at, path, follow)
}

fn by_stat(at: BorrowedFd<'_>, path: &std::ffi::CStr, follow: bool) -> Option<(EntryKind, Location)> {
    let links = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    let stat = if path.is_empty() { rustix::fs::fstat(at) } else { rustix::fs::statat(at, path, links) };
    let stat = Stat::from(stat.ok()?);
    Some((stat.kind, Location { identity: stat.identity, mount: 0, path: None }))
}

/// How many names the open file has. 0: it was removed.
pub(crate) fn names_of(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.nlink())
}

/// Which file system a file is on: equal numbers, same file system.
pub(crate) fn file_system_of(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.dev())
}
