//! Sparse files: where their pieces are, and which lists of pieces are valid.

use crate::number::{decimal, number};
use crate::tar_header::{BLOCK, Block};

/// Bytes of a sparse file that are in the archive: all between is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub offset: u64,
    pub len: u64,
}

/// The most pieces a sparse file may have: 16 MiB of them.
pub(crate) const MAX_PIECES: usize = 1 << 20;

/// Adds the pieces that a header, or a block after it, of the old GNU format lists. `false`: the list has ended.
pub(crate) fn add_gnu(pieces: &mut Vec<Piece>, list: &[u8]) -> Result<bool, &'static str> {
    for item in list.chunks_exact(24) {
        if item[0] == 0 || item[12] == 0 {
            return Ok(false);
        }
        let value = |field| {
            number(field).and_then(|value| u64::try_from(value).ok()).ok_or("a sparse map has what is no number")
        };
        pieces.push(Piece { offset: value(&item[..12])?, len: value(&item[12..])? });
    }
    Ok(true)
}

/// The list of pieces that begins the content of a file of version 1.0: decimal numbers, each on a line.
#[derive(Default)]
pub(crate) struct ContentMap {
    /// How many numbers are to come; known after the first.
    missing: Option<usize>,
    line: Vec<u8>,
    offset: Option<u64>,
    pieces: Vec<Piece>,
}

impl ContentMap {
    /// Takes the next block of the list; gives the pieces back after the last one.
    pub(super) fn add(&mut self, block: &Block) -> Result<Option<Vec<Piece>>, &'static str> {
        for &byte in block {
            if byte != b'\n' {
                if self.line.len() == 20 {
                    return Err("a sparse map has too long a number");
                }
                self.line.push(byte);
                continue;
            }
            let value = decimal(&self.line).ok_or("a sparse map has what is no number")?;
            self.line.clear();
            let missing = match self.missing {
                None => match usize::try_from(value) {
                    Ok(count) if count <= MAX_PIECES => 2 * count,
                    _ => return Err("a sparse file has too many pieces"),
                },
                Some(missing) => {
                    match self.offset.take() {
                        None => self.offset = Some(value),
                        Some(offset) => self.pieces.push(Piece { offset, len: value }),
                    }
                    missing - 1
                }
            };
            if missing == 0 {
                return Ok(Some(std::mem::take(&mut self.pieces)));
            }
            self.missing = Some(missing);
        }
        Ok(None)
    }
}

/// Checks that the pieces rise, do not overlap, stay inside the file, and have together as many bytes as the archive.
/// Leaves out pieces without bytes.
pub(crate) fn check(pieces: &mut Vec<Piece>, real_size: u64, stored: u64) -> Result<(), &'static str> {
    let (mut end, mut sum) = (0u64, 0u64);
    for piece in pieces.iter() {
        if piece.offset < end {
            return Err("the pieces of a sparse file overlap");
        }
        end = piece.offset.checked_add(piece.len).ok_or("a piece of a sparse file ends nowhere")?;
        sum += piece.len;
    }
    if end > real_size {
        return Err("a piece of a sparse file is outside of it");
    }
    if sum != stored {
        return Err("the pieces of a sparse file are not what the archive has of it");
    }
    if pieces.len() > MAX_PIECES {
        return Err("a sparse file has too many pieces");
    }
    pieces.retain(|piece| piece.len > 0);
    Ok(())
}

/// How many bytes of padding follow `len` bytes of content.
pub(crate) fn padding(len: u64) -> u64 {
    len.wrapping_neg() % BLOCK as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(list: &[(u64, u64)]) -> Vec<Piece> {
        list.iter().map(|&(offset, len)| Piece { offset, len }).collect()
    }

    #[test]
    fn pieces_that_lie_are_not_believed() {
        let checked = |list: &[(u64, u64)], real_size, stored| check(&mut pieces(list), real_size, stored).is_ok();
        assert!(checked(&[(0, 5), (10, 5)], 15, 10));
        assert!(checked(&[(0, 5), (15, 0)], 15, 5));
        assert!(checked(&[], 15, 0));
        assert!(!checked(&[(0, 5), (4, 5)], 15, 10), "overlap");
        assert!(!checked(&[(10, 5), (0, 5)], 15, 10), "fall");
        assert!(!checked(&[(0, 5), (11, 5)], 15, 10), "outside");
        assert!(!checked(&[(0, 5)], 15, 10), "fewer bytes than stored");
        assert!(!checked(&[(u64::MAX, 2)], u64::MAX, 2), "overflow");
        assert!(!checked(&[(0, u64::MAX), (u64::MAX, u64::MAX)], u64::MAX, 0), "overflow of the sum");
    }

    #[test]
    fn a_list_in_the_content_may_cross_blocks() {
        let mut text = b"60\n".to_vec();
        for at in 0..60u64 {
            text.extend(format!("{}\n{}\n", at * 1000, at).bytes());
        }
        text.resize(text.len().next_multiple_of(BLOCK), 0);
        let mut map = ContentMap::default();
        let blocks: Vec<&Block> = text.chunks(BLOCK).map(|block| block.try_into().unwrap()).collect();
        assert_eq!(blocks.len(), 2);
        assert_eq!(map.add(blocks[0]), Ok(None));
        assert_eq!(map.add(blocks[1]).unwrap().unwrap().len(), 60);
    }

    #[test]
    fn a_list_in_the_content_that_never_ends_ends() {
        assert!(ContentMap::default().add(&[b'1'; BLOCK]).is_err());
        let mut block = [0; BLOCK];
        block[..10].copy_from_slice(b"999999999\n");
        assert!(ContentMap::default().add(&block).is_err());
    }

    #[test]
    fn padding_fills_the_last_block() {
        assert_eq!([0, 1, 511, 512, 513].map(padding), [0, 511, 1, 0, 511]);
        assert_eq!(padding(u64::MAX), 1);
    }
}
