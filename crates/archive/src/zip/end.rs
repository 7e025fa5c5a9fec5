//! The end of a zip: where its directory is.

use std::fs::File;

use super::field::{u16_at, u32_at, u64_at};
use crate::error::{ErrorKind, Position, Result};
use crate::parts::SPLIT_ZIP;
use crate::read_at::read_at;

const END: usize = 22;
const LOCATOR_64: usize = 20;
const END_64: usize = 56;
/// How far from its end a file's last record may be: its comment has at most 64 KiB. A locator may stand before it.
const TAIL: usize = LOCATOR_64 + END + 0xffff;

/// Where the directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub start: u64,
    pub size: u64,
    /// How many entries it says to have. Without zip64 only the lower 16 bits are known.
    pub entries: u64,
    pub is_zip64: bool,
    /// How many bytes there are before the archive, which its offsets do not count.
    pub shift: u64,
    /// Whether bytes other than zeros follow the archive.
    pub has_more_behind: bool,
}

/// Whether a file begins as the first part of a split zip does.
pub(crate) fn begins_as_part(file: &File) -> Result<bool, ErrorKind> {
    let mut begin = [0; 4];
    read_at(file, &mut begin, 0)?;
    Ok(begin == *b"PK\x07\x08")
}

/// The error of a file that is one part of a split zip.
pub(crate) fn part() -> ErrorKind {
    ErrorKind::Unsupported(SPLIT_ZIP.into())
}

/// Finds the directory. `None`: the file has none at its end.
pub(crate) fn find(file: &File, len: u64) -> Result<Option<End>, ErrorKind> {
    let mut tail = vec![0; len.min(TAIL as u64) as usize];
    let tail_start = len - tail.len() as u64;
    read_at(file, &mut tail, tail_start)?;
    let mut damage = None;
    // The last record with fields that agree is taken: a comment, or bytes after the archive, may look like a record.
    for at in (0..(tail.len() + 1).saturating_sub(END)).rev() {
        let record = &tail[at..];
        if !record.starts_with(b"PK\x05\x06") || END + usize::from(u16_at(record, 20)) > record.len() {
            continue;
        }
        let before = &tail[..at];
        match locate(file, record, before, tail_start + at as u64)? {
            Ok(end) => return Ok(Some(end)),
            Err(kind) => damage = damage.or(Some(kind)),
        }
    }
    damage.map_or(Ok(None), Err)
}

/// The content of a last record, if its fields agree. The outer error is one of reading.
fn locate(file: &File, record: &[u8], before: &[u8], position: u64) -> Result<Result<End, ErrorKind>, ErrorKind> {
    let damaged = |cause: &str| Ok(Err(ErrorKind::damaged(Position::Archive(position), cause)));
    let (mut disk, mut directory_disk) = (u32::from(u16_at(record, 4)), u32::from(u16_at(record, 6)));
    let mut entries = u64::from(u16_at(record, 10));
    let (mut size, mut offset) = (u64::from(u32_at(record, 12)), u64::from(u32_at(record, 16)));
    let mut end = position;
    let is_full =
        disk == 0xffff || directory_disk == 0xffff || entries == 0xffff || size == 0xffff_ffff || offset == 0xffff_ffff;
    let locator =
        before.len().checked_sub(LOCATOR_64).map(|at| &before[at..]).filter(|it| it.starts_with(b"PK\x06\x07"));
    let is_zip64 = is_full && locator.is_some();
    if let Some(locator) = locator.filter(|_| is_zip64) {
        let said = u64_at(locator, 8);
        let locator_start = position - LOCATOR_64 as u64;
        let mut found = None;
        // Where the locator says; or right before it, if the archive was moved behind something else.
        for start in [Some(said), locator_start.checked_sub(END_64 as u64)].into_iter().flatten() {
            let mut bytes = [0; END_64];
            if start.checked_add(END_64 as u64).is_some_and(|end| end <= locator_start) {
                read_at(file, &mut bytes, start)?;
                if bytes.starts_with(b"PK\x06\x06") {
                    found = Some((start, bytes));
                    break;
                }
            }
        }
        let Some((start, bytes)) = found else { return damaged("the zip64 record of its end is missing") };
        (disk, directory_disk) = (u32_at(&bytes, 16), u32_at(&bytes, 20));
        entries = u64_at(&bytes, 32);
        (size, offset) = (u64_at(&bytes, 40), u64_at(&bytes, 48));
        end = start;
    }
    if disk != directory_disk || disk != 0 {
        if END + usize::from(u16_at(record, 20)) < record.len() {
            return damaged("its last record says that there are other parts, and is not the last of this one");
        }
        return Ok(Err(part()));
    }
    // The directory ends where this record begins, whatever precedes the archive. If something stands between (a
    // signature), the offset tells.
    let adjacent = end.checked_sub(size);
    for start in [adjacent, Some(offset)].into_iter().flatten() {
        let Some(shift) = start.checked_sub(offset) else { continue };
        if start.checked_add(size).is_none_or(|directory_end| directory_end > end) {
            continue;
        }
        let mut signature = [0; 4];
        if size >= 4 {
            read_at(file, &mut signature, start)?;
        }
        if signature == *b"PK\x01\x02" || (size == 0 && entries == 0) {
            let behind = &record[END + usize::from(u16_at(record, 20))..];
            let has_more_behind = behind.iter().any(|&byte| byte != 0);
            return Ok(Ok(End { start, size, entries, is_zip64, shift, has_more_behind }));
        }
    }
    damaged("its directory is not where it should be")
}
