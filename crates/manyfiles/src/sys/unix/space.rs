//! Space that is reserved for a file and not written yet.

use std::io;

use super::Handle;
use crate::sys::Stat;

/// Reserves for `to`, which has the bytes of `from` already, what `from` has reserved: behind its end, and within it
/// where nothing is written yet. False if that could not be.
#[cfg(target_os = "linux")]
pub(crate) fn reserve_like(from: &Handle, stat: &Stat, to: &Handle) -> io::Result<bool> {
    use super::magic::{self, TMPFS, XFS};
    let kind = magic::of(from);
    if kind == Some(XFS) && !is_reserved_on_xfs(from) {
        return Ok(true); // What XFS has reserved by itself it gives back by itself.
    }
    if kind == Some(TMPFS) {
        // It has no map, and no hole that is reserved can be told from another.
        return if stat.spare { reserve(to, 0, stat.allocated) } else { Ok(true) };
    }
    let mut at = 0;
    let mut all = true;
    loop {
        let begun = at;
        let extents = match map(from, at) {
            Ok(Some(extents)) => extents,
            Ok(None) => return Ok(true),
            Err(error) if super::cannot_be_kept(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        for extent in &extents {
            let end = extent.logical.saturating_add(extent.length);
            let start = if extent.flags & UNWRITTEN != 0 { extent.logical } else { extent.logical.max(stat.len) };
            if start < end {
                all &= reserve(to, start, end - start)?;
            }
            at = end;
        }
        // What does not go on would not end.
        let goes_on = at > begun && extents.last().is_some_and(|last| last.flags & LAST == 0);
        if !goes_on {
            return Ok(all);
        }
    }
}

#[cfg(target_os = "linux")]
fn reserve(file: &Handle, offset: u64, len: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    match rustix::io::retry_on_intr(|| fallocate(file, FallocateFlags::KEEP_SIZE, offset, len)) {
        Ok(()) => Ok(true),
        Err(errno) if super::cannot_be_kept(&errno.into()) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// `struct fiemap_extent` of `linux/fiemap.h`.
#[cfg(target_os = "linux")]
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    more: [u32; 3],
}

/// Extents that are asked for at once.
#[cfg(target_os = "linux")]
const AT_ONCE: usize = 64;

/// `struct fiemap`, with room for extents behind it.
#[cfg(target_os = "linux")]
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Extent; AT_ONCE],
}

#[cfg(target_os = "linux")]
fn is_unknown_call(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error).is_some_and(super::flags::is_unknown_call)
}

/// `FIEMAP_EXTENT_LAST` and `FIEMAP_EXTENT_UNWRITTEN`.
#[cfg(target_os = "linux")]
const LAST: u32 = 0x1;
#[cfg(target_os = "linux")]
const UNWRITTEN: u32 = 0x800;

/// The next extents from `start` on, none behind the last. `None` where the file system does not say.
#[cfg(target_os = "linux")]
fn map(file: &Handle, start: u64) -> io::Result<Option<Vec<Extent>>> {
    use std::os::fd::AsRawFd;
    /// `FS_IOC_FIEMAP`.
    const FIEMAP: u32 = 0xC020_660B;
    let mut map = Map {
        start,
        length: u64::MAX - start,
        flags: 0,
        mapped: 0,
        count: AT_ONCE as u32,
        reserved: 0,
        extents: [Extent::default(); AT_ONCE],
    };
    // SAFETY: the command reads and writes the structure that it is given, and at most `count` extents behind it, for
    // which there is room.
    if unsafe { libc::ioctl(file.as_raw_fd(), FIEMAP as _, &raw mut map) } != 0 {
        return match io::Error::last_os_error() {
            error if is_unknown_call(&error) => Ok(None),
            error if error.kind() == io::ErrorKind::Interrupted => self::map(file, start),
            error => Err(crate::error::explained(error, "where the file's space is cannot be read")),
        };
    }
    Ok(Some(map.extents[..(map.mapped as usize).min(AT_ONCE)].to_vec()))
}

/// Whether a program has reserved space, and not XFS by itself in the hope that the file will grow.
#[cfg(target_os = "linux")]
fn is_reserved_on_xfs(file: &Handle) -> bool {
    use std::os::fd::AsRawFd;
    /// `FS_IOC_FSGETXATTR`, and `FS_XFLAG_PREALLOC` in its answer.
    const GET: u32 = 0x801C_581F;
    const PREALLOC: u32 = 0x2;
    let mut attributes = [0_u32; 7];
    // SAFETY: the command writes the 28 bytes of `struct fsxattr`, whose first number is the flags.
    let asked = unsafe { libc::ioctl(file.as_raw_fd(), GET as _, attributes.as_mut_ptr()) };
    asked == 0 && attributes[0] & PREALLOC != 0
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn reserve_like(_from: &Handle, _stat: &Stat, _to: &Handle) -> io::Result<bool> {
    Ok(true)
}
