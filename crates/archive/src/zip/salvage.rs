//! The entries of a zip whose directory is missing or damaged, found by the headers that they have themselves.

use std::fs::File;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::Archive;
use super::directory::Directory;
use super::field::{extra_fields, u16_at, u32_at, u64_at};
use super::local::LOCAL;
use crate::cancel::Cancel;
use crate::error::{ErrorKind, Position, Result};
use crate::limit::Limit;
use crate::read_at::read_at;
use crate::sys;
use crate::test::Test;

/// How much is looked through at a time.
const BLOCK: usize = 256 << 10;
const SIGNATURE: &[u8; 4] = b"PK\x03\x04";
/// The bit that says that the numbers stand behind the content.
const NUMBERS_FOLLOW: u16 = 8;

/// The directory, if it has all that is there; else one of the entries that are found. What is wrong is told.
pub(super) fn directory(
    archive: &Archive<'_>,
    directory: Result<Directory, ErrorKind>,
    test: &mut Test<'_>,
    cancel: &Cancel,
) -> Result<Directory, ErrorKind> {
    let mut directory = match directory {
        Ok(directory) if directory.damage.is_none() => return Ok(directory),
        Ok(directory) => Some(directory),
        Err(kind) => {
            test.damage(kind)?;
            None
        }
    };
    if let Some(damage) = directory.as_mut().and_then(|directory| directory.damage.take()) {
        test.damage(damage)?;
    }
    let found = find(archive, test, cancel)?;
    Ok(match directory {
        Some(directory) if directory.len() >= found.len() => directory,
        _ => found,
    })
}

/// An entry by its own header.
struct Found {
    /// Where its content begins and ends.
    start: u64,
    end: u64,
    size: u64,
    crc: u32,
}

fn find(archive: &Archive<'_>, test: &mut Test<'_>, cancel: &Cancel) -> Result<Directory, ErrorKind> {
    let (file, len) = (archive.file, archive.stamp.len);
    let (mut records, mut starts) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(start) = next_header(file, len, at, cancel)? {
        at = start + SIGNATURE.len() as u64;
        let mut fixed = [0; LOCAL];
        if start + LOCAL as u64 > len {
            break;
        }
        read_at(file, &mut fixed, start)?;
        let (name_len, extra_len) = (usize::from(u16_at(&fixed, 26)), usize::from(u16_at(&fixed, 28)));
        let names = start + LOCAL as u64;
        let content = names + (name_len + extra_len) as u64;
        // Bytes of content look like a header by chance: a header has a name, and a method that there is.
        if content > len || name_len == 0 || u16_at(&fixed, 8) > 99 {
            continue;
        }
        let mut rest = vec![0; name_len + extra_len];
        read_at(file, &mut rest, names)?;
        let (name, extra) = rest.split_at(name_len);
        if name.contains(&0) {
            continue;
        }
        let Some(found) = extent(archive, content, &fixed, extra, cancel)? else {
            let cause = "nothing says how long its content is, so it is left out";
            test.tell(Some(sys::path(name)), Some(Position::Archive(start)), cause);
            continue;
        };
        if records.len() > u32::MAX as usize || starts.len() as u64 >= archive.limits.entries {
            break;
        }
        starts.push(records.len() as u32);
        put_record(&mut records, &fixed, name, extra, start, &found);
        at = found.end.max(at);
    }
    Ok(Directory::of(records, starts))
}

/// The next bytes from `at` on that an entry's header begins with.
fn next_header(file: &File, len: u64, mut at: u64, cancel: &Cancel) -> Result<Option<u64>, ErrorKind> {
    let mut block = vec![0; BLOCK];
    while at + SIGNATURE.len() as u64 <= len {
        cancel.check()?;
        let there = (len - at).min(BLOCK as u64) as usize;
        read_at(file, &mut block[..there], at)?;
        if let Some(place) = block[..there].windows(SIGNATURE.len()).position(|bytes| bytes == SIGNATURE) {
            return Ok(Some(at + place as u64));
        }
        at += (there - (SIGNATURE.len() - 1)) as u64;
    }
    Ok(None)
}

