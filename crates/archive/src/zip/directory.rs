//! The directory of a zip, kept as the bytes it is, and parsed an entry at a time.

use super::encrypted::{AES, AES_METHOD, Encryption};
use super::end::End;
use super::field::{extra_fields, u16_at, u32_at, u64_at};
use crate::error::{ErrorKind, Position, Result};
use crate::joined::Joined;
use crate::password::{CLOSED, WRONG};

pub(super) const FIXED: usize = 46;
/// A directory for ten million entries: a limit on memory.
const LARGEST: u64 = 1 << 30;

#[derive(Debug)]
pub(crate) struct Directory {
    bytes: Vec<u8>,
    /// Where each entry begins.
    starts: Vec<u32>,
    shift: u64,
    /// Where each part of a split archive begins.
    disks: Option<Vec<u64>>,
    pub lock: Lock,
    /// Where it begins.
    pub start: u64,
    /// The damage after the last entry, if there is any.
    pub damage: Option<ErrorKind>,
    /// Where bytes behind the last entry begin that are neither an entry nor a signature, if there are any.
    pub odd_end: Option<u64>,
}

/// Whether encrypted entries can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lock {
    #[default]
    Open,
    /// No password was given.
    Closed,
    /// The password is wrong.
    Wrong,
}

impl Directory {
    pub(super) fn read(file: &Joined, end: &End) -> Result<Directory, ErrorKind> {
        let damaged = |at: usize, cause: &str| ErrorKind::damaged(Position::Archive(end.start + at as u64), cause);
        if end.size > LARGEST {
            return Err(damaged(0, "its directory is larger than 1 GiB"));
        }
        let mut bytes = vec![0; end.size as usize];
        file.fill(&mut bytes, end.start)?;
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
        let (shift, disks, lock) = (end.shift, file.disks(), Lock::Open);
        Ok(Directory { bytes, starts, shift, disks, lock, start: end.start, damage, odd_end })
    }

    /// A directory of records that were made of something else.
    pub(super) fn of(bytes: Vec<u8>, starts: Vec<u32>) -> Directory {
        let (disks, lock) = (None, Lock::Open);
        Directory { bytes, starts, shift: 0, disks, lock, start: u64::MAX, damage: None, odd_end: None }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The bytes of a record, without what it is to be shifted by.
    pub(super) fn raw(&self, index: usize) -> &[u8] {
        &self.bytes[self.starts[index] as usize..]
    }

    pub(crate) fn record(&self, index: usize) -> Record<'_> {
        let mut record = Record::parse(&self.bytes[self.starts[index] as usize..], self.shift);
        record.lock = self.lock;
        if let Some(disks) = &self.disks {
            record.place(disks);
        }
        record
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
    pub disk: u32,
    /// The system it was made on.
    pub host: u8,
    pub attributes: u32,
    pub flags: u16,
    /// How the content is compressed.
    pub method: u16,
    /// The method as it stands there: that of AES hides the other.
    pub raw_method: u16,
    pub encryption: Option<Encryption>,
    lock: Lock,
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
            disk: u16_at(bytes, 34).into(),
            host: bytes[5],
            attributes: u32_at(bytes, 38),
            flags: u16_at(bytes, 8),
            method: u16_at(bytes, 10),
            raw_method: u16_at(bytes, 10),
            encryption: None,
            lock: Lock::Open,
            dos_time: u16_at(bytes, 12),
            dos_date: u16_at(bytes, 14),
            crc: u32_at(bytes, 16),
            packed: u32_at(bytes, 20).into(),
            size: u32_at(bytes, 24).into(),
            start: u32_at(bytes, 42).into(),
            is_broken: false,
        };
        record.widen();
        record.find_encryption();
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
        if self.disk == 0xffff
            && let Some(field) = wide.get(..4)
        {
            self.disk = u32_at(field, 0);
        }
    }

    /// In a split archive, a place is a part and the place there.
    fn place(&mut self, disks: &[u64]) {
        match disks.get(self.disk as usize).and_then(|disk| self.start.checked_add(*disk)) {
            Some(start) => (self.start, self.disk) = (start, 0),
            None => self.is_broken = true,
        }
    }

    fn find_encryption(&mut self) {
        const NUMBERS_FOLLOW: u16 = 1 << 3;
        // PKWARE's "strong encryption", and headers that are hidden by it.
        const OTHER: u16 = 1 << 6 | 1 << 13;
        if self.flags & 1 == 0 {
            return;
        }
        let aes = || self.extra().find(|(id, _)| *id == AES).and_then(|(_, field)| Encryption::aes(field));
        self.encryption = Some(match (self.flags & OTHER, self.raw_method) {
            (0, AES_METHOD) => match aes() {
                Some((encryption, method)) => {
                    self.method = method;
                    encryption
                }
                None => Encryption::Other,
            },
            // The checksum is not known there before the content is.
            (0, _) if self.flags & NUMBERS_FOLLOW != 0 => Encryption::Old { check: (self.dos_time >> 8) as u8 },
            (0, _) => Encryption::Old { check: (self.crc >> 24) as u8 },
            _ => Encryption::Other,
        });
    }

    /// Why content cannot be decrypted.
    pub(super) fn locked(&self) -> Option<&'static str> {
        match (self.encryption?, self.lock) {
            (Encryption::Other, _) => Some("it is encrypted in a way that is not supported; `7zz x` may know it"),
            (_, Lock::Open) => None,
            (_, Lock::Closed) => Some(CLOSED),
            (_, Lock::Wrong) => Some(WRONG),
        }
    }

    pub(super) fn extra(&self) -> impl Iterator<Item = (u16, &'a [u8])> {
        extra_fields(self.extra)
    }

    pub(super) fn raw_extra(&self) -> &'a [u8] {
        self.extra
    }
}
