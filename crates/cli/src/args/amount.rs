//! Numbers on the command line: a plain count, and a size with a unit. `none` stands for no limit.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub u64);

impl Count {
    pub(crate) const NONE: Count = Count(u64::MAX);
}

impl Size {
    pub(crate) const NONE: Size = Size(u64::MAX);
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Count, String> {
        match text {
            "none" => Ok(Count::NONE),
            _ => text.parse().map(Count).map_err(|_| "give a whole number, or 'none'".into()),
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        if text == "none" {
            return Ok(Size::NONE);
        }
        let wrong = || "give a number of bytes such as 500M, 2G or 1500000, or 'none'".to_string();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        unit_size(unit)
            .ok_or_else(wrong)?
            .checked_mul(number)
            .map(Size)
            .ok_or_else(|| "more than 2^64 bytes; for no limit give 'none'".into())
    }
}

fn unit_size(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_uppercase();
    let (prefix, base) = match unit.strip_suffix("IB") {
        Some(prefix) => (prefix, 1024u64),
        None => match unit.strip_suffix('B') {
            Some(prefix) => (prefix, 1000),
            None => (unit.as_str(), 1024),
        },
    };
    let power = match prefix {
        "" if !unit.starts_with('I') => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        _ => return None,
    };
    base.checked_pow(power)
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Count::NONE { f.write_str("none") } else { self.0.fmt(f) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Size::NONE {
            return f.write_str("none");
        }
        let units = ["", "K", "M", "G", "T", "P"];
        let power = (0..units.len()).rev().find(|&power| self.0.is_multiple_of(1024u64.pow(power as u32))).unwrap_or(0);
        let power = if self.0 == 0 { 0 } else { power };
        write!(f, "{}{}", self.0 / 1024u64.pow(power as u32), units[power])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_the_units_that_people_write() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("17B", 17),
            ("1K", 1024),
            ("1k", 1024),
            ("1KiB", 1024),
            ("1KB", 1000),
            ("3M", 3 << 20),
            ("2G", 2 << 30),
            ("2gb", 2_000_000_000),
            ("1T", 1 << 40),
            ("none", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "K", "-1", "1.5G", "1X", "1iB", "1 G", "99999999999999999999", "16777216T"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_reads_back_as_it_is_shown() {
        for bytes in [0, 1, 1023, 1024, 1536, 1 << 20, 5 << 30, 1 << 40, (1 << 40) + 1, u64::MAX] {
            assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
        }
        assert_eq!(Size(1 << 40).to_string(), "1T");
    }

    #[test]
    fn counts_are_whole_numbers_or_none() {
        assert_eq!("12".parse(), Ok(Count(12)));
        assert_eq!("none".parse(), Ok(Count::NONE));
        assert!("1K".parse::<Count>().is_err());
    }
}
