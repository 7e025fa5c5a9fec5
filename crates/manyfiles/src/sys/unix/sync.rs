//! Bytes at a place of their own in a file, and on the disk.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::io::Errno;

/// One write at `offset` that leaves the file's own position alone. An interrupted call is made again: it wrote nothing.
///
/// Linux appends whatever the offset if the file was opened to append.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.write_at(bytes, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => return other,
        }
    }
}

/// How many buffers one [`write_vectored`] takes: `IOV_MAX` of Linux and macOS.
pub(crate) const MOST_BUFFERS: usize = 1024;

/// One write of several buffers at the file's own position. No more than [`MOST_BUFFERS`] of them are looked at.
pub(crate) fn write_vectored(file: &File, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
    let buffers = &buffers[..buffers.len().min(MOST_BUFFERS)];
    Ok(rustix::io::retry_on_intr(|| rustix::io::writev(file, buffers))?)
}

/// One write of several buffers at `offset`. No more than [`MOST_BUFFERS`] of them are looked at.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn write_vectored_at(file: &File, buffers: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    let buffers = &buffers[..buffers.len().min(MOST_BUFFERS)];
    Ok(rustix::io::retry_on_intr(|| rustix::io::pwritev(file, buffers, offset))?)
}

/// macOS has `pwritev` since version 11 only. The first buffer that is not empty, then: callers go on after a short write.
#[cfg(target_vendor = "apple")]
pub(crate) fn write_vectored_at(file: &File, buffers: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    let first = buffers.iter().find(|buffer| !buffer.is_empty());
    first.map_or(Ok(0), |first| write_at(file, first, offset))
}

/// Makes bytes, and what is needed to read them back, durable. Not made again when it fails, not even when interrupted: what
/// the first call had learned of lost bytes, a second would not be told.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn sync_data(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::fdatasync(file)?)
}

/// On macOS `fsync` leaves the bytes in the drive's cache, so both are the same.
#[cfg(target_vendor = "apple")]
pub(crate) fn sync_data(file: impl AsFd) -> io::Result<()> {
    sync_all(file)
}

/// [`sync_data`], with times and permissions.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn sync_all(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::fsync(file)?)
}

/// `F_FULLFSYNC`, which empties the drive's cache. A file system that does not know it (SMB) gets an `fsync`.
#[cfg(target_vendor = "apple")]
pub(crate) fn sync_all(file: impl AsFd) -> io::Result<()> {
    match rustix::fs::fcntl_fullfsync(&file) {
        Err(Errno::NOTSUP | Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => Ok(rustix::fs::fsync(file)?),
        other => Ok(other?),
    }
}

/// Makes the names in a folder durable. A file system that has no such call for folders is left to its own ways.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    sync_open_folder(&folder)
}

/// [`sync_folder`] for one that is open to be read.
pub(crate) fn sync_open_folder(folder: impl AsFd) -> io::Result<()> {
    match sync_all(folder) {
        // Some network and shared folders: PostgreSQL passes over the same two.
        Err(error) if [libc::EINVAL, libc::EBADF].map(Some).contains(&error.raw_os_error()) => Ok(()),
        other => other,
    }
}

/// The path that the open file has now, as the kernel knows it. `None` where the kernel does not say.
#[cfg(target_os = "linux")]
pub(crate) fn path_of(file: &File) -> Option<std::path::PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok() // no /proc
}

/// As above: `F_GETPATH`.
#[cfg(target_vendor = "apple")]
pub(crate) fn path_of(file: &File) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file).ok()?; // a file that has no name any more
    Some(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

/// Elsewhere nobody can be asked.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn path_of(_file: &File) -> Option<std::path::PathBuf> {
    None
}

/// How many names the open file has. 0: it was removed.
pub(crate) fn names_of(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.nlink())
}

