//! What a zip says twice: an entry's own header, and the numbers behind its content, against the directory.
//!
//! Unpacking believes the directory alone. A difference shows that one of the two is damaged, or that they were written
//! so that two programs see two archives.

use std::io;

use super::directory::Record;
use super::end::NEWEST;
use super::field::{extra_fields, u16_at, u32_at, u64_at};
use crate::joined::Joined;

/// The shortest header of an entry.
pub(super) const LOCAL: usize = 30;
/// Versions up to this one are given by some writers in one place only; those above stand for a method or for
/// encryption.
const COMMON: u8 = 46;

/// What an entry's own header says.
pub(super) struct Local {
    /// The first byte behind its content and the numbers there.
    pub end: u64,
    /// How it differs from the directory, a sentence each.
    pub differences: Vec<String>,
}

/// Reads the header of an entry, whose archive has `len` bytes, and the numbers behind its content. An error: it cannot
/// be read. Fails without a sentence (`None`) where there is no header: the decoder says so.
pub(super) fn read(file: &Joined, len: u64, record: &Record<'_>) -> io::Result<Option<Local>> {
    let mut header = [0; LOCAL];
    if record.start.checked_add(LOCAL as u64).is_none_or(|end| end > len) {
        return Ok(None);
    }
    file.read_exact_at(&mut header, record.start)?;
    if !header.starts_with(b"PK\x03\x04") {
        return Ok(None);
    }
    let (name_len, extra_len) = (usize::from(u16_at(&header, 26)), usize::from(u16_at(&header, 28)));
    let mut rest = vec![0; name_len + extra_len];
    let names_start = record.start + LOCAL as u64;
    let start = names_start + rest.len() as u64;
    let Some(end) = start.checked_add(record.packed).filter(|&end| end <= len) else { return Ok(None) };
    file.read_exact_at(&mut rest, names_start)?;
    let (name, extra) = rest.split_at(name_len);

    let mut differences = Vec::new();
    let mut differs = |what: &str| differences.push(format!("its own header has {what} than the directory"));
    if name != record.raw_name {
        differs("another name");
    }
    let flags = u16_at(&header, 6);
    // How hard deflate has tried, some writers say in one place only.
    let counts = if matches!(record.method, 8 | 9) { !0b110 } else { !0 };
    if (flags ^ record.flags) & counts != 0 {
        differs("other flags");
    }
    if u16_at(&header, 8) != record.raw_method {
        differs("another method of compression");
    }
    let mut wide = extra_fields(extra).find(|(id, _)| *id == 1).map_or(&[][..], |(_, field)| field);
    let mut size = |at| match u64::from(u32_at(&header, at)) {
        0xffff_ffff => match wide.split_at_checked(8) {
            Some((field, rest)) => {
                wide = rest;
                u64_at(field, 0)
            }
            None => 0xffff_ffff,
        },
        size => size,
    };
    let (size, packed, crc) = (size(22), size(18), u32_at(&header, 14));
    let numbers_follow = flags & 8 != 0;
    // Writers that know the numbers only behind the content leave them zero before it, or set what they know.
    let same = |here: u64, there: u64| here == there || (numbers_follow && here == 0);
    let is_unknown = numbers_follow && u32_at(&header, 22) == 0xffff_ffff;
    let are_sizes_right = is_unknown || (same(size, record.size) && same(packed, record.packed));
    if !same(crc.into(), record.crc.into()) {
        differs("another checksum");
    }
    if !are_sizes_right {
        differs("another size");
    }
    let is_rare = header[4].max(record.version) > COMMON;
    if header[5] != record.needed_host || (header[4] != record.version && is_rare) {
        differs("another version of the format");
    }
    if header[4] > NEWEST {
        differences.push("its own header asks for a version of the format that there is not".into());
    }
    if !are_extra_fields_whole(extra) {
        differences.push("the extra fields of its own header are malformed".into());
    }
    let mut local = Local { end, differences };
    if numbers_follow {
        match numbers_behind(file, len, end, record)? {
            Some(end) => local.end = end,
            None => local.differences.push("the numbers behind its content are not those of the directory".into()),
        }
    }
    Ok(Some(local))
}

/// What is wrong with the directory's record by itself.
pub(super) fn in_the_directory(record: &Record<'_>) -> impl Iterator<Item = &'static str> {
    let version = (record.version > NEWEST).then_some("it needs a version of the format that there is not");
    let disk = (!matches!(record.disk, 0 | 0xffff)).then_some("it is said to be on another part of the archive");
    let extra = (!are_extra_fields_whole(record.raw_extra())).then_some("its extra fields are malformed");
    version.into_iter().chain(disk).chain(extra)
}

/// The first byte behind the numbers, if there are some that are right: with or without a signature, sizes of four or
/// eight bytes.
fn numbers_behind(file: &Joined, len: u64, start: u64, record: &Record<'_>) -> io::Result<Option<u64>> {
    let mut bytes = vec![0; (len - start).min(24) as usize];
    file.read_exact_at(&mut bytes, start)?;
    for (signature, wide) in [(4, 4), (4, 8), (0, 4), (0, 8)] {
        let Some(numbers) = bytes.get(signature..signature + 4 + 2 * wide) else { continue };
        let size = |at| if wide == 4 { u32_at(numbers, at).into() } else { u64_at(numbers, at) };
        let is_signed = signature == 0 || bytes.starts_with(b"PK\x07\x08");
        if is_signed && u32_at(numbers, 0) == record.crc && size(4) == record.packed && size(4 + wide) == record.size {
            return Ok(Some(start + (signature + numbers.len()) as u64));
        }
    }
    Ok(None)
}

/// Whether the fields fill their place. Zeros behind them are padding, by which content is aligned.
fn are_extra_fields_whole(extra: &[u8]) -> bool {
    let used: usize = extra_fields(extra).map(|(_, field)| 4 + field.len()).sum();
    extra[used..].iter().all(|&byte| byte == 0)
}
