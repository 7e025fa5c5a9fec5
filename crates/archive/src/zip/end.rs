//! The end of a zip: where its directory is.

use super::field::{u16_at, u32_at, u64_at};
use crate::error::{ErrorKind, Position, Result};
use crate::joined::Joined;
use crate::parts::SPLIT_ZIP;

/// The highest version of the format that its description has, times ten.
pub(super) const NEWEST: u8 = 63;
const END: usize = 22;
const LOCATOR_64: usize = 20;
const END_64: usize = 56;
/// How far from its end a file's last record may be: its comment has at most 64 KiB. A locator may stand before it.
const TAIL: usize = LOCATOR_64 + END + 0xffff;

/// Where the directory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Whether its comment ends behind the end of the file.
    pub is_cut: bool,
    /// How many parts come before this file, which is the last of a split zip. Then nothing else is known.
    pub parts_before: u32,
    /// What is strange about the record, though the directory was found by it.
    pub remark: Option<&'static str>,
}

/// Whether a file begins as the first part of a split zip does.
pub(crate) fn begins_as_part(file: &Joined) -> Result<bool, ErrorKind> {
    let mut begin = [0; 4];
    file.fill(&mut begin, 0)?;
    Ok(begin == *b"PK\x07\x08")
}

/// The error of a file that is one part of a split zip.
pub(crate) fn part() -> ErrorKind {
    ErrorKind::Unsupported(SPLIT_ZIP.into())
}

/// Finds the directory. `None`: the file has none at its end.
pub(crate) fn find(file: &Joined) -> Result<Option<End>, ErrorKind> {
    let len = file.len();
    let mut tail = vec![0; len.min(TAIL as u64) as usize];
    let tail_start = len - tail.len() as u64;
    file.fill(&mut tail, tail_start)?;
    let (mut damage, mut split) = (None, None);
    // The last record with fields that agree is taken: a comment, or bytes after the archive, may look like a record.
    let records = || {
        let places = (0..(tail.len() + 1).saturating_sub(END)).rev();
        places.filter(|&at| tail[at..].starts_with(b"PK\x05\x06"))
    };
    let is_cut = |at: &usize| END + usize::from(u16_at(&tail[*at..], 20)) > tail.len() - at;
    for at in records().filter(|at| !is_cut(at)) {
        match locate(file, &tail[at..], &tail[..at], tail_start + at as u64)? {
            Ok(end) if end.parts_before > 0 => split = split.or(Some(end)),
            Ok(end) => return Ok(Some(end)),
            Err(kind) => damage = damage.or(Some(kind)),
        }
    }
    if split.is_some() {
        return Ok(split);
    }
    if let Some(damage) = damage {
        return Err(damage);
    }
    // The end of the comment may be missing, and with it nothing that is needed.
    for at in records().filter(is_cut) {
        if let Ok(end) = locate(file, &tail[at..], &tail[..at], tail_start + at as u64)?
            && end.size > 0
        {
            return Ok(Some(End { is_cut: true, ..end }));
        }
    }
    Ok(None)
}

/// Whether a last record is that of the last of so many parts.
fn is_last_part(disk: u32, parts: u32) -> bool {
    parts > 1 && (disk == 0xffff || disk + 1 == parts)
}

