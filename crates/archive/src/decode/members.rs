//! Compressed files are chains of members (gzip, bzip2, lzip), streams (xz) or frames (zstd, lz4), decoded one after the
//! other; or, where their ends can be known before, at the same time (`ahead.rs`). LZMA alone and compress(1) have no
//! second member: nothing tells where one would begin.
//!
//! One rule for all of them about what follows a member: zeros, which fill up tapes and pages, are skipped. Then the
//! file ends; or another member of the same compression follows and is decoded; or other bytes follow. Other bytes are
//! not read, and are reported as [`AfterCompressed`](crate::Trailing::AfterCompressed). The content before them is
//! whole, because its checksum matched.

use std::io::{self, BufRead, Read};
use std::sync::atomic::Ordering::Relaxed;

use flate2::bufread::GzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{MtStreamBuilder, Stream};

use super::ahead::{Ahead, Left};
use super::bzip2::Bzip2Stream;
use super::head;
use super::input::Input;
use super::lz4::{self, Lz4Frame};
use super::lzw::Lzw;
use super::zstd::ZstdFrame;
use crate::format::Compression;

/// More memory than this is not spent on an xz file's dictionary (its highest preset takes 64 MiB).
const XZ_MEMORY: u64 = 1 << 30;
/// Up to this much memory, the blocks of an xz file are decoded at the same time.
const XZ_MEMORY_FOR_THREADS: u64 = 128 << 20;

/// Decodes all members of a file.
pub(crate) struct Members {
    compression: Compression,
    current: Current,
    ahead: Box<Ahead>,
    step: usize,
}

enum Current {
    /// What several threads decode.
    Ahead(Input),
    Gzip(GzDecoder<Input>),
    Bzip2(Bzip2Stream),
    /// xz, LZMA alone, lzip.
    Xz(XzDecoder<Input>),
    Lzw(Box<Lzw>),
    Lz4(Box<Lz4Frame>),
    Zstd(ZstdFrame),
    /// After the last.
    None,
}

/// What follows a member.
enum Next {
    Member,
    End,
    /// Something else.
    Garbage,
}

impl Members {
    pub(super) fn new(compression: Compression, input: Input) -> io::Result<Members> {
        let ahead = Ahead::new(compression, input.threads);
        Members::with(compression, input, ahead)
    }

    /// `ahead` decodes what it can.
    pub(super) fn with(compression: Compression, mut input: Input, ahead: Ahead) -> io::Result<Members> {
        head::look(compression, &mut input)?;
        let step = input.step;
        let mut ahead = Box::new(ahead);
        let current = if ahead.begin(&mut input)? { Current::Ahead(input) } else { start(compression, input)? };
        Ok(Members { compression, current, ahead, step })
    }

    /// The member has ended: goes to the next. `false`: there is none.
    fn advance(&mut self) -> io::Result<bool> {
        let mut decoder = None;
        let mut input = match std::mem::replace(&mut self.current, Current::None) {
            Current::Ahead(mut input) => match self.ahead.left(&mut input)? {
                Left::Between => input,
                Left::Before => {
                    head::look(self.compression, &mut input)?;
                    self.current = start(self.compression, input)?;
                    return Ok(true);
                }
                Left::Inside(content) => {
                    let mut stream = Bzip2Stream::new(input);
                    stream.read_exact(&mut vec![0; content])?;
                    self.current = Current::Bzip2(stream);
                    return Ok(true);
                }
            },
            Current::Gzip(decoder) => decoder.into_inner(),
            Current::Bzip2(decoder) => decoder.into_inner(),
            Current::Xz(decoder) => decoder.into_inner(),
            Current::Lzw(decoder) => decoder.into_inner(),
            Current::Lz4(frame) => frame.into_inner(),
            Current::Zstd(frame) => {
                let (input, used) = frame.into_parts();
                decoder = Some(used);
                input
            }
            Current::None => return Ok(false),
        };
        let next = next(self.compression, &mut input)?;
        if let Next::Member = next {
            head::look(self.compression, &mut input)?;
            self.current = match decoder {
                _ if self.ahead.begin(&mut input)? => Current::Ahead(input),
                Some(decoder) => Current::Zstd(ZstdFrame::after(decoder, input)),
                None => start(self.compression, input)?,
            };
            return Ok(true);
        }
        if let Next::Garbage = next {
            input.state.trailing_garbage.store(true, Relaxed);
        }
        Ok(false)
    }
}