/// Lets the page cache forget what it has of a file from about `offset` on, but for what is still to be written: what is read then
/// comes from the disk. A hint, which nothing has to follow.
#[cfg(target_os = "linux")]
pub(crate) fn forget_cached(file: &File, offset: u64) {
    // Only whole folios are let go, and none is larger than this.
    const LARGEST_FOLIO: u64 = 2 << 20;
    let from = offset - offset % LARGEST_FOLIO;
    // What is no file with a cache says so, and needs none of this.
    rustix::fs::fadvise(file, from, None, rustix::fs::Advice::DontNeed).unwrap_or(());
}

/// Needs Linux, whose file systems are what needs it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn forget_cached(_file: &File, _offset: u64) {}

/// Whether the handle was opened to append: the system then puts each write at the end, whatever offset is given.
pub(crate) fn appends(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(file)?.contains(rustix::fs::OFlags::APPEND))
}

/// Reads at `offset` and leaves the file's own position alone.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}

/// Makes everything in the file system durable that was written before the call, by anybody.
///
/// `file` must be open since before those writes: a failed write-out that another program has been told of is reported to
/// descriptors that were open then.
#[cfg(target_os = "linux")]
pub(crate) fn sync_file_system(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn sync_file_system(_file: impl AsFd) -> io::Result<()> {
    Err(Errno::NOSYS.into())
}

/// Whether [`sync_file_system`] makes this file durable and tells of bytes that were lost.
///
/// Linux tells since 5.8; before, it answered that all was well. Network and FUSE file systems need not sync at all.
#[cfg(target_os = "linux")]
pub(crate) fn can_sync_file_system(file: impl AsFd) -> bool {
    use super::magic::{self, BTRFS, EXT, F2FS, TMPFS, XFS};
    const DURABLE: [u32; 5] = [EXT, XFS, BTRFS, F2FS, TMPFS];
    magic::of(file).is_some_and(|kind| DURABLE.contains(&kind)) && syncfs_tells_errors()
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn can_sync_file_system(_file: impl AsFd) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn syncfs_tells_errors() -> bool {
    static TELLS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *TELLS.get_or_init(|| is_at_least(&rustix::system::uname().release().to_string_lossy(), (5, 8)))
}

#[cfg(target_os = "linux")]
fn is_at_least(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    numbers.next().zip(numbers.next()).is_some_and(|release| release >= version)
}

/// Which file system a file is on: equal numbers, same file system.
pub(crate) fn file_system_of(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.dev())
}

/// About how many bytes wait to be written to the file system, everybody's. ext4 says so; elsewhere it is what waits for all
/// file systems together. 0 where nothing is said: it is for guesses only.
#[cfg(target_os = "linux")]
pub(crate) fn unwritten(file: &File) -> u64 {
    of_ext4(file).or_else(of_all).unwrap_or(0)
}

#[cfg(target_os = "linux")]
fn of_ext4(file: &File) -> Option<u64> {
    let metadata = file.metadata().ok()?; // a guess less
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?; // not a disk
    let says = Path::new("/sys/fs/ext4").join(device.file_name()?).join("delayed_allocation_blocks");
    let blocks: u64 = std::fs::read_to_string(says).ok()?.trim().parse().ok()?; // not ext4
    Some(blocks.saturating_mul(metadata.blksize()))
}

#[cfg(target_os = "linux")]
fn of_all() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?; // no /proc
    let kib = |name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()
    };
    Some(kib("Dirty:")?.saturating_add(kib("Writeback:")?) << 10)
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn unwritten(_file: &File) -> u64 {
    0
}

/// Starts writing a file's bytes out and does not wait for it. A hint, and no more: only a sync says how it went.
#[cfg(target_os = "linux")]
pub(crate) fn start_writeback(file: &File, offset: u64, len: u64) -> io::Result<()> {
    sync_range(file, offset, len, libc::SYNC_FILE_RANGE_WRITE)
}

/// Waits until the bytes are with the disk (in its cache, perhaps). Says nothing of the file's length and its place: a sync
/// does.
#[cfg(target_os = "linux")]
pub(crate) fn await_writeback(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    sync_range(file, offset, len, all)
}

