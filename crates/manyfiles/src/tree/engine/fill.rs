//! The second half of a file: content, length, metadata, close, final name. What fails on the way is taken away again.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use super::counts::{Stopwatch, TELLING_SIZE};
use super::lane::{Lane, OpenFolder};
use super::place::{Opened, Target};
use crate::sys::{self, Handle, Stat};
use crate::tree::Metadata;
use crate::tree::content::{Bytes, Content, Kind};
use crate::{Error, Operation};

/// Large content is written in pieces of this size, so that a cancellation and the progress don't wait for the end.
const PIECE: usize = 1 << 20;

/// The buffer for copying through memory: from 256 KiB on, larger ones gain nothing (docs/measurements.md,
/// "Records into one file").
pub(in crate::tree) const BUFFER: usize = 256 << 10;

/// Up to this size a copy is one read and one write, cheaper than asking for anything better.
const SMALL: u64 = 64 << 10;

/// Why a file is not complete.
pub(in crate::tree) enum Unfilled {
    Failed(Error),
    /// The writing was cancelled, and the file is gone again.
    Cancelled,
}

/// What stopped a write.
enum Stop {
    Read(io::Error),
    Write(io::Error),
    Cancelled,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        if sys::is_unreadable(&error) {
            let why = "the file that it is written from was cut short, or cannot be read there";
            return Stop::Read(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        Stop::Write(error)
    }
}

impl Lane {
    /// Writes the content and closes. `watch` was started when the file was opened.
    pub(in crate::tree) fn fill(
        &mut self,
        at: &OpenFolder,
        mut opened: Opened,
        watch: &mut Stopwatch,
    ) -> Result<(), Unfilled> {
        let written = self.write_content(&mut opened);
        self.counts.times.write += watch.lap();
        let bytes = match written {
            Ok(bytes) => bytes,
            Err(stop) => return Err(self.undo(at, opened, stop)),
        };
        self.complete(at, opened, watch)?;
        self.counts.bytes += bytes;
        Ok(())
    }

    /// Everything after the content.
    pub(in crate::tree) fn complete(
        &mut self,
        at: &OpenFolder,
        opened: Opened,
        watch: &mut Stopwatch,
    ) -> Result<(), Unfilled> {
        if let Err(error) = self.set_metadata(&opened.target, &opened.metadata) {
            let error = opened.error(at, Operation::SetMetadata, error);
            return Err(self.take_away(at, opened, error));
        }
        self.counts.times.metadata += watch.lap();
        let replaces = opened.target.temporary.is_some();
        if self.shared.durable.as_ref().is_some_and(|durable| durable.asks_for(&at.folder, replaces)) {
            let synced = sys::sync_handle(&opened.target.file);
            self.counts.times.sync += watch.lap();
            if let Err(cause) = synced {
                let error = opened.error(at, Operation::Sync, cause);
                return Err(self.take_away(at, opened, error));
            }
        }
        let telling = matches!(opened.content.0, Kind::Bytes(_)) && opened.content.weight() as u64 <= TELLING_SIZE;
        let OpenFolder { folder, dir } = at;
        let Opened { name, target, .. } = opened;
        let failed = |operation, cause| Unfilled::Failed(Error::new(operation, Lane::path_of(folder, &name), cause));
        let own_name = target.temporary.as_deref().unwrap_or(&name);
        let closed = self.close(target.file, !telling || !self.in_place || self.shared.is_slow());
        self.counts.times.close += watch.lap();
        if let Err(error) = closed {
            // The bytes that the close was to bring to the server may be missing. A removal that fails changes nothing: the
            // error is reported either way.
            if target.old.is_none() {
                drop(dir.remove(own_name));
            }
            return Err(failed(Operation::Close, error));
        }
        if let Some(temporary) = &target.temporary
            && let Err(error) = dir.rename(temporary, &name)
        {
            drop(dir.remove(temporary)); // The error to report is the rename's.
            return Err(failed(Operation::Rename, error));
        }
        self.counts.files += 1;
        Ok(())
    }

    /// Closes, and lets observers see that it does where it may take long.
    fn close(&self, file: Handle, visibly: bool) -> io::Result<()> {
        if !visibly {
            return sys::close(file);
        }
        self.shared.totals.closing.fetch_add(1, Relaxed);
        let closed = sys::close(file);
        self.shared.totals.closing.fetch_sub(1, Relaxed);
        closed
    }

