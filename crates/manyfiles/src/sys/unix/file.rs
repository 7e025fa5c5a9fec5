//! Open files: write, set what they carry, close. Every error keeps its number.

use std::io;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags, Timespec, Timestamps};
use rustix::io::retry_on_intr as again;

use super::Stat;
use super::dir::{bits, open_unless_it_blocks};

/// Permission bits, set-id and sticky bits included.
pub(crate) type Permissions = u32;

/// The handle of an open file.
pub(crate) type Handle = OwnedFd;

/// Opens a file to be copied from. A symbolic link is an error, a FIFO does not block.
pub(crate) fn open_source(path: &Path) -> io::Result<Handle> {
    let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(open_unless_it_blocks(|flags| rustix::fs::open(path, how | flags, Mode::empty()), || rustix::fs::lstat(path))?)
}

pub(crate) fn stat(file: &Handle) -> io::Result<Stat> {
    Ok(Stat::from(again(|| rustix::fs::fstat(file))?))
}

/// Which file it is.
pub(crate) fn identity_of(file: &std::fs::File) -> io::Result<super::Identity> {
    Ok(Stat::from(again(|| rustix::fs::fstat(file))?).identity)
}

/// One `write`. The bytes may belong to a mapping whose file is cut short meanwhile: then this is an error (`EFAULT`) and not
/// a signal, because the kernel does the reading. An interrupted call is made again.
pub(crate) fn write(file: &Handle, bytes: *const [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel checks the range; an address that cannot be read gives EFAULT.
        let written = unsafe { libc::write(file.as_raw_fd(), bytes.cast(), bytes.len()) };
        if let Ok(written) = usize::try_from(written) {
            return Ok(written);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// One `read`, made again if interrupted.
pub(crate) fn read(file: &Handle, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(again(|| rustix::io::read(file, &mut *buffer))?)
}

/// Whether `error` says that the bytes handed to [`write`] could not be read.
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EFAULT)
}

/// Whether `error` says that what has a name cannot be opened and written over, though it may be replaced: a symbolic link, a
/// program that runs, a file without permission to write.
pub(crate) fn is_not_writable_in_place(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ELOOP | libc::EMLINK | libc::ETXTBSY | libc::EACCES | libc::EPERM))
}

/// Whether `error` says that this process, or the system, has no room for another handle.
pub(crate) fn is_out_of_handles(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Moves the position of the next write, leaving a hole behind.
pub(crate) fn seek(file: &Handle, offset: u64) -> io::Result<()> {
    again(|| rustix::fs::seek(file, rustix::fs::SeekFrom::Start(offset)))?;
    Ok(())
}

pub(crate) fn set_len(file: &Handle, len: u64) -> io::Result<()> {
    Ok(again(|| rustix::fs::ftruncate(file, len))?)
}

pub(crate) fn set_modified(file: &Handle, modified: SystemTime) -> io::Result<()> {
    let times = timestamps(modified);
    Ok(again(|| rustix::fs::futimens(file, &times))?)
}

pub(crate) fn set_permissions(file: &Handle, mode: Permissions) -> io::Result<()> {
    Ok(again(|| rustix::fs::fchmod(file, bits(mode)))?)
}

/// Sets user and group. This takes set-id bits away.
pub(crate) fn set_owner(file: &Handle, (user, group): (u32, u32)) -> io::Result<()> {
    let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
    Ok(again(|| rustix::fs::fchown(file, Some(user), Some(group)))?)
}

/// Sets the group only, which a user may do with the groups of his own.
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

/// The error that a name is taken.
pub(crate) fn name_is_taken() -> io::Error {
    rustix::io::Errno::EXIST.into()
}

/// Whether `error` says that there is no room, or no more is allowed: nothing that another way of writing would change.
#[cfg(target_os = "linux")]
fn is_out_of_space(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG))
}

