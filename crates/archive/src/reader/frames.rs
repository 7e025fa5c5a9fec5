//! The frames of a zstd file, found by their headers alone: RFC 8878, 3.1.

use std::fs::File;
use std::io;

use super::chunks::{Chunk, LARGEST, LARGEST_FRAME};
use crate::sys;

/// The longest head of a frame.
const LONGEST_HEAD: usize = 18;

/// Where each frame with content begins, and the end. `None`: a frame does not say how much is in it, or too much is.
pub(super) fn find(file: &File, len: u64) -> io::Result<Option<(Vec<Chunk>, u64)>> {
    let mut chunks = Vec::new();
    let (mut at, mut unpacked) = (0, 0_u64);
    while at < len {
        let mut head = [0; LONGEST_HEAD];
        let there = (len - at).min(LONGEST_HEAD as u64) as usize;
        sys::read_exact_at(file, &mut head[..there], at)?;
        let head = &head[..there];
        if let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] = *head {
            at += 8 + u64::from(u32::from_le_bytes([a, b, c, d]));
            continue;
        }
        // What is behind the last frame is not read.
        let Some(rest) = head.strip_prefix(b"\x28\xb5\x2f\xfd") else { break };
        let Some((size, head_len, has_checksum)) = parse(rest) else { return Ok(None) };
        if size > LARGEST {
            return Ok(None);
        }
        let Some(end) = blocks(file, len, at + 4 + head_len)? else { return Ok(None) };
        if size > 0 {
            chunks.push(Chunk { packed: at, start: unpacked, state: None });
        }
        unpacked += size;
        let end = end + if has_checksum { 4 } else { 0 };
        if end - at > LARGEST_FRAME {
            return Ok(None);
        }
        at = end;
    }
    Ok((!chunks.is_empty() && at <= len).then_some((chunks, unpacked)))
}

/// The size of a frame's content, how long its head is behind the magic, and whether a checksum ends it.
fn parse(rest: &[u8]) -> Option<(u64, u64, bool)> {
    let (&flags, rest) = rest.split_first()?;
    let is_one_segment = flags & 0b10_0000 != 0;
    let window = usize::from(!is_one_segment);
    let dictionary = [0, 1, 2, 4][usize::from(flags & 0b11)];
    let size_len = match (flags >> 6, is_one_segment) {
        (0, true) => 1,
        (0, false) => return None,
        (1, _) => 2,
        (2, _) => 4,
        _ => 8,
    };
    let mut number = [0; 8];
    number[..size_len].copy_from_slice(rest.get(window + dictionary..)?.get(..size_len)?);
    // Two bytes count from 256 on.
    let size = u64::from_le_bytes(number).checked_add(if size_len == 2 { 256 } else { 0 })?;
    Some((size, (1 + window + dictionary + size_len) as u64, flags & 0b100 != 0))
}

/// The end of the blocks that begin at a position. `None`: they are malformed, or cut short.
fn blocks(file: &File, len: u64, mut at: u64) -> io::Result<Option<u64>> {
    loop {
        if at + 3 > len {
            return Ok(None);
        }
        let mut head = [0; 4];
        sys::read_exact_at(file, &mut head[..3], at)?;
        let head = u32::from_le_bytes(head);
        at += 3 + match head >> 1 & 0b11 {
            1 => 1,
            3 => return Ok(None),
            _ => u64::from(head >> 3),
        };
        if head & 1 != 0 {
            return Ok((at <= len).then_some(at));
        }
    }
}