/// The content of a last record, if its fields agree. The outer error is one of reading.
fn locate(file: &Joined, record: &[u8], before: &[u8], position: u64) -> Result<Result<End, ErrorKind>, ErrorKind> {
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
    let disks = file.disks();
    // Where a place in one of the parts is among all of them.
    let absolute = |disk: u32, place: u64| match &disks {
        None => Some(place),
        Some(disks) => disks.get(disk as usize).and_then(|start| start.checked_add(place)),
    };
    if let Some(locator) = locator.filter(|_| is_zip64) {
        let said = absolute(u32_at(locator, 4), u64_at(locator, 8));
        let locator_start = position - LOCATOR_64 as u64;
        let mut found = None;
        // Where the locator says; or right before it, if the archive was moved behind something else.
        for start in [said, locator_start.checked_sub(END_64 as u64)].into_iter().flatten() {
            let mut bytes = [0; END_64];
            if start.checked_add(END_64 as u64).is_some_and(|end| end <= locator_start) {
                file.fill(&mut bytes, start)?;
                if bytes.starts_with(b"PK\x06\x06") {
                    found = Some((start, bytes));
                    break;
                }
            }
        }
        if found.is_none() && disks.is_none() && is_last_part(disk, u32_at(locator, 16)) {
            return Ok(Ok(End { parts_before: u32_at(locator, 16) - 1, ..End::default() }));
        }
        let Some((start, bytes)) = found else { return damaged("the zip64 record of its end is missing") };
        (disk, directory_disk) = (u32_at(&bytes, 16), u32_at(&bytes, 20));
        entries = u64_at(&bytes, 32);
        (size, offset) = (u64_at(&bytes, 40), u64_at(&bytes, 48));
        end = start;
    }
    let last = disks.as_ref().map_or(0, |disks| disks.len() as u32 - 1);
    if disk != last || directory_disk > last {
        if END + usize::from(u16_at(record, 20)) < record.len() {
            return damaged("its last record says that there are other parts, and is not the last of this one");
        }
        return Ok(match disks {
            None if disk > 0 && directory_disk <= disk => Ok(End { parts_before: disk, ..End::default() }),
            _ => Err(part()),
        });
    }
    let Some(offset) = absolute(directory_disk, offset) else {
        return damaged("its directory is not where it should be");
    };
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
            file.fill(&mut signature, start)?;
        }
        if signature == *b"PK\x06\x08" {
            let cause = "its directory is encrypted (PKWARE's strong encryption), which is not supported";
            return Ok(Err(ErrorKind::Unsupported(cause.into())));
        }
        // No parts are moved behind something else.
        if disks.is_some() && shift != 0 {
            continue;
        }
        if signature == *b"PK\x01\x02" || (size == 0 && entries == 0) {
            let behind = record.get(END + usize::from(u16_at(record, 20))..).unwrap_or_default();
            let has_more_behind = behind.iter().any(|&byte| byte != 0);
            // The parts count for themselves.
            let remark = if disks.is_some() { None } else { remark(file, record, before, position, shift)? };
            let (is_cut, parts_before) = (false, 0);
            return Ok(Ok(End {
                start,
                size,
                entries,
                is_zip64,
                shift,
                has_more_behind,
                is_cut,
                parts_before,
                remark,
            }));
        }
    }
    damaged("its directory is not where it should be")
}

/// What the records at the end say that is wrong, though the directory is where they say. Only a test asks.
fn remark(
    file: &Joined,
    record: &[u8],
    before: &[u8],
    position: u64,
    shift: u64,
) -> Result<Option<&'static str>, ErrorKind> {
    let Some(locator_start) =
        before.len().checked_sub(LOCATOR_64).filter(|&at| before[at..].starts_with(b"PK\x06\x07"))
    else {
        let cause = "the record at its end counts the entries of this part otherwise than those of all parts";
        return Ok((u16_at(record, 8) != u16_at(record, 10)).then_some(cause));
    };
    let locator = &before[locator_start..];
    let cause = "the zip64 records at its end are damaged";
    let behind = position - LOCATOR_64 as u64;
    let start = u64_at(locator, 8).checked_add(shift).filter(|start| behind.checked_sub(*start) >= Some(END_64 as u64));
    let Some(start) = start else { return Ok(Some(cause)) };
    let mut wide = [0; END_64];
    file.fill(&mut wide, start)?;
    // A number is all ones where the zip64 record has it, and else the same in both.
    let same_16 =
        |at, value: u64| matches!(u64::from(u16_at(record, at)), number if number == 0xffff || number == value);
    let same_32 =
        |at, value: u64| matches!(u64::from(u32_at(record, at)), number if number == 0xffff_ffff || number == value);
    let (here, all) = (u64_at(&wide, 24), u64_at(&wide, 32));
    let is_whole = wide.starts_with(b"PK\x06\x06")
        && u64_at(&wide, 4).checked_add(12) == Some(behind - start)
        && wide[14] <= NEWEST
        && [u32_at(locator, 4), u32_at(&wide, 16), u32_at(&wide, 20)] == [0; 3]
        && u32_at(locator, 16) == 1
        && here == all
        && same_16(4, 0)
        && same_16(6, 0)
        && same_16(8, all)
        && same_16(10, all)
        && same_32(12, u64_at(&wide, 40))
        && same_32(16, u64_at(&wide, 48));
    Ok((!is_whole).then_some(cause))
}
