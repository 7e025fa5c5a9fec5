//! A record of a folder: a name, and where its content is.

use std::time::SystemTime;

use crate::entry::time;

/// The shortest record: without a name.
const FIXED: usize = 33;

#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The number of its first block.
    pub extent: u64,
    pub len: u64,
    pub modified: Option<SystemTime>,
    pub is_folder: bool,
    /// Whether the next record goes on with the same file.
    pub has_more: bool,
    pub is_interleaved: bool,
    /// Whether its pieces do not follow each other.
    pub is_scattered: bool,
    pub name: Vec<u8>,
    /// What Rock Ridge says of it.
    pub system: Vec<u8>,
}

impl Record {
    /// The record that `bytes` begin with.
    pub(super) fn parse(bytes: &[u8]) -> Option<Record> {
        let bytes = bytes.get(..usize::from(*bytes.first()?)).filter(|bytes| bytes.len() > FIXED)?;
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let name_len = usize::from(bytes[32]);
        let name = bytes.get(FIXED..FIXED + name_len).filter(|name| !name.is_empty())?;
        // Names of an even length are filled up.
        let system = bytes.get(FIXED + name_len + usize::from(name_len % 2 == 0)..).unwrap_or_default();
        Some(Record {
            // Attributes of its own may come before the content.
            extent: u64::from(number(2)) + u64::from(bytes[1]),
            len: number(10).into(),
            modified: short_time(&bytes[18..25]),
            is_folder: bytes[25] & 2 != 0,
            has_more: bytes[25] & 0x80 != 0,
            is_interleaved: bytes[26] != 0 || bytes[27] != 0,
            is_scattered: false,
            name: name.to_vec(),
            system: system.to_vec(),
        })
    }

    /// Whether it is that of the folder itself, or of the one above.
    pub(super) fn is_dot(&self) -> bool {
        matches!(self.name[..], [0 | 1])
    }

    /// Takes what another record has of the same file, before it.
    pub(super) fn join(&mut self, first: &Record, block: u64) {
        let follows = first.extent.checked_mul(block).and_then(|at| at.checked_add(first.len));
        self.is_scattered |= first.is_scattered || follows != self.extent.checked_mul(block) || first.name != self.name;
        self.is_interleaved |= first.is_interleaved;
        self.extent = first.extent;
        self.len = self.len.saturating_add(first.len);
        self.system.clone_from(&first.system);
    }
}

/// A time in seven bytes: years since 1900, month, day, hour, minute, second, and quarters of an hour east of Greenwich.
pub(super) fn short_time(bytes: &[u8]) -> Option<SystemTime> {
    let &[year, month, day, hour, minute, second, zone] = bytes else { return None };
    moment(1900 + i32::from(year), [month, day, hour, minute, second].map(u32::from), 0, zone)
}

/// A time in 17 bytes: digits down to hundredths of seconds, and quarters of an hour.
pub(super) fn long_time(bytes: &[u8]) -> Option<SystemTime> {
    let (digits, zone) = (bytes.get(..16)?, *bytes.get(16)?);
    let number = |from: usize, to: usize| std::str::from_utf8(&digits[from..to]).ok()?.parse::<u32>().ok();
    let rest = [number(4, 6)?, number(6, 8)?, number(8, 10)?, number(10, 12)?, number(12, 14)?];
    moment(number(0, 4)? as i32, rest, number(14, 16)?, zone)
}

fn moment(year: i32, [month, day, hour, minute, second]: [u32; 5], hundredths: u32, zone: u8) -> Option<SystemTime> {
    let day = chrono::NaiveDate::from_ymd_opt(year, month, day)?.and_hms_opt(hour, minute, second)?;
    let east = i64::from(zone as i8) * 15 * 60;
    time(day.and_utc().timestamp() - east, hundredths * 10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_have_a_zone() {
        let at = |seconds, nanos| Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos));
        assert_eq!(short_time(&[70, 1, 1, 1, 0, 5, 4]), at(5, 0));
        assert_eq!(short_time(&[70, 1, 1, 0, 0, 0, 0xfc]), at(3600, 0));
        assert_eq!(short_time(&[70, 13, 1, 0, 0, 0, 0]), None);
        assert_eq!(long_time(b"1970010101000550\x04"), at(5, 500_000_000));
        assert_eq!(long_time(b"0000000000000000\0"), None);
    }
}
