use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, OFlags, SeekFrom, seek};
use rustix::io::Errno;

use super::Left;

/// Makes a path of an archive's bytes. False if the bytes cannot be taken as they are; on Unix they always can.
pub(crate) const fn make_representable(_bytes: &mut Vec<u8>) -> bool {
    true
}

/// The path with these bytes.
pub(crate) fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Whether a name can only be Unicode.
pub(crate) const NAMES_ARE_UNICODE: bool = false;

/// The mode of a file with DOS's read-only bit. Here the bit gives no mode: it says nothing about other users, and a
/// mode made from it would give them rights that the umask takes away.
pub(crate) const READ_ONLY: Option<u32> = None;

pub(crate) fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    file.read_at(buffer, position)
}

pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<()> {
    file.read_exact_at(buffer, position)
}

/// Has a file's bytes read by the system and thrown away, without a copy: 3.5 times as fast as reading them
/// (docs/measurements.md, "Testing a tar").
#[derive(Default)]
pub(crate) struct Fetcher {
    /// `/dev/null`.
    #[cfg(target_os = "linux")]
    null: Option<File>,
}

impl Fetcher {
    /// How many bytes were read. After 0, reading says why.
    #[cfg(target_os = "linux")]
    pub(crate) fn fetch(&mut self, file: &File, position: u64, len: u64) -> u64 {
        let null = match &self.null {
            Some(null) => null,
            None => match File::options().write(true).open("/dev/null") {
                Ok(null) => self.null.insert(null),
                Err(_) => return 0,
            },
        };
        let mut position = position;
        rustix::fs::sendfile(null, file, Some(&mut position), len as usize).map_or(0, |fetched| fetched as u64)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn fetch(&mut self, _file: &File, _position: u64, _len: u64) -> u64 {
        0
    }
}

/// The permissions of a file.
pub(crate) fn mode_of(metadata: &Metadata) -> Option<u32> {
    Some(metadata.mode() & 0o777)
}

/// The bytes of a path, as archives have them.
pub(crate) fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    Some(path.as_os_str().as_bytes().to_vec())
}

/// Opens a file to be read, but follows no link, and does not wait for the writer of a FIFO that has its name by now.
pub(crate) fn open_source(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Keeps a file that was just made from [`remove_left`], by a lock of a handle of its own. `None`: another run has taken
/// it for one that was left. `Some(None)`: the file system has no locks.
pub(crate) fn hold(file: &File, path: &Path) -> io::Result<Option<Option<File>>> {
    let hold = match open_source(path) {
        Ok(hold) => hold,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) => return Ok(Some(None)),
    };
    match hold.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(_)) => Ok(Some(None)),
        Ok(()) => Ok(is_at(file, path)?.then_some(Some(hold))),
    }
}

/// Removes a file that is [held](hold). It is held until it is gone.
pub(crate) fn remove_held(_hold: &mut Option<File>, path: &Path) {
    drop(fs::remove_file(path));
}

/// Removes a file of this user's that nobody [holds](hold).
pub(crate) fn remove_left(path: &Path) -> io::Result<Left> {
    let left = match open_source(path) {
        Ok(left) => left,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Left::Gone),
        Err(_) => return Ok(Left::NotOurs),
    };
    match left.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Left::Held),
        Err(TryLockError::Error(cause)) => return Ok(Left::Unknown(cause)),
    }
    // Who holds the lock of the file that has the name may remove it. A file that has got the name meanwhile is
    // another run's.
    if is_at(&left, path)? {
        match fs::remove_file(path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            _ => {}
        }
    }
    Ok(Left::Gone)
}

/// Whether the path leads to this file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(is_same_file(&file.metadata()?, &there)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// When anything of the file was last changed. Unlike the time of its content, no program can set it.
pub(crate) fn changed(metadata: &Metadata) -> Option<(i64, i64)> {
    Some((metadata.ctime(), metadata.ctime_nsec()))
}

/// Whether `error` says that this process, or the system, has no room for another handle.
pub(crate) fn is_out_of_handles(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// Whether this process can open so many files more.
pub(crate) fn has_handles(number: usize) -> bool {
    let mut open = Vec::with_capacity(number);
    while open.len() < number {
        match open.first().map_or_else(|| File::open("/"), File::try_clone) {
            Ok(file) => open.push(file),
            Err(error) => return !is_out_of_handles(&error),
        }
    }
    true
}

/// Whether the file takes less room than its length.
pub(crate) fn may_have_holes(metadata: &Metadata) -> bool {
    metadata.blocks().saturating_mul(512) < metadata.len()
}

/// Offset and length of each piece of a file that is no hole, in order. `None`: the file system does not say.
pub(crate) fn data_of(file: &File, len: u64) -> Option<Vec<(u64, u64)>> {
    let mut data = Vec::new();
    let mut at = 0;
    while at < len {
        let start = match seek(file, SeekFrom::Data(at)) {
            Ok(start) if start < len => start,
            Ok(_) | Err(Errno::NXIO) => break, // only a hole is left
            Err(_) => return None,
        };
        let end = seek(file, SeekFrom::Hole(start)).ok()?.min(len);
        if end <= start {
            return None;
        }
        data.push((start, end - start));
        at = end;
    }
    Some(data)
}

/// Whether the file belongs to this process's user, and has no other name but perhaps that of the archive.
pub(crate) fn is_own(metadata: &Metadata, archive: Option<&Metadata>) -> bool {
    let names = 1 + u64::from(archive.is_some_and(|archive| is_same_file(metadata, archive)));
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.nlink() == names
}

/// To make a file that no more users may read and write than the one that it will replace.
pub(crate) fn create_like(replaced: Option<&Metadata>) -> OpenOptions {
    let mut options = File::options();
    options.mode(replaced.map_or(0o666, |replaced| 0o600 | replaced.mode() & 0o066));
    options
}

/// Renames a file. Fails if something has the new name.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    return Ok(rustix::fs::renameat_with(CWD, from, CWD, to, rustix::fs::RenameFlags::NOREPLACE)?);
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    return Err(io::ErrorKind::Unsupported.into());
}

pub(crate) fn is_fifo(metadata: &Metadata) -> bool {
    metadata.file_type().is_fifo()
}

/// Opens a FIFO to be written. `None`: nobody reads it yet.
pub(crate) fn open_fifo(path: &Path) -> io::Result<Option<File>> {
    match File::options().write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Writes as much as a FIFO of [`open_fifo`] has room for within this time.
pub(crate) fn write_within(mut file: &File, time: Duration, bytes: &[u8]) -> io::Result<usize> {
    match file.write(bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let time = Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ };
            match poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&time)) {
                Ok(_) | Err(Errno::INTR) => Ok(0),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        written => written,
    }
}

/// The number of the user of this name.
pub(crate) fn user_id(name: &str) -> Option<u32> {
    Some(nix::unistd::User::from_name(name).ok()??.uid.as_raw())
}

/// The number of the group of this name.
pub(crate) fn group_id(name: &str) -> Option<u32> {
    Some(nix::unistd::Group::from_name(name).ok()??.gid.as_raw())
}

/// The name of the user of this number.
pub(crate) fn user_name(id: u32) -> Option<String> {
    Some(nix::unistd::User::from_uid(id.into()).ok()??.name)
}

/// The name of the group of this number.
pub(crate) fn group_name(id: u32) -> Option<String> {
    Some(nix::unistd::Group::from_gid(id.into()).ok()??.name)
}
