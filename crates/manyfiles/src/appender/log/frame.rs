//! What surrounds records in a framed file.
//!
//! ```text
//! file    header (record | mark | aside)* closed? room?
//! header  the same 48 bytes twice: magic: 8 bytes, salt: u32, the previous file's salt: u32, base: u64,
//!         where the previous file ends: u64, inherited: u64, zeros: u32, CRC-32C of these 44 bytes: u32
//! record  length: u32, check: u32, its bytes
//! mark    0xFFFF_FFFF: u32, check: u32, durable: u64
//! closed  0xFFFF_FFFE: u32, check: u32, durable: u64
//! aside   length: u32, check with the inverted salt: u32, so many zeros
//! room    zeros
//! ```
//!
//! Numbers are little-endian. A check is the CRC-32C of the content's CRC-32C, the length, the place in the file and
//! the file's salt, and never 0. So zeros are no record of length 0, and a record that holds a copy of another file, or
//! of this one, holds nothing that looks like a frame of this file.
//!
//! A mark says up to where the file was durable when the mark was written. A frame that is broken before that place was
//! once whole on the disk: it is damaged. One behind all marks is what a crash may leave: a torn tail. Nothing but
//! marks can tell the two apart, because a disk may write later blocks first.
//!
//! A closed mark says the same, and that the mark itself was durable before it was made a closed one. What the page
//! cache shows of any other end may never reach the disk.
//!
//! What was set aside stands where damaged bytes were, and is as long: all other frames keep their places, which their
//! checks hold.

/// What is added to each record.
pub(in crate::appender) const FRAME: usize = 8;
/// A mark's length.
pub(in crate::appender) const MARK: usize = 16;
/// The longest record that a frame holds: greater lengths mean marks.
pub(in crate::appender) const MAX_RECORD: u64 = CLOSED_LENGTH as u64 - 1;

/// The length that stands for a mark.
const MARK_LENGTH: u32 = u32::MAX;
/// The length that stands for a closed mark.
const CLOSED_LENGTH: u32 = u32::MAX - 1;

/// A checksum of a record's bytes. It does not depend on where the record will be, so no lock is needed for it.
pub(in crate::appender) fn sum(content: &[u8]) -> u32 {
    crc32c::crc32c(content)
}

/// What goes before a record's bytes.
pub(in crate::appender) fn frame(salt: u32, offset: u64, length: u32, sum: u32) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame[4..].copy_from_slice(&check(salt, offset, length, sum).to_le_bytes());
    frame
}

/// The shortest stretch that can be set aside.
pub(in crate::appender) const SHORTEST_ASIDE: u64 = FRAME as u64;

/// The most bytes that one frame sets aside.
const LONGEST_ASIDE: u64 = 256 << 10;

/// What is put in the place of damaged bytes: frames, each with the length of the zeros that follow it. `length` is not
/// below [`SHORTEST_ASIDE`].
pub(in crate::appender) fn asides(salt: u32, mut offset: u64, mut length: u64) -> Vec<(u64, [u8; FRAME])> {
    let mut frames = Vec::new();
    while length > 0 {
        // What is left must not be too short for a frame of its own.
        let all = if length > LONGEST_ASIDE { LONGEST_ASIDE.min(length - SHORTEST_ASIDE) } else { length };
        let zeros = (all - FRAME as u64) as u32;
        let mut frame = [0; FRAME];
        frame[..4].copy_from_slice(&zeros.to_le_bytes());
        frame[4..].copy_from_slice(&aside_check(salt, offset, zeros, sum_of_zeros(zeros)).to_le_bytes());
        frames.push((offset, frame));
        (offset, length) = (offset + all, length - all);
    }
    frames
}

/// The check of a frame that sets zeros aside.
pub(in crate::appender) fn aside_check(salt: u32, offset: u64, zeros: u32, sum: u32) -> u32 {
    check(!salt, offset, zeros, sum)
}

fn sum_of_zeros(count: u32) -> u32 {
    static ZEROS: [u8; 4096] = [0; 4096];
    let mut left = count as usize;
    let mut sum = 0;
    while left > 0 {
        let part = left.min(ZEROS.len());
        sum = crc32c::crc32c_append(sum, &ZEROS[..part]);
        left -= part;
    }
    sum
}

/// Whether a frame of this length is a mark.
pub(in crate::appender) fn is_mark(length: u32) -> bool {
    length >= CLOSED_LENGTH
}

/// A whole mark.
pub(in crate::appender) fn mark(salt: u32, offset: u64, durable: u64) -> [u8; MARK] {
    mark_of(MARK_LENGTH, salt, offset, durable)
}

