//! The meaning of a directory's record: name, kind, permissions, time.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use chrono::{Local, Months, NaiveDate, NaiveTime, TimeDelta, TimeZone};
use manyfiles::tree::Node;
use manyfiles::{Error, Operation};

use super::directory::Record;
use super::field::{u16_at, u32_at, u64_at};
use crate::entry::{Entry, Kind, time};
use crate::sys;

const UNIX: u8 = 3;
const DARWIN: u8 = 19;
/// MS-DOS, OS/2, NTFS and VFAT.
const WINDOWS: [u8; 4] = [0, 6, 10, 14];

const UNICODE_PATH: u16 = 0x7075;
const UNIX_TIMES: u16 = 0x5455;
const UNIX_OWNER: u16 = 0x7875;
const NTFS_TIMES: u16 = 0x000a;

/// The types of files, as Unix writes them.
const TYPE: u32 = 0o170_000;
const FIFO: u32 = 0o010_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;

impl<'a> Record<'a> {
    /// The name, as the bytes that a path on this system has.
    pub(super) fn name(&self) -> Cow<'a, [u8]> {
        let mut name = self.encoded_name();
        if WINDOWS.contains(&self.host) && !name.contains(&b'/') && name.contains(&b'\\') {
            // Some programs on Windows write their own separator.
            name = name.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect();
        }
        name
    }

    fn encoded_name(&self) -> Cow<'a, [u8]> {
        for (id, field) in self.extra() {
            // Version 1, the checksum of the name that it replaces, and the name.
            if id == UNICODE_PATH && field.len() > 5 && field[0] == 1 && u32_at(field, 1) == crc(self.raw_name) {
                let name = &field[5..];
                if !sys::NAMES_ARE_UNICODE || std::str::from_utf8(name).is_ok() {
                    return Cow::Borrowed(name);
                }
            }
        }
        let says_utf8 = self.flags & 1 << 11 != 0;
        let is_dos = !matches!(self.host, UNIX | DARWIN);
        let as_it_is = (says_utf8 || !is_dos) && !sys::NAMES_ARE_UNICODE;
        if as_it_is || std::str::from_utf8(self.raw_name).is_ok() {
            return Cow::Borrowed(self.raw_name);
        }
        let name: String = self.raw_name.iter().map(|&byte| from_cp437(byte)).collect();
        Cow::Owned(name.into_bytes())
    }

    fn unix_mode(&self) -> Option<u32> {
        let mode = self.attributes >> 16;
        (matches!(self.host, UNIX | DARWIN) && mode != 0).then_some(mode)
    }

    /// The entry. A symbolic link's target is in its content: give it, or an empty path.
    pub(super) fn entry<'b>(&self, name: &'b [u8], target: &'b Path) -> Entry<'b> {
        let mode = self.unix_mode();
        let has_content = self.size > 0 || name == b"-";
        let kind = match mode.map_or(0, |mode| mode & TYPE) {
            _ if name.ends_with(b"/") => Kind::Folder,
            FOLDER => Kind::Folder,
            // MS-DOS's bit for folders, which Unix writers set as well.
            0 if self.attributes & 0x10 != 0 => Kind::Folder,
            0 | FILE => Kind::File,
            SYMLINK => Kind::Symlink(target),
            // Content that came through something else is that of a file. `zip archive.zip -` calls it "-", and notes
            // what its standard input was: a pipe, a device, a socket.
            _ if has_content => Kind::File,
            FIFO => Kind::Node(Node::Fifo),
            _ => Kind::Other,
        };
        let read_only = mode.is_none() && self.attributes & 1 != 0 && kind == Kind::File;
        let mut entry = Entry {
            attributes: &[],
            acl: None,
            default_acl: None,
            user_name: None,
            group_name: None,
            path: sys::path(name),
            kind,
            size: if kind == Kind::File { self.size } else { 0 },
            mode: mode.map(|mode| mode & 0o7777).or(sys::READ_ONLY.filter(|_| read_only)),
            modified: self.modified(),
            owner: self.owner(),
            is_encrypted: self.encryption.is_some(),
            refusal: None,
        };
        if !matches!(entry.kind, Kind::File | Kind::Symlink(_)) {
            return entry;
        }
        if self.is_broken {
            entry.refusal =
                Some(unreadable(&entry, io::ErrorKind::InvalidData, "the archive's directory is damaged here"));
        } else if let Some(message) = self.locked() {
            entry.refusal = Some(unreadable(&entry, io::ErrorKind::Unsupported, message));
        }
        entry
    }

    fn modified(&self) -> Option<SystemTime> {
        for (id, field) in self.extra() {
            if id == UNIX_TIMES && field.len() >= 5 && field[0] & 1 != 0 {
                return time(i64::from(u32_at(field, 1) as i32), 0);
            }
            // Four bytes of nothing, then attributes of which the first has three times.
            if id == NTFS_TIMES && field.len() >= 16 && u16_at(field, 4) == 1 {
                return from_windows(u64_at(field, 8));
            }
        }
        from_dos(self.dos_date, self.dos_time)
    }

    fn owner(&self) -> Option<(u32, u32)> {
        let (_, field) = self.extra().find(|(id, _)| *id == UNIX_OWNER)?;
        // Version 1, then each number with its length before it.
        let (&len, rest) = field.strip_prefix(b"\x01")?.split_first()?;
        let (user, rest) = rest.split_at_checked(len.into())?;
        let (&len, rest) = rest.split_first()?;
        let (group, _) = rest.split_at_checked(len.into())?;
        Some((number(user)?, number(group)?))
    }
}

