//! What surrounds records in a framed file.
//!
//! ```text
//! file    header (record | mark)*
//! header  magic: 8 bytes, salt: u32, CRC-32C of these 12 bytes: u32
//! record  length: u32, check: u32, its bytes
//! mark    0xFFFF_FFFF: u32, check: u32, durable: u64
//! ```
//!
//! Numbers are little-endian. A check is the CRC-32C of the content's CRC-32C, the length, the place in the file and the file's
//! salt, and never 0. So zeros are no record of length 0, and a record that holds a copy of another file, or of this one, holds
//! nothing that looks like a frame of this file.
//!
//! A mark says up to where the file was durable when the mark was written. A frame that is broken before that place was once
//! whole on the disk: it is damaged. One behind all marks is what a crash may leave: a torn tail. Nothing but marks can tell
//! the two apart, because a disk may write later blocks first.

/// The header's length.
pub(super) const HEADER: usize = 16;
/// What is added to each record.
pub(super) const FRAME: usize = 8;
/// A mark's length.
pub(super) const MARK: usize = 16;
/// The longest record that a frame holds: the next length means a mark.
pub(super) const MAX_RECORD: u64 = MARK_LENGTH as u64 - 1;

/// The length that stands for a mark.
pub(super) const MARK_LENGTH: u32 = u32::MAX;

const MAGIC: [u8; 8] = *b"mfrecs\x00\x01";

/// The bytes that a file begins with.
pub(super) fn header(salt: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&salt.to_le_bytes());
    let sum = crc32c::crc32c(&header[..12]);
    header[12..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// The salt of the file that begins so, if it is a file of records.
pub(super) fn salt_of(header: &[u8; HEADER]) -> Option<u32> {
    let salt = number(&header[8..12]);
    (*header == self::header(salt)).then_some(salt)
}

/// Whether a file that holds this and nothing else may be one whose making was cut short: nothing had been written to it.
pub(super) fn is_unfinished_header(bytes: &[u8]) -> bool {
    let known = bytes.len().min(MAGIC.len());
    bytes.len() <= HEADER
        && (bytes.iter().all(|&byte| byte == 0) || bytes.len() < HEADER && bytes[..known] == MAGIC[..known])
}

/// A checksum of a record's bytes. It does not depend on where the record will be, so no lock is needed for it.
pub(super) fn sum(content: &[u8]) -> u32 {
    crc32c::crc32c(content)
}

/// What goes before a record's bytes.
pub(super) fn frame(salt: u32, offset: u64, length: u32, sum: u32) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame[4..].copy_from_slice(&check(salt, offset, length, sum).to_le_bytes());
    frame
}

/// A whole mark.
pub(super) fn mark(salt: u32, offset: u64, durable: u64) -> [u8; MARK] {
    let durable = durable.to_le_bytes();
    let mut mark = [0; MARK];
    mark[..FRAME].copy_from_slice(&frame(salt, offset, MARK_LENGTH, sum(&durable)));
    mark[FRAME..].copy_from_slice(&durable);
    mark
}

/// What the mark says that these bytes are, if they are one.
pub(super) fn parse_mark(salt: u32, offset: u64, bytes: &[u8; MARK]) -> Option<u64> {
    if number(&bytes[..4]) != MARK_LENGTH {
        return None;
    }
    let durable = u64::from_le_bytes(bytes[FRAME..].try_into().expect("it has 8 bytes"));
    (*bytes == mark(salt, offset, durable) && durable <= offset).then_some(durable)
}

/// A frame's length and check.
pub(super) fn parse(frame: &[u8; FRAME]) -> (u32, u32) {
    (number(&frame[..4]), number(&frame[4..]))
}

/// The check of a frame at `offset`.
pub(super) fn check(salt: u32, offset: u64, length: u32, sum: u32) -> u32 {
    let mut all = [0; 20];
    all[..4].copy_from_slice(&sum.to_le_bytes());
    all[4..8].copy_from_slice(&length.to_le_bytes());
    all[8..16].copy_from_slice(&offset.to_le_bytes());
    all[16..].copy_from_slice(&salt.to_le_bytes());
    crc32c::crc32c(&all).max(1)
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_neither_a_header_nor_a_record_nor_a_mark() {
        assert_eq!(salt_of(&[0; HEADER]), None);
        for salt in 0..2_000 {
            let offset = u64::from(salt) * 37;
            assert_ne!(check(salt, offset, 0, sum(b"")), 0);
            assert_eq!(parse_mark(salt, offset, &[0; MARK]), None);
        }
    }

    #[test]
    fn a_frame_counts_in_its_own_place_and_file_only() {
        let sum = sum(b"content");
        let here = frame(7, 100, 7, sum);
        assert_ne!(here, frame(7, 101, 7, sum));
        assert_ne!(here, frame(8, 100, 7, sum));
        let mark = mark(7, 100, 50);
        assert_eq!(parse_mark(7, 100, &mark), Some(50));
        assert_eq!(parse_mark(7, 99, &mark), None);
        assert_eq!(parse_mark(6, 100, &mark), None);
    }

    #[test]
    fn a_header_with_one_wrong_bit_is_none() {
        let header = header(0xDEAD_BEEF);
        assert_eq!(salt_of(&header), Some(0xDEAD_BEEF));
        for bit in 0..HEADER * 8 {
            let mut wrong = header;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(salt_of(&wrong), None, "bit {bit}");
        }
    }

    #[test]
    fn half_a_header_is_told_from_somebody_s_short_text() {
        for len in 0..HEADER {
            assert!(is_unfinished_header(&header(5)[..len]), "{len}");
            assert!(is_unfinished_header(&vec![0; len]), "{len}");
        }
        assert!(is_unfinished_header(&[0; HEADER]));
        assert!(!is_unfinished_header(b"hello"));
        assert!(!is_unfinished_header(&[0; HEADER + 1]));
    }
}