/// Where the content of an entry is, and what its numbers are. `None`: nothing tells.
fn extent(
    archive: &Archive<'_>,
    start: u64,
    fixed: &[u8],
    extra: &[u8],
    cancel: &Cancel,
) -> Result<Option<Found>, ErrorKind> {
    let len = archive.stamp.len;
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
    // The best that deflate can do, so that a damaged size does not look like a bomb.
    let is_impossible = match method {
        0 => size != packed,
        8 => size / 1032 > packed,
        _ => false,
    };
    match method {
        8 if is_unknown || is_impossible => inflated(archive, start, cancel).map(Some),
        _ if is_unknown => Ok(None),
        _ => {
            // The last entry may be cut short. What there is of it is decoded.
            let end = start.saturating_add(packed).min(len);
            let size = if is_impossible { packed } else { size };
            Ok(Some(Found { start, end, size, crc: u32_at(fixed, 14) }))
        }
    }
}

/// Decodes a deflate stream to find where it ends. What is cut short or damaged ends where that is noticed.
fn inflated(archive: &Archive<'_>, start: u64, cancel: &Cancel) -> Result<Found, ErrorKind> {
    let mut packed = vec![0; BLOCK];
    let mut inflate = Decompress::new(false);
    let (mut crc, mut output) = (Crc::new(), vec![0; BLOCK]);
    loop {
        cancel.check()?;
        let (used, made) = (inflate.total_in(), inflate.total_out());
        let there = (archive.stamp.len - start - used).min(BLOCK as u64) as usize;
        read_at(archive.file, &mut packed[..there], start + used)?;
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
            let (end, size) = (start + inflate.total_in(), inflate.total_out());
            return Ok(Found { start, end, size, crc: crc.sum() });
        }
    }
}

/// The record that a directory would have of it.
fn put_record(to: &mut Vec<u8>, fixed: &[u8], name: &[u8], extra: &[u8], start: u64, found: &Found) {
    // Sizes and place always stand in the field for those that do not fit.
    let mut fields = [&[1, 0, 24, 0][..], &found.size.to_le_bytes()].concat();
    fields.extend((found.end - found.start).to_le_bytes());
    fields.extend(start.to_le_bytes());
    for (id, field) in extra_fields(extra).filter(|(id, _)| *id != 1) {
        if fields.len() + 4 + field.len() <= usize::from(u16::MAX) {
            fields.extend(id.to_le_bytes());
            fields.extend((field.len() as u16).to_le_bytes());
            fields.extend(field);
        }
    }
    to.extend(b"PK\x01\x02");
    // Made on Unix, by nobody who says what permissions it has.
    to.extend([20, 3]);
    // Version, flags, method, time and date.
    to.extend(&fixed[4..14]);
    to.extend(found.crc.to_le_bytes());
    to.extend([0xff; 8]);
    to.extend((name.len() as u16).to_le_bytes());
    to.extend((fields.len() as u16).to_le_bytes());
    // No comment, the first disk, no attributes.
    to.extend([0; 10]);
    to.extend([0xff; 4]);
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
        let found = Found { start: 40, end: 5 << 32, size: 6 << 32, crc: 7 };
        let mut bytes = Vec::new();
        put_record(&mut bytes, &fixed, b"name", b"\x55\x54\x05\0\x01\x01\x02\x03\x04", 9, &found);
        let directory = Directory::of(bytes, vec![0]);
        let record = directory.record(0);
        assert_eq!((record.raw_name, record.method, record.crc), (&b"name"[..], 8, 7));
        assert_eq!((record.size, record.packed, record.start), (6 << 32, (5 << 32) - 40, 9));
        assert_eq!(record.extra().last(), Some((0x5455, &b"\x01\x01\x02\x03\x04"[..])));
        assert!(!record.is_broken);
    }
}
