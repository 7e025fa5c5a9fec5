//! What a framed file begins with: see [`frame`](crate::appender::log::frame).

use crate::appender::log::frame::number;
use crate::appender::log::losses::Damage;

/// The header's length.
pub(in crate::appender) const HEADER: usize = 2 * COPY;
/// The length of each of its copies.
const COPY: usize = 48;
const MAGIC: [u8; 8] = *b"mfrecs\x00\x02";

/// What a file says of itself at its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::appender) struct Header {
    /// Part of every check in this file.
    pub(in crate::appender) salt: u32,
    /// The log's position of the first byte behind the header.
    pub(in crate::appender) base: u64,
    /// The file that comes before this one.
    pub(in crate::appender) previous: Option<Previous>,
    /// How many bytes behind the header repeat what is in the previous file behind its end.
    pub(in crate::appender) inherited: u64,
}

/// What a file knows of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::appender) struct Previous {
    pub(in crate::appender) salt: u32,
    /// All of it was durable before this place. What comes behind it there is not part of the log.
    pub(in crate::appender) end: u64,
}

impl Header {
    pub(in crate::appender) fn bytes(&self) -> [u8; HEADER] {
        let Previous { salt, end } = self.previous.unwrap_or(Previous { salt: 0, end: 0 });
        let mut copy = [0; COPY];
        copy[..8].copy_from_slice(&MAGIC);
        copy[8..12].copy_from_slice(&self.salt.to_le_bytes());
        copy[12..16].copy_from_slice(&salt.to_le_bytes());
        copy[16..24].copy_from_slice(&self.base.to_le_bytes());
        copy[24..32].copy_from_slice(&end.to_le_bytes());
        copy[32..40].copy_from_slice(&self.inherited.to_le_bytes());
        let sum = crc32c::crc32c(&copy[..44]);
        copy[44..].copy_from_slice(&sum.to_le_bytes());
        let mut header = [0; HEADER];
        header[..COPY].copy_from_slice(&copy);
        header[COPY..].copy_from_slice(&copy);
        header
    }

    /// What these bytes say, if one of the two copies is whole.
    pub(in crate::appender) fn parse(bytes: &[u8; HEADER]) -> Option<Header> {
        bytes.chunks(COPY).find_map(|copy| {
            let long = |at: usize| u64::from_le_bytes(copy[at..at + 8].try_into().expect("eight bytes"));
            let end = long(24);
            let previous = (end > 0).then(|| Previous { salt: number(&copy[12..16]), end });
            let header = Header { salt: number(&copy[8..12]), base: long(16), previous, inherited: long(32) };
            (header.bytes()[..COPY] == *copy).then_some(header)
        })
    }

    /// The copy of the header that is not what the other one is, if there is one.
    pub(in crate::appender) fn damaged_copy(&self, bytes: &[u8]) -> Option<Damage> {
        let wrong = bytes.chunks(COPY).position(|copy| *copy != self.bytes()[..COPY])?;
        Some(Damage { offset: (wrong * COPY) as u64, bytes: COPY as u64 })
    }

    /// Where the part of the file ends that was durable before the file had its name.
    pub(in crate::appender) fn begin(&self) -> u64 {
        HEADER as u64 + self.inherited
    }

    /// The log's position of a place in this file.
    pub(in crate::appender) fn position(&self, offset: u64) -> u64 {
        self.base + offset.saturating_sub(HEADER as u64)
    }

    /// The place in this file of a position of the log that is not before it.
    pub(in crate::appender) fn offset(&self, position: u64) -> u64 {
        position.saturating_sub(self.base).saturating_add(HEADER as u64)
    }

    /// Whether its file goes on where the file of another header ends.
    pub(in crate::appender) fn follows(&self, before: &Header) -> bool {
        self.previous.is_some_and(|Previous { salt, end }| salt == before.salt && self.base == before.position(end))
    }

    /// The header of the file that comes behind the place `end` of this one.
    pub(in crate::appender) fn next(&self, salt: u32, end: u64) -> Header {
        // Any that its predecessor does not have will do.
        let salt = if salt == self.salt { salt.wrapping_add(1) } else { salt };
        let previous = Some(Previous { salt: self.salt, end });
        Header { salt, base: self.position(end), previous, inherited: 0 }
    }
}

/// Whether the making of a file that holds this and nothing else may have been cut short: no record had been written to
/// the file.
pub(in crate::appender) fn is_unfinished_header(bytes: &[u8]) -> bool {
    let known = bytes.len().min(MAGIC.len());
    bytes.len() <= HEADER
        && (bytes.iter().all(|&byte| byte == 0) || bytes.len() < HEADER && bytes[..known] == MAGIC[..known])
}

/// Whether these are the first bytes of a framed file, as far as they go.
pub(in crate::appender) fn begins_with_magic(bytes: &[u8]) -> bool {
    let known = bytes.len().min(MAGIC.len());
    known > 0 && bytes[..known] == MAGIC[..known]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Header =
        Header { salt: 0xDEAD_BEEF, base: 1 << 40, previous: Some(Previous { salt: 7, end: 12_345 }), inherited: 678 };

    #[test]
    fn zeros_are_no_header() {
        assert_eq!(Header::parse(&[0; HEADER]), None);
    }

    #[test]
    fn a_header_outlives_one_wrong_bit_and_not_one_in_each_copy() {
        for header in [SOME, Header { salt: 1, ..Header::default() }] {
            assert_eq!(Header::parse(&header.bytes()), Some(header));
            for bit in 0..HEADER * 8 {
                let mut wrong = header.bytes();
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Header::parse(&wrong), Some(header), "bit {bit}");
                wrong[(bit / 8 + COPY) % HEADER] ^= 0x10;
                assert_eq!(Header::parse(&wrong), None, "bit {bit}");
            }
        }
    }

    #[test]
    fn half_a_header_is_told_from_somebody_s_short_text() {
        for len in 0..HEADER {
            assert!(is_unfinished_header(&SOME.bytes()[..len]), "{len}");
            assert!(is_unfinished_header(&vec![0; len]), "{len}");
        }
        assert!(is_unfinished_header(&[0; HEADER]));
        assert!(!is_unfinished_header(b"hello"));
        assert!(!is_unfinished_header(&[0; HEADER + 1]));
    }

    #[test]
    fn positions_go_on_from_file_to_file() {
        let first = Header { salt: 3, ..Header::default() };
        let next = first.next(3, 500);
        assert_ne!(next.salt, first.salt);
        assert_eq!(next.position(HEADER as u64), first.position(500));
        assert_eq!(next.offset(next.position(777)), 777);
        assert!(next.follows(&first) && !first.follows(&next) && !next.follows(&next));
        assert!(!next.follows(&Header { salt: 4, ..first }), "of another file");
        assert!(!next.follows(&Header { base: 1, ..first }), "of another place");
    }
}