impl Read for Members {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let most = into.len().min(self.step);
            let into = &mut into[..most];
            let len = match &mut self.current {
                Current::Ahead(input) => self.ahead.read(input, into)?,
                Current::Gzip(decoder) => decoder.read(into)?,
                Current::Bzip2(decoder) => decoder.read(into)?,
                Current::Xz(decoder) => decoder.read(into).map_err(of_xz)?,
                Current::Lzw(decoder) => decoder.read(into)?,
                Current::Lz4(frame) => frame.read(into)?,
                Current::Zstd(frame) => frame.read(into)?,
                Current::None => return Ok(0),
            };
            if len > 0 {
                return Ok(len);
            }
            if !self.advance()? {
                return Ok(0);
            }
        }
    }
}

fn start(compression: Compression, input: Input) -> io::Result<Current> {
    Ok(match compression {
        Compression::Gzip => Current::Gzip(GzDecoder::new(input)),
        Compression::Bzip2 => Current::Bzip2(Bzip2Stream::new(input)),
        Compression::Xz => {
            let threads = input.threads;
            let stream = MtStreamBuilder::new()
                .threads(threads.min(64) as u32)
                .memlimit_threading(XZ_MEMORY_FOR_THREADS)
                .memlimit_stop(XZ_MEMORY)
                .decoder()
                .map_err(io::Error::from)?;
            Current::Xz(XzDecoder::new_stream(input, stream))
        }
        Compression::Lzma => Current::Xz(XzDecoder::new_stream(input, Stream::new_lzma_decoder(XZ_MEMORY)?)),
        Compression::Lzip => Current::Xz(XzDecoder::new_stream(input, Stream::new_lzip_decoder(XZ_MEMORY, 0)?)),
        Compression::Compress => Current::Lzw(Box::new(Lzw::new(input)?)),
        Compression::Lz4 => Current::Lz4(Box::new(Lz4Frame::new(input)?)),
        Compression::Zstd => Current::Zstd(ZstdFrame::new(input)?),
    })
}

/// An xz's error: of one that needs more than this decoder gives, nothing says that it is damaged.
fn of_xz(error: io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(liblzma::stream::Error::MemLimit) => head::too_much_memory("1 GiB", "xz -d"),
        Some(liblzma::stream::Error::Mem) => head::no_memory(),
        Some(liblzma::stream::Error::Options) => {
            let cause = "it is compressed in a way that is not supported; `xz -d` may make a plain tar of it";
            io::Error::new(io::ErrorKind::Unsupported, cause)
        }
        _ => error,
    }
}

/// Looks at what follows a member.
fn next(compression: Compression, input: &mut Input) -> io::Result<Next> {
    let mut padding = 0;
    loop {
        let zeros = input.fill_buf()?.iter().take_while(|&&byte| byte == 0).count();
        if zeros == 0 {
            break;
        }
        input.consume(zeros);
        padding += zeros;
    }
    // What the compressions' own programs say: gzip, bzip2 and lzip pass over zeros, xz over whole groups of four.
    let is_odd = match compression {
        Compression::Gzip | Compression::Bzip2 | Compression::Lzip | Compression::Compress => false,
        Compression::Xz => !padding.is_multiple_of(4),
        Compression::Zstd | Compression::Lz4 | Compression::Lzma => padding > 0,
    };
    if is_odd {
        input.state.odd_padding.store(true, Relaxed);
    }
    Ok(match (compression, input.peek(6)?) {
        (_, []) => Next::End,
        (Compression::Gzip, [0x1f, 0x8b, ..])
        | (Compression::Bzip2, [b'B', b'Z', b'h', ..])
        | (Compression::Lzip, [b'L', b'Z', b'I', b'P', ..])
        | (Compression::Xz, [0xfd, b'7', b'z', b'X', b'Z', 0])
        | (Compression::Zstd, [0x28, 0xb5, 0x2f, 0xfd, ..]) => Next::Member,
        (Compression::Zstd, head) if lz4::is_skippable(head) => Next::Member,
        (Compression::Lz4, head) if Lz4Frame::begins(head) => Next::Member,
        _ => Next::Garbage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use liblzma::stream::Error;

    #[test]
    fn what_an_xz_needs_is_no_damage_of_it() {
        for (error, kind) in [
            (Error::Mem, io::ErrorKind::OutOfMemory),
            (Error::MemLimit, io::ErrorKind::Unsupported),
            (Error::Options, io::ErrorKind::Unsupported),
            (Error::Data, io::ErrorKind::InvalidData),
        ] {
            assert_eq!(of_xz(error.into()).kind(), kind);
        }
    }
}
