//! The headers of cpio archives: four kinds of them, one of which comes in two byte orders.

use crate::entry::time;
use std::time::SystemTime;

/// How many bytes the shortest header has, and the longest.
pub(super) const SHORTEST: usize = 26;
pub(super) const LONGEST: usize = 110;

/// A longer name is none.
const LONGEST_NAME: u64 = 64 << 10;

/// How a header is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Hexadecimal digits: "newc"; with `sums`, each file has the sum of its bytes: "crc".
    New { sums: bool },
    /// Octal digits: "odc", the format of POSIX.
    Octal,
    /// Numbers of 16 bits, the old binary format, which has the order of bytes of the machine that wrote it.
    Binary { big: bool },
}

impl Kind {
    /// By the first six bytes.
    pub(super) fn of(magic: &[u8]) -> Option<Kind> {
        Some(match magic {
            [b'0', b'7', b'0', b'7', b'0', b'1', ..] => Kind::New { sums: false },
            [b'0', b'7', b'0', b'7', b'0', b'2', ..] => Kind::New { sums: true },
            [b'0', b'7', b'0', b'7', b'0', b'7', ..] => Kind::Octal,
            [0xc7, 0x71, ..] => Kind::Binary { big: false },
            [0x71, 0xc7, ..] => Kind::Binary { big: true },
            _ => return None,
        })
    }

    pub(super) fn header_len(self) -> usize {
        match self {
            Kind::New { .. } => LONGEST,
            Kind::Octal => 76,
            Kind::Binary { .. } => SHORTEST,
        }
    }

    /// What names and contents are filled up to a multiple of.
    fn alignment(self) -> u64 {
        match self {
            Kind::New { .. } => 4,
            Kind::Octal => 1,
            Kind::Binary { .. } => 2,
        }
    }

    /// Zeros behind a file's content.
    pub(super) fn padding(self, size: u64) -> u64 {
        size.next_multiple_of(self.alignment()) - size
    }
}

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub kind: Kind,
    /// What files with several names have in common: device and number.
    pub identity: (u64, u64),
    pub mode: u32,
    pub owner: (u32, u32),
    pub names: u64,
    pub modified: Option<SystemTime>,
    pub size: u64,
    /// The length of the name, with the zero at its end.
    pub name_len: u64,
    pub device: (u32, u32),
    pub sum: Option<u32>,
}

impl Header {
    /// Reads a whole header. `None`: a field of it is no possible number.
    pub(super) fn read(kind: Kind, bytes: &[u8]) -> Option<Header> {
        let header = match kind {
            Kind::New { sums } => new(kind, sums, bytes.get(6..LONGEST)?)?,
            Kind::Octal => octal(bytes.get(6..76)?)?,
            Kind::Binary { big } => binary(big, bytes.get(..SHORTEST)?)?,
        };
        (1..=LONGEST_NAME).contains(&header.name_len).then_some(header)
    }

    /// Zeros behind its name.
    pub(super) fn name_padding(&self) -> u64 {
        self.kind.padding(self.kind.header_len() as u64 + self.name_len)
    }
}

fn new(kind: Kind, sums: bool, digits: &[u8]) -> Option<Header> {
    let mut fields = digits.chunks_exact(8).map(|digits| number(digits, 16));
    let mut next = || fields.next().flatten();
    let (ino, mode, user, group, names, seconds) = (next()?, next()?, next()?, next()?, next()?, next()?);
    let (size, major, minor, node_major, node_minor) = (next()?, next()?, next()?, next()?, next()?);
    let (name_len, sum) = (next()?, next()?);
    Some(Header {
        kind,
        identity: (major << 32 | minor, ino),
        mode: mode as u32,
        owner: (user as u32, group as u32),
        names,
        modified: time(seconds as i64, 0),
        size,
        name_len,
        device: (node_major as u32, node_minor as u32),
        sum: sums.then_some(sum as u32),
    })
}

fn octal(digits: &[u8]) -> Option<Header> {
    let mut rest = digits;
    let mut next = |len| {
        let (digits, behind) = rest.split_at_checked(len)?;
        rest = behind;
        number(digits, 8)
    };
    let (device, ino, mode, user, group) = (next(6)?, next(6)?, next(6)?, next(6)?, next(6)?);
    let (names, node, seconds, name_len, size) = (next(6)?, next(6)?, next(11)?, next(6)?, next(11)?);
    Some(Header {
        kind: Kind::Octal,
        identity: (device, ino),
        mode: mode as u32,
        owner: (user as u32, group as u32),
        names,
        modified: time(seconds as i64, 0),
        size,
        name_len,
        device: ((node >> 8) as u32, (node & 0xff) as u32),
        sum: None,
    })
}

fn binary(big: bool, bytes: &[u8]) -> Option<Header> {
    let mut words = bytes.chunks_exact(2).skip(1).map(|word| {
        let word = [word[0], word[1]];
        u64::from(if big { u16::from_be_bytes(word) } else { u16::from_le_bytes(word) })
    });
    let mut next = || words.next();
    let (device, ino, mode, user, group, names, node) = (next()?, next()?, next()?, next()?, next()?, next()?, next()?);
    // Of two words the first is the higher one, in both orders.
    let seconds = next()? << 16 | next()?;
    let name_len = next()?;
    let size = next()? << 16 | next()?;
    Some(Header {
        kind: Kind::Binary { big },
        identity: (device, ino),
        mode: mode as u32,
        owner: (user as u32, group as u32),
        names,
        modified: time(seconds as i64, 0),
        size,
        name_len,
        device: ((node >> 8) as u32, (node & 0xff) as u32),
        sum: None,
    })
}

/// A number with all of its digits.
fn number(digits: &[u8], base: u32) -> Option<u64> {
    digits.iter().try_fold(0, |number: u64, &digit| {
        Some(number * u64::from(base) + u64::from(char::from(digit).to_digit(base)?))
    })
}

/// Whether these first bytes of a file are those of a cpio archive. Less than a header may be there.
pub(crate) fn begins(head: &[u8]) -> bool {
    let Some(kind) = Kind::of(head) else { return false };
    match kind {
        // Fewer digits than these may be any text.
        Kind::New { .. } | Kind::Octal if head.len() < kind.header_len() => {
            let base = if kind == Kind::Octal { 8 } else { 16 };
            head.len() >= 32 && head.iter().all(|&digit| char::from(digit).is_digit(base))
        }
        Kind::New { .. } | Kind::Octal => Header::read(kind, head).is_some(),
        // Two bytes are a weak magic.
        Kind::Binary { .. } => Header::read(kind, head).is_some_and(|header| {
            let end = header.kind.header_len() + header.name_len as usize;
            let is_kind = matches!(header.mode >> 12, 0 | 1 | 2 | 4 | 6 | 8 | 9 | 10 | 12);
            is_kind && header.name_len <= 4096 && head.get(end - 1).is_none_or(|&byte| byte == 0)
        }),
    }
}
