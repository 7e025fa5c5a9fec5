//! Blocks of bzip2, which begin at any bit. A block by itself is a stream if a head and an end are set around it.

use std::io::{self, BufRead, Read};

use bzip2::read::BzEncoder;
use bzip2::{Compression, Decompress, Status};

use super::input::Input;

/// What a block begins with: pi, as digits.
const BLOCK: u64 = 0x3141_5926_5359;
/// What stands behind the last block: the root of pi.
const END: u64 = 0x1772_4538_5090;
const MAGIC_BITS: usize = 48;
/// The head of a stream: `BZh` and a digit.
pub(super) const HEAD_BITS: usize = 32;
/// The end's magic, and the checksum of the stream.
pub(super) const END_BITS: usize = MAGIC_BITS + 32;

/// One stream. The `bzip2` crate's reader loses what was decoded just before an error, how much depends on how the
/// input comes; this type hands it over.
pub(super) struct Bzip2Stream {
    input: Input,
    decoder: Decompress,
    ended: bool,
    error: Option<io::Error>,
}

impl Bzip2Stream {
    pub(super) fn new(input: Input) -> Bzip2Stream {
        Bzip2Stream { input, decoder: Decompress::new(false), ended: false, error: None }
    }

    pub(super) fn into_inner(self) -> Input {
        self.input
    }
}

impl Read for Bzip2Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        while !self.ended && !into.is_empty() {
            let packed = self.input.fill_buf()?;
            let is_cut = packed.is_empty();
            let (before_in, before_out) = (self.decoder.total_in(), self.decoder.total_out());
            let result = self.decoder.decompress(packed, into);
            self.input.consume((self.decoder.total_in() - before_in) as usize);
            let len = (self.decoder.total_out() - before_out) as usize;
            match result {
                Ok(status) => self.ended = status == Status::StreamEnd,
                Err(error) => self.error = Some(io::Error::new(io::ErrorKind::InvalidInput, error)),
            }
            if len > 0 {
                return Ok(len);
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if is_cut && !self.ended {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the bzip2 stream is cut short"));
            }
        }
        Ok(0)
    }
}

/// The digit of a stream that begins with a block.
pub(super) fn level(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [b'B', b'Z', b'h', level @ b'1'..=b'9', ..] if number(bytes, HEAD_BITS, MAGIC_BITS) == Some(BLOCK) => {
            Some(*level)
        }
        _ => None,
    }
}

/// The checksum of the block that begins at a bit, or of the stream whose end does.
pub(super) fn checksum(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at + MAGIC_BITS, 32).map(|sum| sum as u32)
}

/// The checksum of a stream up to a block, from that of all blocks before it.
pub(super) fn combine(before: u32, block: u32) -> u32 {
    before.rotate_left(1) ^ block
}

/// A number of up to 56 bits.
fn number(bytes: &[u8], at: usize, bits: usize) -> Option<u64> {
    let (first, last) = (at / 8, (at + bits).div_ceil(8));
    let sum = bytes.get(first..last)?.iter().fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
    Some(sum >> (last * 8 - at - bits) & ((1 << bits) - 1))
}

/// Where, from a bit on, another block begins, or the end does (`true`). Both may also stand inside a block by chance:
/// one bit in 2^47, or as many as somebody wishes.
pub(super) fn find(bytes: &[u8], from: usize) -> Option<(usize, bool)> {
    /// Which bytes can be the second of a magic, whichever bit it begins at.
    const SECOND: [bool; 256] = {
        let mut can = [false; 256];
        let mut shift = 0;
        while shift < 8 {
            can[(BLOCK >> (32 + shift) & 0xff) as usize] = true;
            can[(END >> (32 + shift) & 0xff) as usize] = true;
            shift += 1;
        }
        can
    };
    for second in from / 8 + 1..bytes.len() {
        if !SECOND[usize::from(bytes[second])] {
            continue;
        }
        let first = second - 1;
        let there = &bytes[first..bytes.len().min(first + 8)];
        let mut word = [0; 8];
        word[..there.len()].copy_from_slice(there);
        let word = u64::from_be_bytes(word);
        for at in from.max(first * 8)..second * 8 {
            match word << (at - first * 8) >> (64 - MAGIC_BITS) {
                // The last of its bits may not be there yet.
                BLOCK | END if at + MAGIC_BITS > bytes.len() * 8 => return None,
                BLOCK => return Some((at, false)),
                END => return Some((at, true)),
                _ => {}
            }
        }
    }
    None
}

/// Copies bits to the end of others.
struct Bits {
    bytes: Vec<u8>,
    /// How many bits of the last byte are used; 0 for all of them.
    used: u32,
}

