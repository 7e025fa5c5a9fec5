//! Open files: write, set what they carry, close. Every error keeps its number.

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags, Timespec, Timestamps};

use super::Stat;
use super::dir::bits;

/// Permission bits, set-id and sticky bits included.
pub(crate) type Permissions = u32;

/// The handle of an open file.
pub(crate) type Handle = OwnedFd;

/// Opens a file to be copied from. A symbolic link is an error, a FIFO does not block.
pub(crate) fn open_source(path: &Path) -> io::Result<Handle> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

pub(crate) fn stat(file: &Handle) -> io::Result<Stat> {
    Ok(Stat::from(rustix::fs::fstat(file)?))
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
    Ok(rustix::io::retry_on_intr(|| rustix::io::read(file, &mut *buffer))?)
}

/// Whether `error` says that the bytes handed to [`write`] could not be read.
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EFAULT)
}

/// Whether `error` says that a handle was not opened for reading.
pub(crate) fn is_not_readable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBADF)
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
    rustix::fs::seek(file, rustix::fs::SeekFrom::Start(offset))?;
    Ok(())
}

pub(crate) fn set_len(file: &Handle, len: u64) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| rustix::fs::ftruncate(file, len))?)
}

pub(crate) fn set_modified(file: &Handle, modified: SystemTime) -> io::Result<()> {
    Ok(rustix::fs::futimens(file, &timestamps(modified))?)
}

pub(crate) fn set_permissions(file: &Handle, mode: Permissions) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, bits(mode))?)
}

pub(crate) fn set_owner(file: &Handle, (user, group): (u32, u32)) -> io::Result<()> {
    Ok(rustix::fs::fchown(file, Some(rustix::fs::Uid::from_raw(user)), Some(rustix::fs::Gid::from_raw(group)))?)
}

/// Makes `to` share the blocks of `from`. `Ok(false)` where the file system cannot, or these two files cannot.
#[cfg(target_os = "linux")]
pub(crate) fn clone_file(from: &Handle, to: &Handle) -> io::Result<bool> {
    use rustix::io::Errno;
    match rustix::fs::ioctl_ficlone(to, from) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY | Errno::NOSYS | Errno::PERM) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Sharing blocks with a file that is open already needs Linux; elsewhere bytes are copied.
#[cfg(not(target_os = "linux"))]
pub(crate) fn clone_file(_from: &Handle, _to: &Handle) -> io::Result<bool> {
    Ok(false)
}

/// Copies up to `len` bytes inside the kernel, from one position to the other. `Ok(None)` where it cannot: between file
/// systems of two kinds, on old kernels.
#[cfg(target_os = "linux")]
pub(crate) fn copy_in_kernel(from: &Handle, to: &Handle, len: usize) -> io::Result<Option<usize>> {
    use rustix::io::Errno;
    match rustix::io::retry_on_intr(|| rustix::fs::copy_file_range(from, None, to, None, len)) {
        Ok(copied) => Ok(Some(copied)),
        Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM | Errno::BADF) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn copy_in_kernel(_from: &Handle, _to: &Handle, _len: usize) -> io::Result<Option<usize>> {
    Ok(None)
}

/// The next stretch of data at or after `from` in a sparse file: where it begins and ends. `Ok(None)` if only a hole follows.
/// A file system that knows no holes says that all is data.
pub(crate) fn next_data(file: &Handle, from: u64, len: u64) -> io::Result<Option<(u64, u64)>> {
    use rustix::fs::SeekFrom;
    use rustix::io::Errno;
    let start = match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok((from < len).then_some((from, len))),
        Err(errno) => return Err(errno.into()),
    };
    let end = rustix::fs::seek(file, SeekFrom::Hole(start))?;
    rustix::fs::seek(file, SeekFrom::Start(start))?;
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
