//! Compression of a tar, batch by batch: each thread compresses its own, and together they are one file.
//!
//! - gzip: blocks of one stream, which end at a byte (as pigz has it: a "sync flush"), in one member.
//! - zstd: a frame for each part of a batch, and a table of them at the end, in the "seekable format".
//! - xz, bzip2, lz4: a stream or frame each. All their programs read several behind each other.

use std::io::{self, Write};

use flate2::{Compress, Compression as Level, Crc, FlushCompress};
use zstd::zstd_safe::CParameter;

use crate::format::Compression;

/// The last block of a deflate stream, with nothing in it.
pub(super) const LAST_BLOCK: [u8; 2] = [3, 0];

/// How many bytes are compressed at once: less would cost in size, more in memory.
pub(super) fn batch_size(compression: Option<Compression>) -> u64 {
    match compression {
        None | Some(Compression::Gzip | Compression::Lz4) => 1 << 20,
        Some(Compression::Zstd) => 2 << 20,
        // A multiple of the blocks that bzip2 sorts.
        Some(Compression::Bzip2) => 3_600_000,
        Some(Compression::Xz) => 8 << 20,
        // Not written: `WriterOptions::checked_level` says so before.
        Some(Compression::Lzma | Compression::Lzip | Compression::Compress) => 1 << 20,
    }
}

/// Compresses one batch after the other.
pub(super) enum Compressor {
    None,
    Gzip(Deflater),
    Zstd(zstd::bulk::Compressor<'static>),
    Xz(u32),
    Bzip2(u32),
    Lz4,
}

impl Compressor {
    pub(super) fn new(compression: Option<Compression>, level: i32) -> io::Result<Compressor> {
        Ok(match compression {
            None => Compressor::None,
            Some(Compression::Gzip) => Compressor::Gzip(Deflater::new(level)),
            Some(Compression::Zstd) => {
                let mut compressor = zstd::bulk::Compressor::new(level)?;
                compressor.set_parameter(CParameter::ChecksumFlag(true))?;
                Compressor::Zstd(compressor)
            }
            Some(Compression::Xz) => Compressor::Xz(level as u32),
            Some(Compression::Bzip2) => Compressor::Bzip2(level as u32),
            Some(Compression::Lz4) => Compressor::Lz4,
            Some(Compression::Lzma | Compression::Lzip | Compression::Compress) => {
                return Err(io::ErrorKind::Unsupported.into());
            }
        })
    }

    /// Compresses `raw`, whose parts end at `ends`, into the memory of `to`. Leaves `raw` as it is, or other memory in
    /// its place. `frames` gets the sizes of each part that is a frame of its own: compressed and not.
    pub(super) fn compress(
        &mut self,
        raw: &mut Vec<u8>,
        ends: &[usize],
        mut to: Vec<u8>,
        frames: &mut Vec<(u32, u32)>,
    ) -> io::Result<Vec<u8>> {
        match self {
            Compressor::None => {
                std::mem::swap(raw, &mut to);
                Ok(to)
            }
            Compressor::Gzip(deflater) => deflater.blocks(raw, to),
            Compressor::Zstd(compressor) => {
                let (mut part, mut start) = (Vec::new(), 0);
                for &end in ends {
                    let raw = &raw[start..end];
                    part.clear();
                    part.reserve(zstd::zstd_safe::compress_bound(raw.len()));
                    compressor.compress_to_buffer(raw, &mut part)?;
                    frames.push((part.len() as u32, raw.len() as u32));
                    to.extend_from_slice(&part);
                    start = end;
                }
                Ok(to)
            }
            Compressor::Xz(level) => {
                // Its highest levels need hundreds of megabytes.
                let stream = liblzma::stream::Stream::new_easy_encoder(*level, liblzma::stream::Check::Crc64)?;
                let mut encoder = liblzma::write::XzEncoder::new_stream(to, stream);
                encoder.write_all(raw)?;
                encoder.finish()
            }
            Compressor::Bzip2(level) => {
                let mut encoder = bzip2::write::BzEncoder::new(to, bzip2::Compression::new(*level));
                encoder.write_all(raw)?;
                encoder.finish()
            }
            Compressor::Lz4 => {
                let mut info = lz4_flex::frame::FrameInfo::new();
                info.content_checksum = true;
                info.content_size = Some(raw.len() as u64);
                let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, to);
                encoder.write_all(raw)?;
                encoder.finish().map_err(io::Error::other)
            }
        }
    }
}