impl Bits {
    fn copy(&mut self, bytes: &[u8], from: usize, to: usize) {
        let mut at = from;
        if self.used == 0 {
            let (first, shift, whole) = (from / 8, from % 8, (to - from) / 8);
            match shift {
                0 => self.bytes.extend_from_slice(&bytes[first..first + whole]),
                _ => {
                    let pairs = bytes[first..=first + whole].windows(2);
                    self.bytes.extend(pairs.map(|pair| pair[0] << shift | pair[1] >> (8 - shift)));
                }
            }
            at += whole * 8;
        }
        while at < to {
            let count = (to - at).min(8);
            let byte = number(bytes, at, count).map_or(0, |byte| (byte << (8 - count)) as u8);
            match self.bytes.last_mut().filter(|_| self.used > 0) {
                Some(last) => {
                    *last |= byte >> self.used;
                    if self.used + count as u32 > 8 {
                        self.bytes.push(byte << (8 - self.used));
                    }
                }
                None => self.bytes.push(byte),
            }
            self.used = (self.used + count as u32) % 8;
            at += count;
        }
    }
}

/// The bits between two places, which are to be one block, as a stream. It is sound only if the block ends just there.
pub(super) fn reframe(bytes: &[u8], level: u8, from: usize, to: usize) -> Option<Vec<u8>> {
    let checksum = checksum(bytes, from)?;
    let mut bits = Bits { bytes: Vec::with_capacity((to - from) / 8 + 16), used: 0 };
    bits.bytes.extend([b'B', b'Z', b'h', level]);
    bits.copy(bytes, from, to);
    bits.copy(&(END << 16).to_be_bytes(), 0, MAGIC_BITS);
    // One block's checksum is that of its stream.
    bits.copy(&checksum.to_be_bytes(), 0, 32);
    Some(bits.bytes)
}

/// A head and one small block, after which a decoder is as it is in the middle of a stream.
pub(super) struct Bridge {
    pub bytes: Vec<u8>,
    /// Bits behind `bytes`, the highest of this byte.
    pub rest: (u8, u32),
    /// How long its content is.
    pub content: usize,
}

/// The bridge to a bit of a byte, where the blocks before have the checksum `combined`.
///
/// Four bytes can give any content any checksum. Other bytes before them lead to other lengths, until one fits.
pub(super) fn bridge(level: u8, combined: u32, bit: u32) -> io::Result<Bridge> {
    for number in 0_u32..4096 {
        let mut content = number.to_le_bytes().to_vec();
        let state = content.iter().fold(u32::MAX, |state, &byte| step(state ^ u32::from(byte) << 24, 8));
        content.extend((state ^ step_back(!combined)).to_be_bytes());
        let mut bytes = Vec::new();
        BzEncoder::new(&content[..], Compression::fast()).read_to_end(&mut bytes)?;
        bytes[3] = level;
        // The end is the last that is in it, but for up to seven bits.
        let from = (bytes.len() * 8).saturating_sub(END_BITS + 7);
        let Some((end, true)) = find(&bytes, from) else { continue };
        if end as u32 % 8 == bit {
            let last = bytes[end / 8];
            bytes.truncate(end / 8);
            return Ok(Bridge { bytes, rest: (last, bit), content: content.len() });
        }
    }
    Err(io::Error::other("no block of this length was found"))
}

const POLYNOMIAL: u32 = 0x04c1_1db7;

/// Takes bits that are in the state through bzip2's checksum.
fn step(state: u32, bits: u32) -> u32 {
    (0..bits).fold(state, |state, _| state << 1 ^ if state >> 31 == 1 { POLYNOMIAL } else { 0 })
}

/// What [`step`] by 32 bits makes this of.
fn step_back(state: u32) -> u32 {
    (0..32).fold(state, |state, _| if state & 1 == 1 { (state ^ POLYNOMIAL) >> 1 | 1 << 31 } else { state >> 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_leads_to_each_bit_with_the_checksum_that_is_asked_for() {
        for (bit, combined) in (0..8).zip([0, 1, u32::MAX, 0x8000_0000, 0x1234_5678, 77, 0xdead_beef, 5]) {
            let bridge = bridge(b'9', combined, bit).unwrap();
            let mut bits = Bits { bytes: bridge.bytes, used: 0 };
            bits.copy(&[bridge.rest.0], 0, bridge.rest.1 as usize);
            bits.copy(&(END << 16).to_be_bytes(), 0, MAGIC_BITS);
            bits.copy(&combined.to_be_bytes(), 0, 32);
            let mut content = Vec::new();
            bzip2::read::BzDecoder::new(&bits.bytes[..]).read_to_end(&mut content).unwrap();
            assert_eq!(content.len(), bridge.content);
        }
    }

    #[test]
    fn a_magic_is_found_at_each_bit() {
        for (magic, is_end) in [(BLOCK, false), (END, true)] {
            for shift in 0..16 {
                let mut bits = Bits { bytes: Vec::new(), used: 0 };
                bits.copy(&[0x31, 0x41], 0, shift);
                bits.copy(&(magic << 16).to_be_bytes(), 0, MAGIC_BITS);
                assert_eq!(find(&bits.bytes, 0), Some((shift, is_end)));
                assert_eq!(find(&bits.bytes, shift), Some((shift, is_end)));
                assert_eq!(find(&bits.bytes, shift + 1), None);
            }
        }
    }
}
