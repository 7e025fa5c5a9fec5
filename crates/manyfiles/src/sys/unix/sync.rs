//! From the page cache to the disk.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Dir, Handle, file_system_of};

/// Makes bytes and metadata durable.
pub(crate) fn sync_handle(file: &Handle) -> io::Result<()> {
    super::sync_all(file)
}

impl Dir {
    /// The folder opened to be read, which its handle here need not be.
    fn to_file(&self) -> io::Result<File> {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(self.as_fd(), c".", how, Mode::empty())?.into())
    }

    /// Makes the names in it durable, where the file system has a call for that.
    pub(crate) fn sync(&self) -> io::Result<()> {
        sync_open_folder(self.to_file()?)
    }
}

/// A file system that can be synced as a whole, and tells what was lost since this was made.
#[derive(Debug)]
pub(crate) struct WholeFileSystem {
    root: File,
    number: u64,
}

impl WholeFileSystem {
    /// The one that `folder` is on. `None` where a sync of all is not to be trusted.
    pub(crate) fn of(folder: &Dir) -> io::Result<Option<WholeFileSystem>> {
        let root = folder.to_file()?;
        let number = file_system_of(&root)?;
        Ok(can_sync_file_system(&root).then_some(WholeFileSystem { root, number }))
    }

    /// Whether the folder is on it.
    pub(crate) fn has(&self, folder: &Dir) -> io::Result<bool> {
        let number: u64 = rustix::fs::fstat(folder.as_fd())?.st_dev as _;
        Ok(number == self.number)
    }

    /// Makes everything durable that was written to it, by anybody.
    pub(crate) fn sync(&self) -> io::Result<()> {
        sync_file_system(&self.root)
    }
}

/// Makes bytes, and what is needed to read them back, durable. Not made again when it fails, not even when interrupted:
/// what the first call had learned of lost bytes, a second would not be told.
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

/// Lets the page cache forget what it has of a file from about `offset` on, but for what is still to be written: what
/// is read then comes from the disk. A hint, which nothing has to follow.
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

/// Makes everything in the file system durable that was written before the call, by anybody.
///
/// `file` must be open since before those writes: a failed write-out that another program has been told of is reported
/// to descriptors that were open then.
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
    *crate::origin::get_or_make(&TELLS, || is_at_least(&rustix::system::uname().release().to_string_lossy(), (5, 8)))
}

#[cfg(target_os = "linux")]
fn is_at_least(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    numbers.next().zip(numbers.next()).is_some_and(|release| release >= version)
}

/// About how many bytes wait to be written to the file system, everybody's. ext4 says so; elsewhere it is what waits
/// for all file systems together. 0 where nothing is said: it is for guesses only.
#[cfg(target_os = "linux")]
pub(crate) fn unwritten(file: &File) -> u64 {
    of_ext4(file).or_else(of_all).unwrap_or(0)
}

#[cfg(target_os = "linux")]
fn of_ext4(file: &File) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
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
            assert!(
                bytes % std::os::unix::fs::MetadataExt::blksize(&file.metadata().unwrap()) == 0 && bytes < 1 << 50,
                "{bytes}"
            );
        }
    }
}