/// The error of an entry with content that cannot be read.
pub(crate) fn unreadable(entry: &Entry<'_>, kind: io::ErrorKind, message: &str) -> Error {
    Error::new(Operation::Read, entry.path, io::Error::new(kind, message.to_owned()))
}

fn number(bytes: &[u8]) -> Option<u32> {
    let mut value: u64 = 0;
    for &byte in bytes.iter().rev() {
        value = value.checked_mul(256)? | u64::from(byte);
    }
    value.try_into().ok()
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Tenths of microseconds since 1601.
fn from_windows(ticks: u64) -> Option<SystemTime> {
    const SECONDS_TO_1970: i64 = 11_644_473_600;
    let seconds = i64::try_from(ticks / 10_000_000).ok()? - SECONDS_TO_1970;
    time(seconds, (ticks % 10_000_000) as u32 * 100)
}

/// Local time, in steps of two seconds. Fields that are too large carry over into the next, as in C's `mktime`; the
/// month 0, which writers without a clock have, is January. So a field of zeros is 31 December 1979, as in unzip. The
/// time of unpacking would be no good value: the same archive would give two different results.
fn from_dos(date: u16, clock: u16) -> Option<SystemTime> {
    let (year, month, day) = (1980 + i32::from(date >> 9), u32::from(date >> 5 & 15).max(1), i64::from(date & 31));
    let (hour, minute, second) = (i64::from(clock >> 11), i64::from(clock >> 5 & 63), i64::from(clock & 31) * 2);
    let first = NaiveDate::from_ymd_opt(year, 1, 1)? + Months::new(month - 1);
    let seconds = (((day - 1) * 24 + hour) * 60 + minute) * 60 + second;
    let local = first.and_time(NaiveTime::MIN) + TimeDelta::seconds(seconds);
    // An hour that a change of clocks leaves out is taken for the one after it, as nearly as can be told.
    let time = Local.from_local_datetime(&local).earliest();
    let later = || Local.from_local_datetime(&(local + TimeDelta::hours(1))).earliest();
    Some(time.or_else(later)?.into())
}

/// The character set of the IBM PC. Names are in it unless the record says otherwise.
fn from_cp437(byte: u8) -> char {
    const UPPER: [char; 128] = [
        'Ç', 'ü', 'é', 'â', 'ä', 'à', 'å', 'ç', 'ê', 'ë', 'è', 'ï', 'î', 'ì', 'Ä', 'Å', 'É', 'æ', 'Æ', 'ô', 'ö', 'ò',
        'û', 'ù', 'ÿ', 'Ö', 'Ü', '¢', '£', '¥', '₧', 'ƒ', 'á', 'í', 'ó', 'ú', 'ñ', 'Ñ', 'ª', 'º', '¿', '⌐', '¬', '½',
        '¼', '¡', '«', '»', '░', '▒', '▓', '│', '┤', '╡', '╢', '╖', '╕', '╣', '║', '╗', '╝', '╜', '╛', '┐', '└', '┴',
        '┬', '├', '─', '┼', '╞', '╟', '╚', '╔', '╩', '╦', '╠', '═', '╬', '╧', '╨', '╤', '╥', '╙', '╘', '╒', '╓', '╫',
        '╪', '┘', '┌', '█', '▄', '▌', '▐', '▀', 'α', 'ß', 'Γ', 'π', 'Σ', 'σ', 'µ', 'τ', 'Φ', 'Θ', 'Ω', 'δ', '∞', 'φ',
        'ε', '∩', '≡', '±', '≥', '≤', '⌠', '⌡', '÷', '≈', '°', '∙', '·', '√', 'ⁿ', '²', '■', '\u{a0}',
    ];
    match byte {
        0..0x80 => byte.into(),
        _ => UPPER[usize::from(byte - 0x80)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_of_windows_and_dos_are_times_of_unix() {
        assert_eq!(from_windows(116_444_736_000_000_000), Some(SystemTime::UNIX_EPOCH));
        assert_eq!(from_windows(116_444_736_000_000_001), Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(100)));
        assert!(from_windows(0).unwrap() < SystemTime::UNIX_EPOCH);
        from_windows(u64::MAX);
    }

    #[test]
    fn every_time_of_dos_is_a_time_and_none_is_the_present() {
        let at = |year, month, day, hour, minute, second| {
            let local = NaiveDate::from_ymd_opt(year, month, day).unwrap().and_hms_opt(hour, minute, second).unwrap();
            Some(SystemTime::from(Local.from_local_datetime(&local).earliest().unwrap()))
        };
        assert_eq!(from_dos(0, 0), at(1979, 12, 31, 0, 0, 0), "what all is zero in");
        assert_eq!(from_dos(0x0021, 0), at(1980, 1, 1, 0, 0, 0));
        assert_eq!(
            from_dos(0x5000 | 2 << 5 | 31, 31 << 11 | 63 << 5 | 31),
            at(2020, 3, 3, 8, 4, 2),
            "31 February, 31:63:62"
        );
        for date in 0..=u16::MAX {
            assert!(from_dos(date, 0xffff).is_some(), "{date:#x}");
        }
    }

    #[test]
    fn old_names_are_in_the_character_set_of_the_ibm_pc() {
        assert_eq!([b'a', 0x81, 0x9b, 0xe1, 0xff].map(from_cp437), ['a', 'ü', '¢', 'ß', '\u{a0}']);
    }

    #[test]
    fn numbers_of_any_length_are_read_or_refused() {
        assert_eq!(number(&[1, 2]), Some(0x201));
        assert_eq!(number(&[]), Some(0));
        assert_eq!(number(&[0, 0, 0, 0, 1]), None);
        assert_eq!(number(&[9; 40]), None);
    }
}
