//! One Zstandard frame. The `zstd` crate's decoder of many frames takes any bytes behind the last frame for damage. So
//! this type decodes one frame and stops behind it.

use std::io::{self, BufRead, Read};

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::get_error_name;
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;

use super::head;
use super::input::Input;

pub(crate) struct ZstdFrame {
    input: Input,
    decoder: Decoder<'static>,
    ended: bool,
}

impl ZstdFrame {
    pub(super) fn new(input: Input) -> io::Result<ZstdFrame> {
        Ok(ZstdFrame::after(Decoder::new()?, input))
    }

    /// The next frame, with the decoder of one that has ended: its memory is used again.
    pub(super) fn after(decoder: Decoder<'static>, input: Input) -> ZstdFrame {
        ZstdFrame { input, decoder, ended: false }
    }

    pub(super) fn into_parts(self) -> (Input, Decoder<'static>) {
        (self.input, self.decoder)
    }
}

impl Read for ZstdFrame {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !into.is_empty() {
            let packed = self.input.fill_buf()?;
            let is_cut = packed.is_empty();
            let (mut from, mut to) = (InBuffer::around(packed), OutBuffer::around(&mut *into));
            // The frame has ended, and all of its content is in `to`.
            self.ended = self.decoder.run(&mut from, &mut to).map_err(of_zstd)? == 0;
            let (used, len) = (from.pos(), to.pos());
            self.input.consume(used);
            if len > 0 {
                return Ok(len);
            }
            if is_cut && !self.ended {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the zstd frame is cut short"));
            }
        }
        Ok(0)
    }
}

/// A zstd's error: where there is no memory, nothing says that it is damaged. The error has a text only, which is that
/// of its number.
fn of_zstd(error: io::Error) -> io::Error {
    let no_memory = 0_usize.wrapping_sub(ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize);
    if error.to_string() == get_error_name(no_memory) { head::no_memory() } else { error }
}
