//! Bytes of open files.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;

use rustix::io::retry_on_intr as again;

use super::Handle;
#[cfg(target_os = "linux")]
use super::is_out_of_space;
use crate::sys::Unable;

/// One `write`. The bytes may belong to a mapping whose file is cut short meanwhile: then this is an error (`EFAULT`)
/// and not a signal, because the kernel does the reading. An interrupted call is made again.
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

/// Moves the position of the next write, leaving a hole behind.
pub(crate) fn seek(file: &Handle, offset: u64) -> io::Result<()> {
    again(|| rustix::fs::seek(file, rustix::fs::SeekFrom::Start(offset)))?;
    Ok(())
}

pub(crate) fn set_len(file: &Handle, len: u64) -> io::Result<()> {
    Ok(again(|| rustix::fs::ftruncate(file, len))?)
}

/// Makes `to` share the blocks of `from`, if it can; what else is wrong with one of them shows when it is read and
/// written.
#[cfg(target_os = "linux")]
pub(crate) fn clone_file(from: &Handle, to: &Handle) -> io::Result<Result<(), Unable>> {
    match again(|| rustix::fs::ioctl_ficlone(to, from)).map_err(io::Error::from) {
        Ok(()) => Ok(Ok(())),
        Err(error) if is_out_of_space(&error) => Err(error),
        Err(error) => Ok(Err(match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS | libc::EXDEV) => Unable::All,
            // A swap file, or one of btrfs that is not checksummed beside one that is.
            _ => Unable::These,
        })),
    }
}

/// Sharing blocks with a file that is open already needs Linux; elsewhere bytes are copied.
#[cfg(not(target_os = "linux"))]
pub(crate) fn clone_file(_from: &Handle, _to: &Handle) -> io::Result<Result<(), Unable>> {
    Ok(Err(Unable::All))
}

/// Copies up to `len` bytes inside the kernel, from one position to the other. `Ok(None)` where it cannot: between file
/// systems of two kinds, on old kernels. An error does not say which of the two files it is about: only that there is
/// no room is told; for all else reading and writing will tell.
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

/// The next stretch of data at or after `from` in a sparse file: where it begins and ends. `Ok(None)` if only a hole
/// follows. A file system that knows no holes says that all is data.
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

/// Whether std copies by path, so that no file is left open: fclonefileat and fcopyfile.
pub(crate) const COPIES_BY_PATH: bool = cfg!(target_vendor = "apple");

/// Copies what is in `source`, a file of this length as far as is known, into `target`, from where both stand.
///
/// As [`io::copy`] does it for files, but without asking of both what they are: those are two calls more for each file.
pub(crate) fn copy_contents(mut source: &File, length: u64, mut target: &File) -> io::Result<u64> {
    #[cfg(target_os = "linux")]
    use std::io::{Read, Write};
    let mut copied = 0;
    // A file that is made when it is read says that it is empty.
    #[cfg(target_os = "linux")]
    if length > 0 {
        /// As std, for file systems that take no more.
        const MOST: usize = 1 << 30;
        for call in [super::copy_in_kernel, super::send_in_kernel] {
            while let Some(more) = call(source, target, MOST)? {
                copied += more as u64;
                match more {
                    0 if copied >= length => return Ok(copied),
                    // Not the end: a mount that reads past the page cache and returns less than was asked for makes the
                    // kernel stop early, without an error. What reads are given decides.
                    0 => break,
                    _ => {}
                }
            }
        }
        let mut buffer = vec![0; 256 << 10];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return Ok(copied),
                Ok(read) => {
                    target.write_all(&buffer[..read])?;
                    copied += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = length; // the buffer takes what there is
    copied += io::copy(&mut source, &mut target)?;
    Ok(copied)
}

/// One write at `offset` that leaves the file's own position alone. An interrupted call is made again: it wrote
/// nothing.
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

/// Reads at `offset` and leaves the file's own position alone.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}

/// Reserves room for `len` bytes from `offset`, without making the file longer. `Ok(false)` where the file system
/// cannot. What is not used is given back by cutting the file to its length.
#[cfg(target_os = "linux")]
pub(crate) fn preallocate(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match rustix::io::retry_on_intr(|| fallocate(file, FallocateFlags::KEEP_SIZE, offset, len)) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::SPIPE | Errno::NODEV | Errno::INVAL | Errno::PERM) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// macOS reserves behind what the file has already.
#[cfg(target_vendor = "apple")]
pub(crate) fn preallocate(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

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
