//! A file as a copy of another: its blocks shared, or its bytes copied inside the kernel, or through memory.
//!
//! The length that the system gives for the source is a hint: the source is read to its end. When the copy is done,
//! length and time of the source are looked at again. A source that changed meanwhile is a failure: the copy may have
//! old and new bytes mixed.

use std::io;

use super::folders::OpenFolder;
use super::lane::Lane;
use super::partial::Partial;
use super::piece::{BUFFER, PIECE, Stop};
use super::placement::{Placement, Target};
use crate::sys::{self, Handle, Stat};
use crate::tree::Shares;
use crate::tree::content::By;

/// Up to this size a copy is one read and one write, cheaper than asking for anything better.
const SMALL: u64 = 64 << 10;

/// A source, and how an error of it is told.
pub(super) struct From<'a> {
    pub(super) file: &'a Handle,
    pub(super) blame: &'a dyn Fn(io::Error) -> Stop,
}

impl Lane {
    /// Returns how many bytes were written, and how long the file is.
    pub(super) fn copy(
        &mut self,
        at: &OpenFolder,
        (source, stat, by): (&Handle, &Stat, By),
        target: &mut Target,
        blame: &dyn Fn(io::Error) -> Stop,
    ) -> Result<(u64, u64), Stop> {
        let from = From { file: source, blame };
        let copied = match stat.sparse {
            _ if self.try_clone(at, (source, stat, by), target)? => {
                self.digest_file(&from)?;
                (stat.len, stat.len)
            }
            _ if self.seal(at, target, stat)? => self.copy_to_resume(at, &from, stat, target)?,
            false => {
                // The length of a file without holes can be believed, but for 0: files of `/proc` have it.
                let enough = if stat.len == 0 { u64::MAX } else { stat.len };
                let copied = self.copy_range(&from, target, u64::MAX, enough)?;
                (copied, copied)
            }
            true => self.copy_with_holes(&from, stat, target)?,
        };
        let now = sys::stat(source).map_err(blame)?;
        if (now.len, now.modified) != (stat.len, stat.modified) {
            let why = "it changed while it was being copied; copy it again when no program writes to it";
            return Err(blame(io::Error::other(why)));
        }
        Ok(copied)
    }

    /// Unless all is to be shared, a digest needs the bytes anyway, and copies them on the way.
    fn try_clone(
        &mut self,
        at: &OpenFolder,
        (source, stat, by): (&Handle, &Stat, By),
        target: &Target,
    ) -> Result<bool, Stop> {
        let wanted = match by {
            By::Copy => stat.len > SMALL && self.digest.is_none(),
            By::Clone | By::Link => stat.len > 0,
            By::HardLink => stat.len > SMALL,
        };
        if !wanted || target.is_in_place() || matches!(target.partial, Some(Partial::Resumed)) {
            return Ok(false);
        }
        let pair = self.pair(at, stat).map_err(Stop::Write)?;
        if self.shared.pairs.of(pair).clones == Some(false) {
            return Ok(false);
        }
        let cloned = sys::clone_file(source, &target.file).map_err(Stop::Write)?;
        self.shared.pairs.learn_clone(pair, cloned);
        if cloned.is_err() {
            return Ok(false);
        }
        self.shares = Shares::Blocks;
        self.wrote(stat.len as usize);
        Ok(true)
    }

    /// Reads a file that needed no reading.
    fn digest_file(&mut self, from: &From<'_>) -> Result<(), Stop> {
        let Some(mut digest) = self.digest.take() else { return Ok(()) };
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        loop {
            self.between_pieces()?;
            match sys::read(from.file, &mut self.buffer).map_err(from.blame)? {
                0 => break,
                read => digest.update(&self.buffer[..read]),
            }
        }
        self.digest = Some(digest);
        Ok(())
    }

    /// Stretch by stretch of what is not a hole. Only into files that were empty.
    fn copy_with_holes(&mut self, from: &From<'_>, stat: &Stat, target: &mut Target) -> Result<(u64, u64), Stop> {
        debug_assert!(!matches!(target.placement, Placement::InPlace(_)));
        let (mut at, mut copied) = (0, 0);
        let len = loop {
            let Some((start, end)) = sys::next_data(from.file, at, stat.len).map_err(from.blame)? else {
                break stat.len.max(at); // Nothing follows but a hole.
            };
            self.digest_zeros(start - at);
            sys::seek(&target.file, start).map_err(Stop::Write)?;
            // The last stretch may be longer or shorter than the length says.
            let most = if end >= stat.len { u64::MAX } else { end - start };
            let range = self.copy_range(from, target, most, most)?;
            copied += range;
            at = start + range;
            if range < end - start || most == u64::MAX {
                break at;
            }
        };
        self.digest_zeros(len - at);
        sys::set_len(&target.file, len).map_err(Stop::Write)?;
        Ok((copied, len))
    }

    /// Copies `most` bytes from where both are now, fewer if the source ends before. At `enough` it is taken to have
    /// ended, unless more came with them.
    pub(super) fn copy_range(
        &mut self,
        from: &From<'_>,
        target: &mut Target,
        most: u64,
        enough: u64,
    ) -> Result<u64, Stop> {
        let mut in_kernel = enough > SMALL && enough < u64::MAX && self.can_copy_in_kernel && self.digest.is_none();
        let mut copied = 0;
        while copied < most && copied != enough {
            let done = if in_kernel {
                let piece = usize::try_from(enough - copied).unwrap_or(usize::MAX).min(PIECE);
                match sys::copy_in_kernel(from.file, &target.file, piece).map_err(Stop::Write)? {
                    Some(done @ 1..) => done,
                    // Zero is also what some file systems say for what they cannot copy: reading tells.
                    none => {
                        in_kernel = false;
                        self.can_copy_in_kernel = none.is_some();
                        continue;
                    }
                }
            } else {
                let piece = usize::try_from(most - copied).unwrap_or(usize::MAX);
                self.copy_piece(from, target, piece)?
            };
            if done == 0 {
                break;
            }
            target.touched = true;
            copied += done as u64;
            self.wrote(done);
            if copied < most && copied != enough {
                self.between_pieces()?;
            }
        }
        Ok(copied)
    }

    fn copy_piece(&mut self, from: &From<'_>, target: &mut Target, piece: usize) -> Result<usize, Stop> {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        let piece = piece.min(BUFFER);
        let read = sys::read(from.file, &mut self.buffer[..piece]).map_err(from.blame)?;
        if let Some(digest) = &mut self.digest {
            digest.update(&self.buffer[..read]);
        }
        let mut at = 0;
        while at < read {
            match sys::write(&target.file, &self.buffer[at..read]).map_err(Stop::Write)? {
                0 => return Err(Stop::Write(io::ErrorKind::WriteZero.into())),
                written => at += written,
            }
            target.touched = true;
        }
        Ok(read)
    }
}
