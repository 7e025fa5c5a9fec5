//! One LZ4 frame. The crate's frame decoder cannot tell a frame that ended from one that is cut short between two
//! blocks; this type can.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

use super::head;
use super::input::Input;
use crate::format::Compression;

const LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

pub(crate) struct Lz4Frame {
    decoder: FrameDecoder<Ends>,
    /// Frames of the old format end where the file does.
    is_legacy: bool,
    /// No frame with content follows those that were skipped.
    is_empty: bool,
}

/// Notices that the input has ended.
struct Ends {
    input: Input,
    ended: bool,
}

impl Read for Ends {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(into)?;
        self.ended |= len == 0 && !into.is_empty();
        Ok(len)
    }
}

impl Lz4Frame {
    /// Whether these bytes begin a frame, one to be skipped included.
    pub(super) fn begins(head: &[u8]) -> bool {
        matches!(head, [0x04, 0x22, 0x4d, 0x18, ..]) || head.starts_with(&LEGACY) || is_skippable(head)
    }

    /// Begins a frame, after those that are to be skipped.
    pub(super) fn new(mut input: Input) -> io::Result<Lz4Frame> {
        let mut skipped = false;
        while is_skippable(input.peek(8)?) {
            let head = input.peek(8)?;
            let Some(len) = head.get(4..8).and_then(|len| <[u8; 4]>::try_from(len).ok()) else {
                return Err(cut_short());
            };
            input.consume(8);
            let mut left = u64::from(u32::from_le_bytes(len));
            while left > 0 {
                let len = input.fill_buf()?.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                if len == 0 {
                    return Err(cut_short());
                }
                input.consume(len);
                left -= len as u64;
            }
            skipped = true;
        }
        let is_empty = skipped && !Lz4Frame::begins(input.peek(4)?);
        let is_legacy = input.peek(4)? == LEGACY;
        head::look(Compression::Lz4, &mut input)?;
        Ok(Lz4Frame { decoder: FrameDecoder::new(Ends { input, ended: false }), is_legacy, is_empty })
    }

    pub(super) fn into_inner(self) -> Input {
        self.decoder.into_inner().input
    }
}

impl Read for Lz4Frame {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.is_empty {
            return Ok(0);
        }
        let len = self.decoder.read(into)?;
        if len == 0 && self.decoder.get_ref().ended && !self.is_legacy {
            return Err(cut_short());
        }
        Ok(len)
    }
}

/// Whether these bytes begin a frame that is to be skipped, which zstd has as well.
pub(super) fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the lz4 frame is cut short")
}