/// Makes blocks of a deflate stream that end at a byte, so that others can follow.
pub(super) struct Deflater(Compress);

impl Deflater {
    pub(super) fn new(level: i32) -> Deflater {
        Deflater(Compress::new(Level::new(level as u32), false))
    }

    /// Blocks without a last one, behind what `to` has.
    pub(super) fn blocks(&mut self, raw: &[u8], to: Vec<u8>) -> io::Result<Vec<u8>> {
        self.deflate(raw, to, FlushCompress::Sync)
    }

    /// A whole stream, behind what `to` has.
    pub(super) fn whole(&mut self, raw: &[u8], to: Vec<u8>) -> io::Result<Vec<u8>> {
        self.deflate(raw, to, FlushCompress::Finish)
    }

    fn deflate(&mut self, raw: &[u8], mut to: Vec<u8>, flush: FlushCompress) -> io::Result<Vec<u8>> {
        self.0.reset();
        to.reserve(raw.len() / 2 + 256);
        loop {
            let used = self.0.total_in() as usize;
            let status = self.0.compress_vec(&raw[used..], &mut to, flush)?;
            let is_taken = self.0.total_in() as usize == raw.len();
            // With room left behind the bytes, the compressor has nothing more to say.
            let is_done = match flush {
                FlushCompress::Finish => status == flate2::Status::StreamEnd,
                _ => is_taken && to.len() < to.capacity(),
            };
            if is_done {
                return Ok(to);
            }
            to.reserve(to.len().max(4096));
        }
    }
}

/// What stands before the first batch.
pub(super) fn begin(compression: Option<Compression>) -> &'static [u8] {
    match compression {
        // Deflate, no name, no time, made on an unknown system.
        Some(Compression::Gzip) => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255],
        _ => &[],
    }
}

/// What stands behind the last batch. `crc` is that of all bytes that were compressed, `frames` has the sizes of each
/// frame: compressed and not.
pub(super) fn end(compression: Option<Compression>, crc: &Crc, frames: &[(u32, u32)]) -> Vec<u8> {
    match compression {
        Some(Compression::Gzip) => [&LAST_BLOCK[..], &crc.sum().to_le_bytes(), &crc.amount().to_le_bytes()].concat(),
        Some(Compression::Zstd) => seek_table(frames),
        _ => Vec::new(),
    }
}

/// The table of frames of zstd's "seekable format", version 0.1.0: in a frame that decoders skip.
fn seek_table(frames: &[(u32, u32)]) -> Vec<u8> {
    const SKIPPABLE: u32 = 0x184d_2a5e;
    const MAGIC: u32 = 0x8f92_eab1;
    const MOST: usize = 0x0800_0000;
    if frames.len() > MOST {
        return Vec::new();
    }
    let footer = 9;
    let mut table = Vec::with_capacity(8 + 8 * frames.len() + footer);
    table.extend(SKIPPABLE.to_le_bytes());
    table.extend(((8 * frames.len() + footer) as u32).to_le_bytes());
    for (packed, raw) in frames {
        table.extend(packed.to_le_bytes());
        table.extend(raw.to_le_bytes());
    }
    table.extend((frames.len() as u32).to_le_bytes());
    table.push(0); // no checksums in the table: the frames have their own
    table.extend(MAGIC.to_le_bytes());
    table
}
