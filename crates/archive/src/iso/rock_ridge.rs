//! Rock Ridge: what Unix knows of a file, in fields behind its record, which may go on somewhere else.

use std::time::SystemTime;

use super::record::{long_time, short_time};
use crate::error::ErrorKind;
use crate::joined::Joined;

/// How often fields may go on somewhere else: more is a circle.
const MOST_PLACES: usize = 64;
const LONGEST_NAME: usize = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct RockRidge {
    pub name: Option<Vec<u8>>,
    pub mode: Option<u32>,
    pub links: u32,
    pub owner: Option<(u32, u32)>,
    pub device: (u32, u32),
    pub target: Option<Vec<u8>>,
    pub modified: Option<SystemTime>,
    /// The block of a folder that was moved elsewhere, and belongs here.
    pub child: Option<u32>,
    /// Whether it is a folder that was moved here.
    pub is_relocated: bool,
    pub is_compressed: bool,
}

pub(super) enum Wrong {
    Read(ErrorKind),
    Damage(&'static str),
}

/// How many bytes to pass over in each record, if the root says that there is Rock Ridge.
pub(super) fn begin(system: &[u8]) -> Option<usize> {
    // On a CD for an XA drive, other bytes come before.
    [0, 14].into_iter().find_map(|at| match system.get(at..at + 7)? {
        [b'S', b'P', 7, 1, 0xbe, 0xef, skip] => Some(usize::from(*skip)),
        _ => None,
    })
}

/// A number that stands there in both orders of its bytes.
fn number(field: &[u8], at: usize) -> Option<u32> {
    field.get(at..at + 4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

impl RockRidge {
    pub(super) fn parse(system: &[u8], file: &Joined, block: u64) -> Result<RockRidge, Wrong> {
        let mut all = RockRidge::default();
        let mut link = Link::default();
        let mut place = system.to_vec();
        for _ in 0..MOST_PLACES {
            let mut next = None;
            let mut rest = &place[..];
            while let [first, second, len, _version, ..] = *rest {
                let Some((field, behind)) = rest.split_at_checked(len.into()).filter(|_| len >= 4) else {
                    break; // padding
                };
                rest = behind;
                match &[first, second] {
                    b"ST" => break,
                    b"CE" => next = number(field, 4).zip(number(field, 12)).zip(number(field, 20)),
                    kind => all.field(kind, field, &mut link)?,
                }
            }
            let Some(((at, offset), len)) = next else {
                all.target = link.target;
                return Ok(all);
            };
            let at = u64::from(at) * block + u64::from(offset);
            if at.saturating_add(len.into()) > file.len() || u64::from(len) > super::SECTOR {
                return Err(Wrong::Damage("what is said of a file goes on behind the end of the image"));
            }
            place = vec![0; len as usize];
            file.fill(&mut place, at).map_err(Wrong::Read)?;
        }
        Err(Wrong::Damage("what is said of a file goes on in a circle"))
    }

    fn field(&mut self, kind: &[u8; 2], field: &[u8], link: &mut Link) -> Result<(), Wrong> {
        match kind {
            b"PX" => {
                self.mode = number(field, 4);
                self.links = number(field, 12).unwrap_or(1);
                self.owner = number(field, 20).zip(number(field, 28));
            }
            b"PN" => {
                if let Some((high, low)) = number(field, 4).zip(number(field, 12)) {
                    self.device = device(high, low);
                }
            }
            b"NM" if field.len() >= 5 && field[4] & 0b110 == 0 => {
                let name = self.name.get_or_insert_default();
                name.extend(&field[5..]);
                if name.len() > LONGEST_NAME {
                    return Err(Wrong::Damage("a name is longer than 64 KiB"));
                }
            }
            b"SL" if field.len() >= 5 => link.add(&field[5..])?,
            b"TF" if field.len() >= 5 => self.modified = modified(field[4], &field[5..]).or(self.modified),
            b"CL" => self.child = number(field, 4),
            b"RE" => self.is_relocated = true,
            b"ZF" => self.is_compressed = true,
            _ => {}
        }
        Ok(())
    }
}

/// A device's numbers: in two fields, or in one as Linux and BSD have them.
fn device(high: u32, low: u32) -> (u32, u32) {
    match high {
        0 => (low >> 8 & 0xfff, low & 0xff | low >> 12 & 0xf_ff00),
        _ => (high, low),
    }
}

/// Of the times that are there, that of the last modification.
fn modified(flags: u8, times: &[u8]) -> Option<SystemTime> {
    let len = if flags & 0x80 != 0 { 17 } else { 7 };
    if flags & 2 == 0 {
        return None;
    }
    let at = if flags & 1 != 0 { len } else { 0 };
    let bytes = times.get(at..at + len)?;
    if len == 17 { long_time(bytes) } else { short_time(bytes) }
}

/// A symbolic link that is being put together.
#[derive(Default)]
struct Link {
    target: Option<Vec<u8>>,
    /// Whether the next part belongs to the last name.
    goes_on: bool,
}

impl Link {
    fn add(&mut self, mut parts: &[u8]) -> Result<(), Wrong> {
        let target = self.target.get_or_insert_default();
        while let [flags, len, ..] = *parts {
            let Some((part, rest)) = parts[2..].split_at_checked(len.into()) else {
                return Err(Wrong::Damage("a symbolic link is malformed"));
            };
            parts = rest;
            let is_after_name = !target.is_empty() && !target.ends_with(b"/");
            if is_after_name && !self.goes_on {
                target.push(b'/');
            }
            match flags & 0b1110 {
                0b0010 => target.push(b'.'),
                0b0100 => target.extend(b".."),
                // The root; or, in the middle, a name that is empty.
                0b1000 => target.push(b'/'),
                _ => target.extend(part),
            }
            self.goes_on = flags & 1 != 0;
            if target.len() > LONGEST_NAME {
                return Err(Wrong::Damage("a symbolic link is longer than 64 KiB"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_put_together_of_its_parts() {
        let mut link = Link::default();
        link.add(b"\x08\0\0\x01a\x04\0\x01\x02lo").ok().unwrap();
        link.add(b"\0\x02ng").ok().unwrap();
        assert_eq!(link.target.unwrap(), b"/a/../long");
        assert!(Link::default().add(b"\0\x05abc").is_err());
    }

    #[test]
    fn devices_have_their_numbers_in_one_field_or_in_two() {
        assert_eq!(device(1, 3), (1, 3));
        assert_eq!(device(0, 0x103), (1, 3));
    }
}
