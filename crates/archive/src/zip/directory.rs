//! The directory of a zip, kept as the bytes it is, and parsed an entry at a time.

use std::fs::File;

use super::end::End;
use super::field::{extra_fields, u16_at, u32_at, u64_at};
use crate::error::{ErrorKind, Position, Result};
use crate::read_at::read_at;

pub(super) const FIXED: usize = 46;
/// A directory for ten million entries: a limit on memory.
const LARGEST: u64 = 1 << 30;

#[derive(Debug)]
pub(crate) struct Directory {
    bytes: Vec<u8>,
    /// Where each entry begins.
    starts: Vec<u32>,
    shift: u64,
    /// Where it begins.
    pub start: u64,
    /// The damage after the last entry, if there is any.
    pub damage: Option<ErrorKind>,
    /// Where bytes behind the last entry begin that are neither an entry nor a signature, if there are any.
    pub odd_end: Option<u64>,
}

impl Directory {
    pub(super) fn read(file: &File, end: &End) -> Result<Directory, ErrorKind> {
        let damaged = |at: usize, cause: &str| ErrorKind::damaged(Position::Archive(end.start + at as u64), cause);
        if end.size > LARGEST {
            return Err(damaged(0, "its directory is larger than 1 GiB"));
        }
        let mut bytes = vec![0; end.size as usize];
        read_at(file, &mut bytes, end.start)?;
        let mut starts = Vec::new();
        let mut at = 0;
        while bytes[at..].starts_with(b"PK\x01\x02") && bytes.len() - at >= FIXED {
            let fixed = &bytes[at..];
            let len = FIXED + [28, 30, 32].map(|field| usize::from(u16_at(fixed, field))).iter().sum::<usize>();
            if len > fixed.len() {
                break;
            }
            starts.push(at as u32);
            at += len;
        }
        let count = starts.len() as u64;
        // Writers without zip64 let the count of more entries wrap around.
        let is_count = if end.is_zip64 { count == end.entries } else { count as u16 == end.entries as u16 };
        let damage =
            (!is_count).then(|| damaged(at, "its directory is damaged, or has not as many entries as it says"));
        let odd_end = (at < bytes.len() && !bytes[at..].starts_with(b"PK\x05\x05")).then_some(end.start + at as u64);
        Ok(Directory { bytes, starts, shift: end.shift, start: end.start, damage, odd_end })
    }

    /// A directory of records that were made of something else.
    pub(super) fn of(bytes: Vec<u8>, starts: Vec<u32>) -> Directory {
        Directory { bytes, starts, shift: 0, start: u64::MAX, damage: None, odd_end: None }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The bytes of a record, without what it is to be shifted by.
    pub(super) fn raw(&self, index: usize) -> &[u8] {
        &self.bytes[self.starts[index] as usize..]
    }

    pub(crate) fn record(&self, index: usize) -> Record<'_> {
        Record::parse(&self.bytes[self.starts[index] as usize..], self.shift)
    }
}

/// The directory's record of an entry.
#[derive(Clone, Debug)]
pub(crate) struct Record<'a> {
    pub raw_name: &'a [u8],
    extra: &'a [u8],
    /// The version of the format that it needs, times ten.
    pub version: u8,
    /// The system that it needs.
    pub needed_host: u8,
    /// The number of the part of the archive that it begins on.
    pub disk: u16,
    /// The system it was made on.
    pub host: u8,
    pub attributes: u32,
    pub flags: u16,
    pub method: u16,
    pub dos_time: u16,
    pub dos_date: u16,
    pub crc: u32,
    pub packed: u64,
    pub size: u64,
    /// Where its own header is.
    pub start: u64,
    /// Whether sizes or start are missing.
    pub is_broken: bool,
}

impl<'a> Record<'a> {
    /// `bytes` begin with a whole record.
    fn parse(bytes: &'a [u8], shift: u64) -> Record<'a> {
        let (name, extra) = (u16_at(bytes, 28).into(), u16_at(bytes, 30).into());
        let (raw_name, rest) = bytes[FIXED..].split_at(name);
        let mut record = Record {
            raw_name,
            extra: &rest[..extra],
            version: bytes[6],
            needed_host: bytes[7],
            disk: u16_at(bytes, 34),
            host: bytes[5],
            attributes: u32_at(bytes, 38),
            flags: u16_at(bytes, 8),
            method: u16_at(bytes, 10),
            dos_time: u16_at(bytes, 12),
            dos_date: u16_at(bytes, 14),
            crc: u32_at(bytes, 16),
            packed: u32_at(bytes, 20).into(),
            size: u32_at(bytes, 24).into(),
            start: u32_at(bytes, 42).into(),
            is_broken: false,
        };
        record.widen();
        match record.start.checked_add(shift) {
            Some(start) => record.start = start,
            None => record.is_broken = true,
        }
        record
    }

    /// Takes from the zip64 field the numbers that are too large for the record.
    fn widen(&mut self) {
        let mut wide = extra_fields(self.extra).find(|(id, _)| *id == 1).map_or(&[][..], |(_, field)| field);
        for value in [&mut self.size, &mut self.packed, &mut self.start] {
            if *value == 0xffff_ffff {
                match wide.split_at_checked(8) {
                    Some((field, rest)) => (*value, wide) = (u64_at(field, 0), rest),
                    // A file of just that size, by a writer without zip64.
                    None if wide.is_empty() => {}
                    None => self.is_broken = true,
                }
            }
        }
    }

    pub(super) fn extra(&self) -> impl Iterator<Item = (u16, &'a [u8])> {
        extra_fields(self.extra)
    }

    pub(super) fn raw_extra(&self) -> &'a [u8] {
        self.extra
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.flags & 1 != 0
    }
}
