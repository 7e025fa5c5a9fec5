//! Lays a batch out as a piece of a zip, and keeps the directory.
//!
//! The numbers of a file that is read whole stand before its content. A file that is read in pieces is deflated in
//! blocks that follow each other, and its numbers stand behind it: its output may be a pipe.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use chrono::{DateTime, Datelike, Local, Timelike, Utc};
use flate2::Crc;
use manyfiles::tree::Refusal;
use manyfiles::{Error, Operation};

use super::compress::{Deflater, LAST_BLOCK};
use super::entry::{Head, Item};
use super::report::{Counts, count};
use crate::sys;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The numbers stand behind the content.
const NUMBERS_BEHIND: u16 = 1 << 3;
const NAME_IS_UTF8: u16 = 1 << 11;
/// From this size on a file that is read in pieces gets numbers of 64 bits. It may become larger when it is deflated.
const WIDE: u64 = 0xf000_0000;
const MADE_ON_UNIX: u16 = 3 << 8;

/// A part of a zip, in the order in which it is written.
pub(super) enum Part {
    /// Entries that are whole, and what the directory is to say of them. Offsets count from the start of the bytes.
    Whole { bytes: Vec<u8>, records: Vec<Record> },
    /// The head of an entry.
    Begin(Vec<u8>, Record),
    /// Content of the entry that was begun: deflated, with the checksum of what it was before.
    Data { bytes: Vec<u8>, crc: Crc },
    /// The end of the entry that was begun.
    End,
}

/// What the directory says of an entry.
#[derive(Debug)]
pub(super) struct Record {
    name: Vec<u8>,
    flags: u16,
    method: u16,
    time: u32,
    crc: u32,
    packed: u64,
    size: u64,
    attributes: u32,
    is_wide: bool,
    /// The extra fields, which are the same before the content.
    extra: Vec<u8>,
    offset: u64,
}

/// How a batch is laid out.
pub(super) struct Layout {
    deflater: Deflater,
    level: i32,
    utc: bool,
}

impl Layout {
    pub(super) fn new(level: i32, utc: bool) -> Layout {
        Layout { deflater: Deflater::new(level), level, utc }
    }

    pub(super) fn lay(
        &mut self,
        items: &[Item],
        counts: &Counts,
        failures: &mut Vec<Error>,
        is_wanted: &dyn Fn() -> bool,
    ) -> io::Result<Vec<Part>> {
        let mut parts = Vec::new();
        for item in items {
            let mut failure = None;
            let laid = self.one(&mut parts, item, counts, &mut failure, is_wanted)?;
            failures.extend(failure);
            failures.extend(laid.err());
        }
        Ok(parts)
    }

    /// The inner error is the entry's.
    fn one(
        &mut self,
        parts: &mut Vec<Part>,
        item: &Item,
        counts: &Counts,
        failure: &mut Option<Error>,
        is_wanted: &dyn Fn() -> bool,
    ) -> io::Result<Result<(), Error>> {
        match item {
            Item::Folder(entry) => {
                let mut entry = entry.clone();
                entry.path.push(b'/');
                self.whole(parts, &entry, 0o040_000, &[])?;
                count(&counts.folders);
            }
            Item::Symlink(entry, target) => {
                self.whole(parts, entry, 0o120_000, target)?;
                count(&counts.symlinks);
                counts.link_bytes.fetch_add(target.len() as u64, Relaxed);
            }
            // The writer takes none for a zip.
            Item::HardLink(entry, _) | Item::Node(entry, _) => {
                let path = sys::path(&entry.path);
                return Ok(Err(Error::refused(Operation::CreateNode, path, Refusal::UnwantedKind)));
            }
            Item::Bytes(entry, bytes) => {
                self.whole(parts, entry, 0o100_000, bytes)?;
                file(counts, bytes.len() as u64);
            }
            Item::Small(entry, source, _) => {
                let mut content = Vec::new();
                let read = |file| source.read(&file, &mut content, failure);
                if let Err(error) = source.open_found(is_wanted).and_then(read) {
                    return Ok(Err(error));
                }
                self.whole(parts, entry, 0o100_000, &content)?;
                file(counts, content.len() as u64);
            }
            Item::Begin(entry, opened) => {
                let mut record = self.record(entry, 0o100_000);
                record.is_wide = opened.len() >= WIDE;
                record.flags |= NUMBERS_BEHIND;
                record.method = DEFLATED;
                parts.push(Part::Begin(record.local(), record));
                count(&counts.files);
            }
            Item::Piece(opened, offset, len) => {
                let mut content = Vec::new();
                opened.read(*offset, *len, &mut content, failure);
                counts.read(*len);
                let mut crc = Crc::new();
                crc.update(&content);
                parts.push(Part::Data { bytes: self.deflater.blocks(&content, Vec::new())?, crc });
            }
            Item::End(opened) => {
                opened.check(failure);
                parts.push(Part::End);
            }
        }
        Ok(Ok(()))
    }

