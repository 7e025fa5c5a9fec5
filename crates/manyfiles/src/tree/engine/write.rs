//! Content that is known goes into an open file.

use std::io;

use super::lane::Lane;
use super::piece::{BUFFER, PIECE, Stop};
use super::placement::{Opened, Target};
use crate::sys::{self, Things};
use crate::tree::content::{Bytes, Kind};
use crate::tree::digest::RunningDigest;
use crate::{Error, Operation};

impl Lane {
    /// Returns how many bytes were written.
    pub(super) fn write_content(&mut self, opened: &mut Opened) -> Result<u64, Stop> {
        let Opened { content, target, source, .. } = opened;
        self.digest = self.shared.new_digest();
        let (written, len) = match &content.0 {
            Kind::Bytes(bytes) => {
                let written = self.write_bytes(target, bytes)?;
                (written, written)
            }
            Kind::Sparse { len, pieces } => (self.write_pieces(target, *len, pieces)?, *len),
            Kind::CopyOf(path) => {
                let (file, stat) = source.as_ref().expect("a copy was opened with its source");
                let blame = |cause| Stop::Source(Error::new(Operation::Read, path.path(), cause));
                self.copy(file, stat, target, &blame)?
            }
        };
        self.digested = self.digest.take().map(RunningDigest::finish).transpose().map_err(Stop::Read)?;
        if target.old_len().is_some_and(|old| old > len) {
            target.touched = true;
            sys::set_len(&target.file, len).map_err(Stop::Write)?;
        }
        if let Some((file, stat)) = source.take()
            && (stat.sparse || stat.spare)
            && self.shared.options.keep.wants(Things::SPACE)
            && !sys::reserve_like(&file, &stat, &target.file).map_err(Stop::Write)?
        {
            target.lost = target.lost.with(Things::SPACE);
        }
        Ok(written)
    }

    fn write_bytes(&mut self, target: &mut Target, bytes: &Bytes) -> Result<u64, Stop> {
        let all = bytes.as_raw().map_err(Stop::Read)?;
        let mut at = 0;
        self.digest_bytes(bytes)?;
        while at < all.len() {
            let piece = (all.len() - at).min(PIECE);
            // `wrapping_byte_add` stays inside `all`.
            let piece = std::ptr::slice_from_raw_parts(all.cast::<u8>().wrapping_add(at), piece);
            match sys::write(&target.file, piece)? {
                0 => return Err(Stop::Write(io::ErrorKind::WriteZero.into())),
                written => at += written,
            }
            target.touched = true;
            if at < all.len() {
                self.between_pieces()?;
            }
        }
        self.wrote(at);
        Ok(at as u64)
    }

    /// For the progress: large files show while they are written, small ones when their batch is done.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.counts.written += bytes as u64;
        if bytes >= PIECE {
            self.shared.wrote(std::mem::take(&mut self.counts.written));
        }
    }

    pub(super) fn between_pieces(&self) -> Result<(), Stop> {
        if self.shared.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    }

    /// Only into files that were empty: old bytes would show through the holes.
    fn write_pieces(&mut self, target: &mut Target, len: u64, pieces: &[(u64, Bytes)]) -> Result<u64, Stop> {
        let (mut written, mut end) = (0, 0);
        for (offset, bytes) in pieces {
            self.digest_zeros(offset - end);
            end = offset + bytes.len() as u64;
            sys::seek(&target.file, *offset).map_err(Stop::Write)?;
            written += self.write_bytes(target, bytes)?;
        }
        self.digest_zeros(len - end);
        sys::set_len(&target.file, len).map_err(Stop::Write)?;
        Ok(written)
    }

    /// Bytes of a mapped file are copied first: they may vanish, and only a system call survives that.
    fn digest_bytes(&mut self, bytes: &Bytes) -> Result<(), Stop> {
        let Some(digest) = &mut self.digest else { return Ok(()) };
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        let mut at = 0;
        while at < bytes.len() {
            let piece = (bytes.len() - at).min(BUFFER);
            bytes.copy_to(at, &mut self.buffer[..piece]).map_err(Stop::Read)?;
            digest.update(&self.buffer[..piece]);
            at += piece;
        }
        Ok(())
    }

    pub(super) fn digest_zeros(&mut self, len: u64) {
        if let Some(digest) = &mut self.digest {
            digest.zeros(len);
        }
    }
}