/// Makes `to` share the blocks of `from`. `Ok(false)` where the file system cannot, or these two files cannot; what else is
/// wrong with one of them shows when it is read and written.
#[cfg(target_os = "linux")]
pub(crate) fn clone_file(from: &Handle, to: &Handle) -> io::Result<bool> {
    match again(|| rustix::fs::ioctl_ficlone(to, from)).map_err(io::Error::from) {
        Ok(()) => Ok(true),
        Err(error) if is_out_of_space(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Sharing blocks with a file that is open already needs Linux; elsewhere bytes are copied.
#[cfg(not(target_os = "linux"))]
pub(crate) fn clone_file(_from: &Handle, _to: &Handle) -> io::Result<bool> {
    Ok(false)
}

/// Copies up to `len` bytes inside the kernel, from one position to the other. `Ok(None)` where it cannot: between file
/// systems of two kinds, on old kernels. An error does not say which of the two files it is about: only that there is no
/// room is told; for all else reading and writing will tell.
#[cfg(target_os = "linux")]
pub(crate) fn copy_in_kernel(from: impl AsFd, to: impl AsFd, len: usize) -> io::Result<Option<usize>> {
    match again(|| rustix::fs::copy_file_range(&from, None, &to, None, len)).map_err(io::Error::from) {
        Ok(copied) => Ok(Some(copied)),
        Err(error) if is_out_of_space(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The same between file systems of two kinds.
#[cfg(target_os = "linux")]
pub(crate) fn send_in_kernel(from: impl AsFd, to: impl AsFd, len: usize) -> io::Result<Option<usize>> {
    match again(|| rustix::fs::sendfile(&to, &from, None, len)).map_err(io::Error::from) {
        Ok(copied) => Ok(Some(copied)),
        Err(error) if is_out_of_space(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn copy_in_kernel(_from: impl AsFd, _to: impl AsFd, _len: usize) -> io::Result<Option<usize>> {
    Ok(None)
}

/// The next stretch of data at or after `from` in a sparse file: where it begins and ends. `Ok(None)` if only a hole follows.
/// A file system that knows no holes says that all is data.
pub(crate) fn next_data(file: &Handle, from: u64, len: u64) -> io::Result<Option<(u64, u64)>> {
    use rustix::fs::SeekFrom;
    use rustix::io::Errno;
    let start = match again(|| rustix::fs::seek(file, SeekFrom::Data(from))) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::SPIPE) => return Ok((from < len).then_some((from, len))),
        Err(errno) => return Err(errno.into()),
    };
    let end = again(|| rustix::fs::seek(file, SeekFrom::Hole(start)))?;
    again(|| rustix::fs::seek(file, SeekFrom::Start(start)))?;
    Ok(Some((start, end)))
}

/// Closes, and says what the system said. Never made again, not even when interrupted: on Linux the descriptor is gone by then.
pub(crate) fn close(file: Handle) -> io::Result<()> {
    // SAFETY: `into_raw_fd` gave up ownership, so this is the one close of that descriptor.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The modification time, and an access time that stays as it is.
pub(super) fn timestamps(modified: SystemTime) -> Timestamps {
    let (seconds, nanoseconds) = match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, |seconds| -seconds);
            match before.subsec_nanos() {
                0 => (seconds, 0),
                nanoseconds => (seconds.saturating_sub(1), 1_000_000_000 - nanoseconds),
            }
        }
    };
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT as _ },
        last_modification: Timespec { tv_sec: seconds as _, tv_nsec: nanoseconds as _ },
    }
}

pub(super) fn system_time(seconds: i64, nanoseconds: u32) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let base = if seconds >= 0 { UNIX_EPOCH.checked_add(whole) } else { UNIX_EPOCH.checked_sub(whole) };
    base.and_then(|base| base.checked_add(Duration::from_nanos(nanoseconds.into()))).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_round_towards_the_past_as_the_system_counts_them() {
        for (seconds, nanoseconds) in [(0, 0), (1, 5), (-1, 0), (-1, 999_999_999), (-86_400, 1)] {
            let stamps = timestamps(system_time(seconds, nanoseconds));
            assert_eq!(i128::from(stamps.last_modification.tv_sec), i128::from(seconds));
            assert_eq!(i128::from(stamps.last_modification.tv_nsec), i128::from(nanoseconds));
        }
    }
}