    /// Adds an entry whose content is here.
    fn whole(&mut self, parts: &mut Vec<Part>, entry: &Head, kind: u32, content: &[u8]) -> io::Result<()> {
        let mut record = self.record(entry, kind);
        let mut crc = Crc::new();
        crc.update(content);
        let deflated = match content.len() {
            0..32 => None,
            _ if self.level == 0 => None,
            _ => Some(self.deflater.whole(content, Vec::new())?).filter(|deflated| deflated.len() < content.len()),
        };
        let packed = deflated.as_deref().unwrap_or(content);
        record.method = if deflated.is_some() { DEFLATED } else { STORED };
        (record.crc, record.packed, record.size) = (crc.sum(), packed.len() as u64, content.len() as u64);
        if !matches!(parts.last(), Some(Part::Whole { .. })) {
            parts.push(Part::Whole { bytes: Vec::new(), records: Vec::new() });
        }
        let Some(Part::Whole { bytes, records }) = parts.last_mut() else { unreachable!("it was just put there") };
        record.offset = bytes.len() as u64;
        bytes.extend(record.local());
        bytes.extend_from_slice(packed);
        records.push(record);
        Ok(())
    }

    fn record(&self, entry: &Head, kind: u32) -> Record {
        let is_utf8 = std::str::from_utf8(&entry.path).is_ok_and(|path| !path.is_ascii());
        let is_folder = kind == 0o040_000;
        Record {
            flags: if is_utf8 { NAME_IS_UTF8 } else { 0 },
            method: STORED,
            time: dos_time(entry.modified.0, self.utc),
            crc: 0,
            packed: 0,
            size: 0,
            attributes: (kind | entry.mode & 0o7777) << 16 | if is_folder { 0x10 } else { 0 },
            is_wide: false,
            extra: extra(entry),
            offset: 0,
            name: entry.path.clone(),
        }
    }
}

fn file(counts: &Counts, bytes: u64) {
    count(&counts.files);
    counts.read(bytes);
}

impl Record {
    /// The header before the content.
    fn local(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(30 + self.name.len() + self.extra.len() + 20);
        bytes.extend(b"PK\x03\x04");
        for field in [self.version(), self.flags, self.method] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(self.time.to_le_bytes());
        bytes.extend(self.crc.to_le_bytes());
        // What is not known yet is zero, or said to be wide.
        let size = |size: u64| if self.is_wide { u32::MAX } else { size as u32 };
        bytes.extend(size(self.packed).to_le_bytes());
        bytes.extend(size(self.size).to_le_bytes());
        let wide = if self.is_wide { wide_field(&[0, 0]) } else { Vec::new() };
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend(((wide.len() + self.extra.len()) as u16).to_le_bytes());
        for field in [&self.name, &wide, &self.extra] {
            bytes.extend_from_slice(field);
        }
        bytes
    }

    /// The numbers behind the content.
    fn numbers(&self) -> Vec<u8> {
        let mut bytes = b"PK\x07\x08".to_vec();
        bytes.extend(self.crc.to_le_bytes());
        for size in [self.packed, self.size] {
            match self.is_wide {
                true => bytes.extend(size.to_le_bytes()),
                false => bytes.extend((size as u32).to_le_bytes()),
            }
        }
        bytes
    }

    /// The record in the directory.
    fn central(&self, to: &mut Vec<u8>) {
        let max = u64::from(u32::MAX);
        let numbers = [self.size, self.packed, self.offset];
        // Both sizes or none, as before the content.
        let wide: Vec<u64> = numbers
            .into_iter()
            .enumerate()
            .filter(|&(at, number)| number >= max || self.is_wide && at < 2)
            .map(|(_, number)| number)
            .collect();
        let is_wide = |at: usize| numbers[at] >= max || self.is_wide && at < 2;
        let field = |at: usize| if is_wide(at) { u32::MAX } else { numbers[at] as u32 };
        let extra = if wide.is_empty() { Vec::new() } else { wide_field(&wide) };
        let version = if wide.is_empty() { self.version() } else { 45 };
        to.extend(b"PK\x01\x02");
        for field in [MADE_ON_UNIX | 45, version, self.flags, self.method] {
            to.extend(field.to_le_bytes());
        }
        for field in [self.time, self.crc, field(1), field(0)] {
            to.extend(field.to_le_bytes());
        }
        // No comment, the first disk, no text.
        for field in [self.name.len(), extra.len() + self.extra.len(), 0, 0, 0] {
            to.extend((field as u16).to_le_bytes());
        }
        to.extend(self.attributes.to_le_bytes());
        to.extend(field(2).to_le_bytes());
        for field in [&self.name, &extra, &self.extra] {
            to.extend_from_slice(field);
        }
    }

    fn version(&self) -> u16 {
        if self.is_wide { 45 } else { 20 }
    }
}

