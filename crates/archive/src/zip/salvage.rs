//! The entries of a zip whose directory is missing, damaged, or does not fit the rest, found by the headers that they
//! have themselves.
//!
//! Where the directory knows an entry that is found, it is believed: it has sizes, checksum and permissions, which an
//! entry's own header may lack. Where the entry begins, the header tells: bytes that are missing or too many before it
//! have moved it.

use std::collections::HashMap;
use std::ops::Range;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::Archive;
use super::directory::{Directory, FIXED, Record};
use super::end::End;
use super::field::{extra_fields, u16_at, u32_at, u64_at};
use super::local::LOCAL;
use crate::cancel::Cancel;
use crate::error::{ErrorKind, Position, Result};
use crate::joined::Joined;
use crate::limit::Limit;
use crate::sys;
use crate::test::Test;

/// How much is looked through at a time.
const BLOCK: usize = 256 << 10;
const SIGNATURE: &[u8; 4] = b"PK\x03\x04";
const RECORD: &[u8; 4] = b"PK\x01\x02";
/// The bit that says that the numbers stand behind the content.
const NUMBERS_FOLLOW: u16 = 8;
/// How many times the length of the archive may be decoded to find where content ends. Content that is decoded to more
/// than 64 times its length counts as a 64th of that: or headers that overlap would cost hours.
const MOST_DECODED: u64 = 8;
const RATIO: u64 = 64;

/// The directory, if it fits; else one of the entries that are found. What is wrong is told.
pub(super) fn directory(
    archive: &Archive<'_>,
    directory: Result<Directory, ErrorKind>,
    test: &mut Test<'_>,
    cancel: &Cancel,
) -> Result<Directory, ErrorKind> {
    let mut directory = match directory {
        Ok(directory) => Some(directory),
        Err(kind) => {
            test.damage(kind)?;
            None
        }
    };
    match directory.as_mut().map(|directory| directory.damage.take()) {
        Some(Some(damage)) => test.damage(damage)?,
        Some(None) if fits(archive, directory.as_ref(), cancel)? => return Ok(directory.expect("it fits")),
        _ => {}
    }
    let found = find(archive, cancel)?;
    if directory.is_none() {
        let end = found.iter().map(|found| found.end).max().unwrap_or(0);
        directory = behind(archive, end, cancel)?;
    }
    merge(directory, found, test)
}