    fn undo(&mut self, at: &OpenFolder, opened: Opened, stop: Stop) -> Unfilled {
        let (operation, cause) = match stop {
            Stop::Cancelled if opened.target.old.is_none() => {
                let error = opened.error(at, Operation::Write, io::Error::other(crate::error::Cancelled));
                self.take_away(at, opened, error);
                return Unfilled::Cancelled;
            }
            Stop::Cancelled => {
                let why = "cancelled while it was being written over; it has old and new bytes";
                (Operation::Write, io::Error::other(why))
            }
            Stop::Read(cause) => (Operation::Read, cause),
            Stop::Write(cause) => (Operation::Write, cause),
        };
        let error = opened.error(at, operation, cause);
        self.take_away(at, opened, error)
    }

    /// Closes and removes what is incomplete. What was there before is not removed; the error says that it is damaged.
    pub(super) fn take_away(&mut self, at: &OpenFolder, opened: Opened, error: Error) -> Unfilled {
        let Opened { name, target, .. } = opened;
        // Neither a close nor a removal that fails has anything to add to the error that led here.
        drop(sys::close(target.file));
        if target.old.is_none() {
            drop(at.dir.remove(target.temporary.as_deref().unwrap_or(&name)));
        }
        Unfilled::Failed(error)
    }

    pub(super) fn set_metadata(&self, target: &Target, metadata: &Metadata) -> io::Result<()> {
        let file = &target.file;
        if let Some(owner) = metadata.owner {
            sys::set_owner(file, owner)?;
        }
        if let Some(mode) = metadata.mode {
            let shared = &*self.shared;
            let wanted = mode & !shared.masked();
            let has = match target.old {
                Some(old) => old.mode,
                // It was opened with them, and no umask of the system's, or the wanted one, came between.
                None if self.no_umask || !shared.options.exact_permissions => wanted & 0o777,
                None => mode & 0o777 & !shared.umask().unwrap_or(0o777),
            };
            if has != wanted || (metadata.owner.is_some() && wanted & 0o6000 != 0) {
                sys::set_permissions(file, wanted)?;
            }
        }
        if let Some(modified) = metadata.modified {
            sys::set_modified(file, modified)?;
        }
        Ok(())
    }

    /// Returns how many bytes were written.
    fn write_content(&mut self, opened: &mut Opened) -> Result<u64, Stop> {
        let target = &opened.target;
        let (written, len) = match &opened.content.0 {
            Kind::Bytes(bytes) => {
                self.write_bytes(target, bytes)?;
                (bytes.len() as u64, bytes.len() as u64)
            }
            Kind::Sparse { len, pieces } => (self.write_pieces(target, *len, pieces)?, *len),
            Kind::CopyOf(_) => {
                let (source, stat) = opened.source.take().expect("a copy was opened with its source");
                self.copy(&source, &stat, target)?
            }
        };
        if target.old.is_some_and(|old| old.len > len) {
            sys::set_len(&target.file, len).map_err(Stop::Write)?;
        }
        Ok(written)
    }

    fn write_bytes(&mut self, target: &Target, bytes: &Bytes) -> Result<(), Stop> {
        let all = bytes.as_raw();
        let mut at = 0;
        while at < all.len() {
            let piece = (all.len() - at).min(PIECE);
            // `wrapping_byte_add` stays inside `all`.
            let piece = std::ptr::slice_from_raw_parts(all.cast::<u8>().wrapping_add(at), piece);
            match sys::write(&target.file, piece)? {
                0 => return Err(Stop::Write(io::ErrorKind::WriteZero.into())),
                written => at += written,
            }
            if at < all.len() {
                self.between_pieces()?;
            }
        }
        self.wrote(at);
        Ok(())
    }

    /// For the progress: large files show while they are written, small ones when their batch is done.
    fn wrote(&mut self, bytes: usize) {
        self.counts.written += bytes as u64;
        if bytes >= PIECE {
            self.shared.wrote(std::mem::take(&mut self.counts.written));
        }
    }

    fn between_pieces(&self) -> Result<(), Stop> {
        if self.shared.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    }

    fn write_pieces(&mut self, target: &Target, len: u64, pieces: &[(u64, Bytes)]) -> Result<u64, Stop> {
        let file = &target.file;
        if target.old.is_some() {
            sys::set_len(file, 0).map_err(Stop::Write)?; // Old bytes must not show through the holes.
        }
        let mut written = 0;
        for (offset, bytes) in pieces {
            sys::seek(file, *offset).map_err(Stop::Write)?;
            self.write_bytes(target, bytes)?;
            written += bytes.len() as u64;
        }
        sys::set_len(file, len).map_err(Stop::Write)?;
        Ok(written)
    }