/// The directory, as it grows.
#[derive(Default)]
pub(super) struct Directory {
    records: Vec<u8>,
    entries: u64,
    /// The entry whose content is being written.
    open: Option<(Record, Crc)>,
}

impl Directory {
    /// Takes a part that is written at `offset`, and gives its bytes. An error: an entry has become too large for the
    /// numbers that its head has room for.
    pub(super) fn add(&mut self, part: Part, offset: u64) -> io::Result<Vec<u8>> {
        match part {
            Part::Whole { bytes, records } => {
                for mut record in records {
                    record.offset += offset;
                    self.push(&record);
                }
                Ok(bytes)
            }
            Part::Begin(bytes, mut record) => {
                record.offset = offset;
                self.open = Some((record, Crc::new()));
                Ok(bytes)
            }
            Part::Data { bytes, crc } => {
                let (record, all) = self.open.as_mut().expect("content follows a head");
                all.combine(&crc);
                record.packed += bytes.len() as u64;
                // The checksum counts in 32 bits only.
                record.size += u64::from(crc.amount());
                Ok(bytes)
            }
            Part::End => {
                let (mut record, crc) = self.open.take().expect("an end follows a head");
                record.packed += LAST_BLOCK.len() as u64;
                record.crc = crc.sum();
                if !record.is_wide && record.packed.max(record.size) >= u64::from(u32::MAX) {
                    return Err(io::Error::new(io::ErrorKind::FileTooLarge, "a file has become larger than 4 GiB"));
                }
                self.push(&record);
                Ok([&LAST_BLOCK[..], &record.numbers()].concat())
            }
        }
    }

    fn push(&mut self, record: &Record) {
        record.central(&mut self.records);
        self.entries += 1;
    }

    /// The directory and its end, which are written at `offset`.
    pub(super) fn end(self, offset: u64) -> Vec<u8> {
        let (entries, size) = (self.entries, self.records.len() as u64);
        let mut bytes = self.records;
        let is_wide = entries >= 0xffff || size >= 0xffff_ffff || offset >= 0xffff_ffff;
        if is_wide {
            bytes.extend(b"PK\x06\x06");
            bytes.extend(44u64.to_le_bytes());
            bytes.extend((MADE_ON_UNIX | 45).to_le_bytes());
            bytes.extend(45u16.to_le_bytes());
            bytes.extend([0; 8]); // both disks: the first
            for number in [entries, entries, size, offset] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(b"PK\x06\x07\0\0\0\0");
            bytes.extend((offset + size).to_le_bytes());
            bytes.extend(1u32.to_le_bytes());
        }
        bytes.extend(b"PK\x05\x06\0\0\0\0");
        let entries = entries.min(0xffff) as u16;
        bytes.extend([entries.to_le_bytes(), entries.to_le_bytes()].concat());
        for number in [size, offset] {
            bytes.extend((number.min(0xffff_ffff) as u32).to_le_bytes());
        }
        bytes.extend([0; 2]); // no comment
        bytes
    }
}

/// The extra field of zip64.
fn wide_field(numbers: &[u64]) -> Vec<u8> {
    let mut field = vec![1, 0];
    field.extend((8 * numbers.len() as u16).to_le_bytes());
    field.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    field
}

/// Time and owner, as Info-ZIP has them.
fn extra(entry: &Head) -> Vec<u8> {
    let mut extra = Vec::new();
    if let Ok(seconds) = i32::try_from(entry.modified.0) {
        extra.extend(b"UT\x05\0\x01");
        extra.extend(seconds.to_le_bytes());
    }
    let (user, group) = entry.owner;
    extra.extend(b"ux\x0b\0\x01\x04");
    extra.extend(user.to_le_bytes());
    extra.push(4);
    extra.extend(group.to_le_bytes());
    extra
}

/// Date and time in the user's zone, in steps of two seconds, from 1980 to 2107.
fn dos_time(seconds: i64, utc: bool) -> u32 {
    let fields = |year: i32, month: u32, day: u32, [hours, minutes, seconds]: [u32; 3]| {
        let of = |year: u32, month, day, hours, minutes, seconds: u32| {
            (((year - 1980) << 9 | month << 5 | day) << 16) | hours << 11 | minutes << 5 | (seconds / 2)
        };
        match year {
            ..1980 => of(1980, 1, 1, 0, 0, 0),
            1980..=2107 => of(year as u32, month, day, hours, minutes, seconds),
            _ => of(2107, 12, 31, 23, 59, 58),
        }
    };
    let Some(time) = DateTime::<Utc>::from_timestamp(seconds, 0) else { return fields(0, 1, 1, [0; 3]) };
    match utc {
        true => fields(time.year(), time.month(), time.day(), [time.hour(), time.minute(), time.second()]),
        false => {
            let time = time.with_timezone(&Local);
            fields(time.year(), time.month(), time.day(), [time.hour(), time.minute(), time.second()])
        }
    }
}
