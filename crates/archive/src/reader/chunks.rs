//! A compressed tar in parts that can be decoded one without the other.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use zstd::bulk::Decompressor;

use super::gzip::{Inflater, State};
use super::range::Range;
use super::recent::Recent;
use crate::format::Compression;
use crate::sys;

/// The most bytes that one part may have unpacked: a read of one byte decodes all of them.
pub(super) const LARGEST: u64 = 16 << 20;

/// The most bytes that a frame of zstd may take: what does not become smaller has some bytes more for each block.
/// Between two frames, and behind the last, there may be any number of bytes that belong to none.
pub(super) const LARGEST_FRAME: u64 = LARGEST + (1 << 20);

/// Where a part begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// In the archive.
    pub packed: u64,
    /// In the tar.
    pub start: u64,
    /// What a gzip's decoder knows there. `None`: it begins anew.
    pub state: Option<State>,
}

/// All parts of a tar.
pub(super) struct Chunks {
    pub compression: Compression,
    /// In their order; the first begins at 0.
    pub parts: Vec<Chunk>,
    /// The length of the tar.
    pub len: u64,
    recent: Recent,
    /// Decoders of zstd that nobody uses at the moment: a new one costs as much as a small part.
    decoders: Mutex<Vec<Decompressor<'static>>>,
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Chunks { compression, parts, len, recent: _, decoders: _ } = self;
        f.debug_struct("Chunks")
            .field("compression", compression)
            .field("parts", &parts.len())
            .field("len", len)
            .finish_non_exhaustive()
    }
}

impl Chunks {
    /// `None`: not every part is small enough, or their numbers are impossible.
    pub(super) fn new(compression: Compression, parts: Vec<Chunk>, len: u64) -> Option<Chunks> {
        let first = parts.first()?;
        let mut ends = parts[1..].iter().map(|next| (next.start, next.packed)).chain([(len, u64::MAX)]);
        let are_small = parts.iter().all(|part| {
            let (end, packed_end) = ends.next().unwrap_or_default();
            end > part.start && end - part.start <= LARGEST && packed_end >= part.packed
        });
        (first.start == 0 && are_small).then(|| Chunks {
            compression,
            parts,
            len,
            recent: Recent::default(),
            decoders: Mutex::default(),
        })
    }

    /// Reads from the tar until the buffer is full or the tar ends.
    pub(super) fn read_at(&self, file: &Arc<File>, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let at = position + done as u64;
            if at >= self.len {
                break;
            }
            let number = self.parts.partition_point(|part| part.start <= at) - 1;
            let bytes = self.recent.get(number as u64, || self.decode(file, number))?;
            let from = &bytes[(at - self.parts[number].start) as usize..];
            let len = from.len().min(buffer.len() - done);
            buffer[done..done + len].copy_from_slice(&from[..len]);
            done += len;
        }
        Ok(done)
    }

    fn decode(&self, file: &Arc<File>, number: usize) -> io::Result<Vec<u8>> {
        let part = &self.parts[number];
        let next = self.parts.get(number + 1);
        let mut bytes = vec![0; (next.map_or(self.len, |next| next.start) - part.start) as usize];
        let archive_len = file.metadata()?.len();
        let decoded = match self.compression {
            Compression::Zstd => {
                let end = next.map_or(archive_len, |next| next.packed).min(archive_len);
                let end = end.min(part.packed.saturating_add(LARGEST_FRAME));
                let mut packed = vec![0; end.saturating_sub(part.packed) as usize];
                sys::read_exact_at(file, &mut packed, part.packed)?;
                self.zstd_frame(&packed, &mut bytes)
            }
            _ => Inflater::resume(Range::new(Arc::clone(file), part.packed, archive_len), part.packed, &part.state)
                .and_then(|mut inflater| inflater.read_exact(&mut bytes)),
        };
        decoded.map_err(|error| match error.raw_os_error() {
            Some(_) => error,
            None => io::Error::new(io::ErrorKind::InvalidData, format!("the archive is damaged here: {error}")),
        })?;
        Ok(bytes)
    }

    /// Decodes the frame that `packed` begins with, which has as many bytes as `to`.
    fn zstd_frame(&self, packed: &[u8], to: &mut [u8]) -> io::Result<()> {
        let len = zstd::zstd_safe::find_frame_compressed_size(packed)
            .map_err(|code| io::Error::other(zstd::zstd_safe::get_error_name(code)))?;
        let packed = packed.get(..len).ok_or(io::ErrorKind::UnexpectedEof)?;
        let kept = self.decoders.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut decoder = kept.map_or_else(Decompressor::new, Ok)?;
        let decoded = decoder.decompress_to_buffer(packed, to)?;
        self.decoders.lock().unwrap_or_else(PoisonError::into_inner).push(decoder);
        if decoded == to.len() { Ok(()) } else { Err(io::Error::other("it has fewer bytes than it says")) }
    }
}