/// Whether each entry of the directory has its header where the directory says.
fn fits(archive: &Archive<'_>, directory: Option<&Directory>, cancel: &Cancel) -> Result<bool, ErrorKind> {
    let Some(directory) = directory else { return Ok(false) };
    for index in 0..directory.len() {
        cancel.check()?;
        let record = directory.record(index);
        let mut header = vec![0; LOCAL + record.raw_name.len()];
        if record.start.checked_add(header.len() as u64).is_none_or(|end| end > archive.file.len()) {
            return Ok(false);
        }
        archive.file.fill(&mut header, record.start)?;
        if !header.starts_with(SIGNATURE) || !header.ends_with(record.raw_name) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The records of a directory somewhere behind the last entry, whatever the end of the archive says.
fn behind(archive: &Archive<'_>, from: u64, cancel: &Cancel) -> Result<Option<Directory>, ErrorKind> {
    let len = archive.file.len();
    let Some(start) = next(&archive.file, len, from, RECORD, cancel)? else { return Ok(None) };
    let mut directory = match Directory::read(&archive.file, &End { start, size: len - start, ..End::default() }) {
        Ok(directory) => directory,
        Err(ErrorKind::Damaged { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    // How many there should be is not known.
    directory.damage = None;
    Ok(Some(directory))
}

/// The records of the directory, each where its entry was found, and the entries that it does not know.
fn merge(directory: Option<Directory>, found: Vec<Found>, test: &mut Test<'_>) -> Result<Directory, ErrorKind> {
    let mut unclaimed = HashMap::<&[u8], Vec<usize>>::new();
    for (number, found) in found.iter().enumerate().rev() {
        unclaimed.entry(&found.name).or_default().push(number);
    }
    let by_start: HashMap<u64, usize> = found.iter().enumerate().map(|(number, found)| (found.start, number)).collect();
    let mut is_claimed = vec![false; found.len()];
    let (mut records, mut starts) = (Vec::new(), Vec::new());
    let mut claimed: Vec<Range<u64>> = Vec::new();
    for index in 0..directory.as_ref().map_or(0, Directory::len) {
        let directory = directory.as_ref().expect("it has records");
        let record = directory.record(index);
        // No header that was found has such a name.
        let is_name = !record.raw_name.contains(&0);
        let here = by_start.get(&record.start).copied().filter(|&number| is_name && !is_claimed[number]);
        let same_name = |number: &usize| found[*number].name == record.raw_name;
        let elsewhere = || {
            let same = unclaimed.get(record.raw_name)?;
            same.iter().rev().copied().find(|&number| !is_claimed[number])
        };
        // The name at that place may be what is damaged, or the place.
        let Some(number) = here.filter(same_name).or_else(elsewhere).or(here) else {
            let cause = "the directory has it, and no header of it is there, so it is left out";
            test.tell(Some(sys::path(record.raw_name)), Some(Position::Archive(record.start)), cause);
            continue;
        };
        is_claimed[number] = true;
        let start = found[number].start;
        if found[number].name != record.raw_name {
            let cause = format!("its own header calls it {}", sys::path(&found[number].name).display());
            test.tell(Some(sys::path(record.raw_name)), Some(Position::Archive(start)), cause);
        }
        claimed.push(start..found[number].content.saturating_add(record.packed));
        starts.push(records.len() as u32);
        put_known(&mut records, directory.raw(index), &record, start);
    }
    claimed.sort_by_key(|range| range.start);
    for (found, _) in found.iter().zip(&is_claimed).filter(|(_, is_claimed)| !**is_claimed) {
        // What lies in the content of an entry is a file of an archive in the archive.
        let before = claimed.partition_point(|range| range.start <= found.start);
        if claimed[..before].last().is_some_and(|range| range.contains(&found.start)) {
            continue;
        }
        let Some(numbers) = &found.numbers else {
            let cause = "nothing says how long its content is, so it is left out";
            test.tell(Some(sys::path(&found.name)), Some(Position::Archive(found.start)), cause);
            continue;
        };
        if !numbers.is_proven {
            let cause = "no checksum of it was found, so its content may be wrong";
            test.tell(Some(sys::path(&found.name)), Some(Position::Archive(found.start)), cause);
        }
        starts.push(records.len() as u32);
        put_found(&mut records, found, numbers);
    }
    Ok(Directory::of(records, starts))
}

/// An entry by its own header.
struct Found {
    start: u64,
    fixed: [u8; LOCAL],
    name: Vec<u8>,
    extra: Vec<u8>,
    /// Where its content begins, and where the search went on.
    content: u64,
    end: u64,
    /// `None`: nothing tells.
    numbers: Option<Numbers>,
}

struct Numbers {
    packed: u64,
    size: u64,
    crc: u32,
    /// Whether the checksum is the archive's, and not that of what was decoded.
    is_proven: bool,
    /// Whether the end of the content is missing, or the number of its bytes is damaged.
    is_cut: bool,
}

fn find(archive: &Archive<'_>, cancel: &Cancel) -> Result<Vec<Found>, ErrorKind> {
    let (file, len) = (&archive.file, archive.file.len());
    let mut all = Vec::new();
    let mut at = 0;
    let mut decoded = 0;
    while let Some(start) = next(file, len, at, SIGNATURE, cancel)? {
        at = start + SIGNATURE.len() as u64;
        let mut fixed = [0; LOCAL];
        if start + LOCAL as u64 > len || all.len() as u64 >= archive.limits.entries {
            break;
        }
        file.fill(&mut fixed, start)?;
        let (name_len, extra_len) = (usize::from(u16_at(&fixed, 26)), usize::from(u16_at(&fixed, 28)));
        let names = start + LOCAL as u64;
        let content = names + (name_len + extra_len) as u64;
        // Bytes of content look like a header by chance: a header has a name, and a method that there is.
        if content > len || name_len == 0 || u16_at(&fixed, 8) > 99 {
            continue;
        }
        let mut name = vec![0; name_len + extra_len];
        file.fill(&mut name, names)?;
        let extra = name.split_off(name_len);
        if name.contains(&0) {
            continue;
        }
        let may_decode = decoded <= len.saturating_mul(MOST_DECODED);
        let numbers = numbers(archive, content, &fixed, &extra, cancel)?;
        let end = numbers.as_ref().map_or(content, |numbers| content.saturating_add(numbers.packed));
        let unpacked = numbers.as_ref().map_or(0, |numbers| numbers.size);
        decoded = (end.min(len) - content).max(unpacked / RATIO).saturating_add(decoded);
        // A damaged size leads over other entries, and so may a damaged stream.
        let is_sure = numbers.as_ref().is_some_and(|numbers| numbers.is_proven && !numbers.is_cut);
        if end <= len && (!may_decode || (is_sure && is_followed(file, len, end)?)) {
            at = end.max(at);
        }
        all.push(Found { start, fixed, name, extra, content, end: at, numbers });
    }
    Ok(all)
}

/// Whether what is at `end` may follow the content of an entry: a signature, numbers and a signature, or nothing.
fn is_followed(file: &Joined, len: u64, end: u64) -> Result<bool, ErrorKind> {
    let mut bytes = vec![0; (len - end).min(28) as usize];
    file.fill(&mut bytes, end)?;
    // The numbers may have a signature of their own and sizes of eight bytes, or neither.
    let follows = [0, 12, 16, 20, 24].iter().any(|&at| bytes.get(at..at + 4).is_some_and(is_signature));
    Ok(follows || bytes.is_empty())
}

/// Of an entry, of a record of the directory, of numbers behind content, or of what is behind the directory.
fn is_signature(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK") && bytes[2] < 9 && bytes[3] < 9
}

/// The next place from `at` on of four bytes.
fn next(file: &Joined, len: u64, mut at: u64, signature: &[u8; 4], cancel: &Cancel) -> Result<Option<u64>, ErrorKind> {
    let mut block = vec![0; BLOCK];
    while at + signature.len() as u64 <= len {
        cancel.check()?;
        let there = (len - at).min(BLOCK as u64) as usize;
        file.fill(&mut block[..there], at)?;
        if let Some(place) = block[..there].windows(signature.len()).position(|bytes| bytes == signature) {
            return Ok(Some(at + place as u64));
        }
        at += (there - (signature.len() - 1)) as u64;
    }
    Ok(None)
}

/// What an entry's own header says of its content. `None`: nothing tells.
fn numbers(
    archive: &Archive<'_>,
    start: u64,
    fixed: &[u8],
    extra: &[u8],
    cancel: &Cancel,
) -> Result<Option<Numbers>, ErrorKind> {
    let len = archive.file.len();
    let (flags, method) = (u16_at(fixed, 6), u16_at(fixed, 8));
    let mut wide = extra_fields(extra).find(|(id, _)| *id == 1).map_or(&[][..], |(_, field)| field);
    let mut number = |at| match (u64::from(u32_at(fixed, at)), wide.split_at_checked(8)) {
        (0xffff_ffff, Some((field, rest))) => {
            wide = rest;
            u64_at(field, 0)
        }
        (number, _) => number,
    };
    let (size, packed) = (number(22), number(18));
    let is_unknown = flags & NUMBERS_FOLLOW != 0 && packed == 0;
    // The last entry may be cut short. What there is of it is decoded.
    let is_cut = packed > len - start;
    let packed = packed.min(len - start);
    // The best that deflate can do, so that a damaged size does not look like a bomb.
    let is_encrypted = flags & 1 != 0;
    let is_impossible = match method {
        _ if is_encrypted => false,
        0 => size != packed,
        8 => size / 1032 > packed,
        _ => false,
    };
    let crc = u32_at(fixed, 14);
    match method {
        _ if is_unknown && is_encrypted => Ok(None),
        8 if is_unknown => inflated(archive, start, cancel).map(Some),
        8 if is_impossible => Ok(Some(Numbers { crc, is_proven: true, ..inflated(archive, start, cancel)? })),
        _ if is_unknown => Ok(None),
        _ => {
            // One byte more than there is: so the entry is damaged, and what there is of it stays.
            let size = if is_impossible { packed + u64::from(is_cut) } else { size };
            Ok(Some(Numbers { packed, size, crc, is_proven: true, is_cut }))
        }
    }
}

/// Decodes a deflate stream to find where it ends. What is cut short or damaged ends where that is noticed.
fn inflated(archive: &Archive<'_>, start: u64, cancel: &Cancel) -> Result<Numbers, ErrorKind> {
    let mut packed = vec![0; BLOCK];
    let mut inflate = Decompress::new(false);
    let (mut crc, mut output) = (Crc::new(), vec![0; BLOCK]);
    loop {
        cancel.check()?;
        let (used, made) = (inflate.total_in(), inflate.total_out());
        let there = (archive.file.len() - start - used).min(BLOCK as u64) as usize;
        archive.file.fill(&mut packed[..there], start + used)?;
        let status = inflate.decompress(&packed[..there], &mut output, FlushDecompress::None);
        crc.update(&output[..(inflate.total_out() - made) as usize]);
        if inflate.total_out() > archive.limits.bytes {
            return Err(ErrorKind::Limit { limit: Limit::Bytes, value: archive.limits.bytes, entries: 0 });
        }
        let is_over = match status {
            Ok(Status::StreamEnd) | Err(_) => true,
            Ok(_) => (inflate.total_in(), inflate.total_out()) == (used, made),
        };
        if is_over {
            let (packed, size) = (inflate.total_in(), inflate.total_out());
            if !matches!(status, Ok(Status::StreamEnd)) {
                // One byte more than there is: so the entry is damaged, and what there is of it stays.
                return Ok(Numbers { packed, size: size + 1, crc: crc.sum(), is_proven: true, is_cut: true });
            }
            let said = crc_behind(archive, start + packed, packed, size)?;
            let (crc, is_proven) = said.map_or((crc.sum(), false), |said| (said, true));
            return Ok(Numbers { packed, size, crc, is_proven, is_cut: false });
        }
    }
}

/// The checksum in the numbers behind content, if these are there: they say the same sizes, in four or in eight bytes,
/// behind a signature or not.
fn crc_behind(archive: &Archive<'_>, at: u64, packed: u64, size: u64) -> Result<Option<u32>, ErrorKind> {
    let mut bytes = vec![0; (archive.file.len() - at).min(24) as usize];
    archive.file.fill(&mut bytes, at)?;
    let numbers = bytes.strip_prefix(b"PK\x07\x08").unwrap_or(&bytes);
    let narrow = numbers.len() >= 12 && [u32_at(numbers, 4), u32_at(numbers, 8)] == [packed as u32, size as u32];
    let wide = numbers.len() >= 20 && [u64_at(numbers, 4), u64_at(numbers, 12)] == [packed, size];
    Ok((narrow || wide).then(|| u32_at(numbers, 0)))
}

/// The record that the directory has of an entry, which begins at `start`.
fn put_known(to: &mut Vec<u8>, raw: &[u8], record: &Record<'_>, start: u64) {
    let fixed = raw[..FIXED].try_into().expect("a record is that long");
    put(to, fixed, record.raw_name, record.raw_extra(), [record.size, record.packed, start]);
}

/// The record that a directory would have of an entry.
fn put_found(to: &mut Vec<u8>, found: &Found, numbers: &Numbers) {
    let mut fixed = [0; FIXED];
    fixed[..4].copy_from_slice(RECORD);
    // Made on Unix, by nobody who says what permissions it has.
    (fixed[4], fixed[5]) = (20, 3);
    // Version, flags, method, time and date.
    fixed[6..16].copy_from_slice(&found.fixed[4..14]);
    fixed[16..20].copy_from_slice(&numbers.crc.to_le_bytes());
    put(to, fixed, &found.name, &found.extra, [numbers.size, numbers.packed, found.start]);
}

/// A record with these numbers: size, compressed size, and where its header is.
fn put(to: &mut Vec<u8>, mut fixed: [u8; FIXED], name: &[u8], extra: &[u8], numbers: [u64; 3]) {
    // They always stand in the field for those that do not fit.
    let mut fields = [1, 0, 24, 0].to_vec();
    numbers.iter().for_each(|number| fields.extend(number.to_le_bytes()));
    for (id, field) in extra_fields(extra).filter(|(id, _)| *id != 1) {
        if fields.len() + 4 + field.len() <= usize::from(u16::MAX) {
            fields.extend(id.to_le_bytes());
            fields.extend((field.len() as u16).to_le_bytes());
            fields.extend(field);
        }
    }
    fixed[20..28].fill(0xff);
    fixed[28..30].copy_from_slice(&(name.len() as u16).to_le_bytes());
    fixed[30..32].copy_from_slice(&(fields.len() as u16).to_le_bytes());
    // No comment, on the first disk.
    fixed[32..36].fill(0);
    fixed[42..46].fill(0xff);
    to.extend(fixed);
    to.extend(name);
    to.extend(fields);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_made_is_read_as_it_was_meant() {
        let mut fixed = [0; LOCAL];
        fixed[4] = 20;
        fixed[8] = 8;
        let (name, extra) = (b"name".to_vec(), b"\x55\x54\x05\0\x01\x01\x02\x03\x04".to_vec());
        let found = Found { start: 9, fixed, name, extra, content: 40, end: 0, numbers: None };
        let mut bytes = Vec::new();
        put_found(
            &mut bytes,
            &found,
            &Numbers { packed: (5 << 32) - 40, size: 6 << 32, crc: 7, is_proven: true, is_cut: false },
        );
        let directory = Directory::of(bytes, vec![0]);
        let record = directory.record(0);
        assert_eq!((record.raw_name, record.method, record.crc), (&b"name"[..], 8, 7));
        assert_eq!((record.size, record.packed, record.start), (6 << 32, (5 << 32) - 40, 9));
        assert_eq!(record.extra().last(), Some((0x5455, &b"\x01\x01\x02\x03\x04"[..])));
        assert!(!record.is_broken);
    }
}