/// The mark that a file ends with before it is closed, and its place. It lies in one sector, so that writing a closed
/// one in its place happens or not: where it would not, another mark goes before it.
pub(in crate::appender) fn end_marks(salt: u32, end: u64) -> (Vec<u8>, u64) {
    const SECTOR: u64 = 512;
    let mut marks = Vec::new();
    let mut at = end;
    if at % SECTOR > SECTOR - MARK as u64 {
        marks.extend_from_slice(&mark(salt, at, end));
        at += MARK as u64;
    }
    marks.extend_from_slice(&mark(salt, at, end));
    (marks, at)
}

/// What a durable mark at the end of a file is made into when nothing can go wrong any more.
pub(in crate::appender) fn closed_mark(salt: u32, offset: u64) -> [u8; MARK] {
    mark_of(CLOSED_LENGTH, salt, offset, offset)
}

fn mark_of(length: u32, salt: u32, offset: u64, durable: u64) -> [u8; MARK] {
    let durable = durable.to_le_bytes();
    let mut mark = [0; MARK];
    mark[..FRAME].copy_from_slice(&frame(salt, offset, length, sum(&durable)));
    mark[FRAME..].copy_from_slice(&durable);
    mark
}

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::appender) struct Mark {
    pub(in crate::appender) durable: u64,
    pub(in crate::appender) closed: bool,
}

/// What these bytes say, if they are a mark.
pub(in crate::appender) fn parse_mark(salt: u32, offset: u64, bytes: &[u8; MARK]) -> Option<Mark> {
    let length = number(&bytes[..4]);
    if !is_mark(length) {
        return None;
    }
    let durable = u64::from_le_bytes(bytes[FRAME..].try_into().expect("it has 8 bytes"));
    let is_whole = *bytes == mark_of(length, salt, offset, durable) && durable <= offset;
    is_whole.then_some(Mark { durable, closed: length == CLOSED_LENGTH })
}

/// A frame's length and check.
pub(in crate::appender) fn parse(frame: &[u8; FRAME]) -> (u32, u32) {
    (number(&frame[..4]), number(&frame[4..]))
}

/// The check of a frame at `offset`.
pub(in crate::appender) fn check(salt: u32, offset: u64, length: u32, sum: u32) -> u32 {
    let mut all = [0; 20];
    all[..4].copy_from_slice(&sum.to_le_bytes());
    all[4..8].copy_from_slice(&length.to_le_bytes());
    all[8..16].copy_from_slice(&offset.to_le_bytes());
    all[16..].copy_from_slice(&salt.to_le_bytes());
    crc32c::crc32c(&all).max(1)
}

pub(in crate::appender) fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_neither_a_header_nor_a_record_nor_a_mark() {
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
        let open = mark(7, 100, 50);
        assert_eq!(parse_mark(7, 100, &open), Some(Mark { durable: 50, closed: false }));
        assert_eq!(parse_mark(7, 100, &closed_mark(7, 100)), Some(Mark { durable: 100, closed: true }));
        assert_eq!(parse_mark(7, 99, &open), None);
        assert_eq!(parse_mark(6, 100, &open), None);
    }

    #[test]
    fn a_stretch_of_any_length_is_set_aside_by_frames_that_cover_it_and_are_no_records() {
        for length in [8, 9, 23, 5_000, LONGEST_ASIDE, LONGEST_ASIDE + 1, LONGEST_ASIDE + 8, 3 * LONGEST_ASIDE] {
            let mut at = 100;
            for (offset, frame) in asides(7, 100, length) {
                let (zeros, check) = parse(&frame);
                assert_eq!(offset, at);
                assert!(!is_mark(zeros));
                assert_eq!(aside_check(7, offset, zeros, sum_of_zeros(zeros)), check);
                assert_ne!(self::check(7, offset, zeros, sum_of_zeros(zeros)), check);
                at += FRAME as u64 + u64::from(zeros);
            }
            assert_eq!(at, 100 + length);
        }
        assert_eq!(sum_of_zeros(5_000), sum(&[0; 5_000]));
    }

    #[test]
    fn the_last_mark_lies_in_one_sector() {
        for end in 1_000..2_100 {
            let (marks, at) = end_marks(9, end);
            assert_eq!(at + MARK as u64, end + marks.len() as u64);
            assert_eq!(at / 512, (at + MARK as u64 - 1) / 512, "{end}");
            for (n, mark) in marks.chunks(MARK).enumerate() {
                let mark = parse_mark(9, end + (n * MARK) as u64, mark.try_into().unwrap());
                assert_eq!(mark, Some(Mark { durable: end, closed: false }));
            }
        }
    }
}
