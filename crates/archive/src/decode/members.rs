//! gzip, bzip2, xz and lz4 files are chains of compressed members, decoded one after the other.

use std::io::{self, BufRead, Read};
use std::sync::atomic::Ordering::Relaxed;

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::MtStreamBuilder;

use super::input::Input;
use super::lz4::Lz4Frame;
use crate::format::Compression;

/// More memory than this is not spent on an xz file's dictionary (its highest preset takes 64 MiB).
const XZ_MEMORY: u64 = 1 << 30;
/// Up to this much memory, the blocks of an xz file are decoded at the same time.
const XZ_MEMORY_FOR_THREADS: u64 = 128 << 20;

/// Decodes all members of a file.
pub(crate) struct Members {
    compression: Compression,
    current: Current,
}

enum Current {
    Gzip(GzDecoder<Input>),
    Bzip2(BzDecoder<Input>),
    Xz(XzDecoder<Input>),
    Lz4(Box<Lz4Frame>),
    /// Between members, or after the last.
    None(Option<Input>),
}

/// What follows a member.
enum Next {
    Member,
    End,
    /// Something else, which the tools that made these formats pass over with a warning.
    Garbage,
}

impl Members {
    pub fn new(compression: Compression, input: Input) -> io::Result<Members> {
        Ok(Members { compression, current: start(compression, input)? })
    }

    /// The member has ended: goes to the next. `false`: there is none.
    fn advance(&mut self) -> io::Result<bool> {
        let input = match std::mem::replace(&mut self.current, Current::None(None)) {
            Current::Gzip(decoder) => Some(decoder.into_inner()),
            Current::Bzip2(decoder) => Some(decoder.into_inner()),
            Current::Xz(decoder) => Some(decoder.into_inner()),
            Current::Lz4(frame) => Some(frame.into_inner()),
            Current::None(input) => input,
        };
        let Some(mut input) = input else { return Ok(false) };
        let next = next(self.compression, &mut input)?;
        if let Next::Member = next {
            self.current = start(self.compression, input)?;
            return Ok(true);
        }
        if let Next::Garbage = next {
            input.state.trailing_garbage.store(true, Relaxed);
        }
        self.current = Current::None(None);
        Ok(false)
    }
}

impl Read for Members {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let len = match &mut self.current {
                Current::Gzip(decoder) => decoder.read(into)?,
                Current::Bzip2(decoder) => decoder.read(into)?,
                Current::Xz(decoder) => decoder.read(into)?,
                Current::Lz4(frame) => frame.read(into)?,
                Current::None(_) => return Ok(0),
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
        Compression::Bzip2 => Current::Bzip2(BzDecoder::new(input)),
        Compression::Xz => {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let stream = MtStreamBuilder::new()
                .threads(threads.min(64) as u32)
                .memlimit_threading(XZ_MEMORY_FOR_THREADS)
                .memlimit_stop(XZ_MEMORY)
                .decoder()
                .map_err(io::Error::from)?;
            Current::Xz(XzDecoder::new_stream(input, stream))
        }
        Compression::Lz4 => Current::Lz4(Box::new(Lz4Frame::new(input)?)),
        Compression::Zstd => unreachable!("zstd's own decoder goes from frame to frame"),
    })
}

/// Looks at what follows a member.
fn next(compression: Compression, input: &mut Input) -> io::Result<Next> {
    if compression == Compression::Xz {
        // Between streams there may be zeros, four at a time.
        while input.peek(4)? == [0; 4] {
            input.consume(4);
        }
    }
    let head = input.peek(6)?;
    Ok(match (compression, head) {
        (_, []) => Next::End,
        (Compression::Gzip, [0x1f, 0x8b, ..]) => Next::Member,
        (Compression::Bzip2, [b'B', b'Z', b'h', ..]) => Next::Member,
        (Compression::Xz, [0xfd, b'7', b'z', b'X', b'Z', 0]) => Next::Member,
        (Compression::Lz4, [..]) if Lz4Frame::begins(head) => Next::Member,
        // xz calls this damage.
        (Compression::Xz, _) => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes that are no xz stream follow one"));
        }
        // gzip passes over zeros, with which tapes were filled, without a word.
        (Compression::Gzip, _) => {
            while let [0, ..] = input.fill_buf()? {
                let zeros = input.fill_buf()?.iter().take_while(|&&byte| byte == 0).count();
                input.consume(zeros);
            }
            if input.peek(1)?.is_empty() { Next::End } else { Next::Garbage }
        }
        _ => Next::Garbage,
    })
}