#[cfg(target_os = "linux")]
fn sync_range(file: &File, offset: u64, len: u64, flags: libc::c_uint) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the call takes numbers only, and the descriptor is open as long as `file` is borrowed.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), offset as _, len as _, flags) } {
        0 => Ok(()),
        _ => match Errno::from_io_error(&io::Error::last_os_error()) {
            // A pipe; a file system or a sandbox without it.
            Some(Errno::SPIPE | Errno::NOSYS | Errno::PERM | Errno::INVAL) => Ok(()),
            Some(errno) => Err(errno.into()),
            None => Err(io::Error::last_os_error()),
        },
    }
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn start_writeback(_file: &File, _offset: u64, _len: u64) -> io::Result<()> {
    Ok(())
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn await_writeback(_file: &File, _offset: u64, _len: u64) -> io::Result<()> {
    Ok(())
}

/// Reserves room for `len` bytes from `offset`, without making the file longer. `Ok(false)` where the file system cannot.
/// What is not used is given back by cutting the file to its length.
#[cfg(target_os = "linux")]
pub(crate) fn preallocate(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    match rustix::io::retry_on_intr(|| fallocate(file, FallocateFlags::KEEP_SIZE, offset, len)) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::SPIPE | Errno::NODEV | Errno::INVAL | Errno::PERM) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// macOS reserves behind what the file has already.
#[cfg(target_vendor = "apple")]
pub(crate) fn preallocate(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    let missing = (offset.saturating_add(len)).saturating_sub(file.metadata()?.blocks().saturating_mul(512));
    let mut store = libc::fstore_t {
        fst_flags: libc::F_ALLOCATEALL,
        fst_posmode: libc::F_PEOFPOSMODE,
        fst_offset: 0,
        fst_length: missing.try_into().unwrap_or(libc::off_t::MAX),
        fst_bytesalloc: 0,
    };
    if missing == 0 {
        return Ok(true);
    }
    // SAFETY: `store` is a live `fstore_t`, which is what this command reads and writes.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PREALLOCATE, &mut store) } {
        -1 => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENOSPC) => Err(error),
            _ => Ok(false),
        },
        _ => Ok(true),
    }
}

/// Needs Linux or macOS.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn preallocate(_file: &File, _offset: u64, _len: u64) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_as_numbers() {
        for (release, expected) in
            [("5.8.0", true), ("5.7.19-foo", false), ("4.19.0", false), ("6.1.0-18-amd64", true), ("10.0", true)]
        {
            assert_eq!(is_at_least(release, (5, 8)), expected, "{release}");
        }
        assert!(!is_at_least("", (5, 8)) && !is_at_least("next", (5, 8)));
    }

    #[test]
    fn what_waits_to_be_written_is_said() {
        assert!(of_all().is_some());
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &[1; 1 << 20]).unwrap();
        // Where ext4 says it: a mebibyte, unless it was written out just now.
        if let Some(bytes) = of_ext4(&file) {
            assert!(bytes % file.metadata().unwrap().blksize() == 0 && bytes < 1 << 50, "{bytes}");
        }
    }

    #[test]
    fn buffers_beyond_the_system_s_limit_are_left_for_the_next_call() {
        let file = tempfile::tempfile().unwrap();
        let buffers = vec![IoSlice::new(b"ab"); MOST_BUFFERS + 5];
        assert_eq!(write_vectored(&file, &buffers).unwrap(), 2 * MOST_BUFFERS);
        assert_eq!(write_vectored_at(&file, &buffers, 1).unwrap(), 2 * MOST_BUFFERS);
        assert_eq!(file.metadata().unwrap().len(), 2 * MOST_BUFFERS as u64 + 1);
    }

    #[test]
    fn what_preallocate_reserves_is_not_part_of_the_file_and_can_be_given_back() {
        let file = tempfile::tempfile().unwrap();
        if !preallocate(&file, 0, 1 << 20).unwrap() {
            return eprintln!("skipped: what_preallocate_reserves…: this file system cannot");
        }
        assert_eq!(file.metadata().unwrap().len(), 0);
        assert!(file.metadata().unwrap().blocks() >= 2048);
        file.set_len(0).unwrap();
        assert_eq!(file.metadata().unwrap().blocks(), 0);
    }
}