    /// Returns how many bytes were written, and how long the file is.
    fn copy(&mut self, source: &Handle, stat: &Stat, target: &Target) -> Result<(u64, u64), Stop> {
        if stat.len > SMALL && self.can_clone && target.old.is_none() {
            if sys::clone_file(source, &target.file).map_err(Stop::Write)? {
                self.wrote(stat.len as usize);
                return Ok((stat.len, stat.len));
            }
            self.can_clone = false;
        }
        if !stat.sparse {
            let copied = self.copy_range(source, target, stat.len)?;
            return Ok((copied, copied));
        }
        if target.old.is_some() {
            sys::set_len(&target.file, 0).map_err(Stop::Write)?;
        }
        let (mut at, mut copied) = (0, 0);
        while let Some((start, end)) = sys::next_data(source, at, stat.len).map_err(Stop::Read)? {
            sys::seek(&target.file, start).map_err(Stop::Write)?;
            let range = self.copy_range(source, target, end - start)?;
            copied += range;
            at = end;
            if range < end - start {
                break; // It was cut short meanwhile: as long as it is now.
            }
        }
        sys::set_len(&target.file, stat.len).map_err(Stop::Write)?;
        Ok((copied, stat.len))
    }

    /// Copies `most` bytes from where both are now, fewer if the source ends before.
    fn copy_range(&mut self, source: &Handle, target: &Target, most: u64) -> Result<u64, Stop> {
        let mut in_kernel = most > SMALL && self.can_copy_in_kernel;
        let mut copied = 0;
        while copied < most {
            let piece = usize::try_from(most - copied).unwrap_or(usize::MAX).min(PIECE);
            let done = if in_kernel {
                match sys::copy_in_kernel(source, &target.file, piece).map_err(Stop::Write)? {
                    Some(done @ 1..) => done,
                    // Zero is also what some file systems say for what they cannot copy: reading tells.
                    none => {
                        in_kernel = false;
                        self.can_copy_in_kernel = none.is_some();
                        continue;
                    }
                }
            } else {
                self.copy_piece(source, target, piece)?
            };
            if done == 0 {
                break;
            }
            copied += done as u64;
            self.wrote(done);
            if copied < most {
                self.between_pieces()?;
            }
        }
        Ok(copied)
    }

    fn copy_piece(&mut self, source: &Handle, target: &Target, piece: usize) -> Result<usize, Stop> {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        let piece = piece.min(BUFFER);
        let read = sys::read(source, &mut self.buffer[..piece]).map_err(Stop::Read)?;
        let mut at = 0;
        while at < read {
            match sys::write(&target.file, &self.buffer[at..read]).map_err(Stop::Write)? {
                0 => return Err(Stop::Write(io::ErrorKind::WriteZero.into())),
                written => at += written,
            }
        }
        Ok(read)
    }

    /// Whether `file` has just these bytes.
    pub(super) fn has_content(
        &mut self,
        file: &Handle,
        stat: &Stat,
        content: &Content,
        source: Option<&(Handle, Stat)>,
    ) -> io::Result<bool> {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        let same = self.compare(file, stat, content, source);
        if !matches!(same, Ok(true)) {
            sys::seek(file, 0)?;
            source.map_or(Ok(()), |(source, _)| sys::seek(source, 0))?;
        }
        match same {
            // It may be written and not read: write it.
            Err(error) if sys::is_not_readable(&error) => Ok(false),
            same => same,
        }
    }

    fn compare(
        &mut self,
        file: &Handle,
        stat: &Stat,
        content: &Content,
        source: Option<&(Handle, Stat)>,
    ) -> io::Result<bool> {
        let len = match (&content.0, source) {
            (Kind::Bytes(bytes), _) => bytes.len() as u64,
            (Kind::CopyOf(_), Some((_, source))) => source.len,
            // Holes would have to be read: writing is cheaper.
            (Kind::Sparse { .. } | Kind::CopyOf(_), _) => return Ok(false),
        };
        if stat.len != len {
            return Ok(false);
        }
        let (ours, theirs) = self.buffer.split_at_mut(BUFFER / 2);
        let mut at = 0;
        while at < len {
            let read = sys::read(file, ours)?;
            let theirs = &mut theirs[..read];
            match (&content.0, source) {
                (_, Some((source, _))) => {
                    let mut filled = 0;
                    while filled < read {
                        match sys::read(source, &mut theirs[filled..])? {
                            0 => return Ok(false),
                            more => filled += more,
                        }
                    }
                }
                (Kind::Bytes(bytes), None) => {
                    if !bytes.copy_to(at as usize, theirs) {
                        return Ok(false);
                    }
                }
                _ => return Ok(false),
            }
            if read == 0 || ours[..read] != *theirs {
                return Ok(false);
            }
            at += read as u64;
        }
        Ok(true)
    }
}
