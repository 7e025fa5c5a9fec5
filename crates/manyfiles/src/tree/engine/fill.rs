//! The second half of a file: content, metadata, close, final name. A file that fails on the way is removed again.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use super::counts::TELLING_SIZE;
use super::folders::OpenFolder;
use super::lane::Lane;
use super::partial::stays;
use super::piece::Stop;
use super::placement::{Opened, Placement};
use super::stopwatch::Stopwatch;
use crate::error::explained;
use crate::sys::{self, Handle};
use crate::tree::content::Kind;
use crate::tree::{EntryStat, OnConflict, Shares};
use crate::{Error, Operation};

/// Why a file is not complete.
pub(in crate::tree) enum Unfilled {
    Failed(Error),
    /// The writing was cancelled, and the file is gone again.
    Cancelled,
}

/// What became of a file that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tree) enum Filled {
    Written,
    /// The file that was there is the same, and stays.
    Skipped,
}

const DAMAGED: &str = "it was being written over in place, and is damaged: it may have old and new bytes";

impl Lane {
    /// Writes the content and closes. `watch` was started when the file was opened.
    pub(in crate::tree) fn fill(
        &mut self,
        at: &OpenFolder,
        mut opened: Opened,
        watch: &mut Stopwatch,
    ) -> Result<(), Unfilled> {
        let written = self.write_content(at, &mut opened);
        self.counts.times.write += watch.lap();
        let bytes = match written {
            Ok(bytes) => bytes,
            Err(stop) => return Err(self.undo(at, opened, stop)),
        };
        if self.complete(at, opened, watch)? == Filled::Written {
            self.counts.bytes += bytes;
            self.counts.cloned += u64::from(self.shares == Shares::Blocks);
        }
        Ok(())
    }

    /// Everything after the content.
    pub(in crate::tree) fn complete(
        &mut self,
        at: &OpenFolder,
        mut opened: Opened,
        watch: &mut Stopwatch,
    ) -> Result<Filled, Unfilled> {
        if matches!(self.shared.options.on_conflict, OnConflict::SkipIdentical) && self.was_there(at, &opened) {
            self.take_back(at, opened);
            self.counts.skipped += 1;
            return Ok(Filled::Skipped);
        }
        if let Err(error) = self.set_metadata(at, &opened.name, &mut opened.target, &opened.metadata) {
            let error = opened.error(at, Operation::SetMetadata, error);
            return Err(self.take_away(at, opened, error).into());
        }
        self.counts.times.metadata += watch.lap();
        if let Some(synced) = self.sync(at, &opened) {
            self.counts.times.sync += watch.lap();
            if let Err(cause) = synced {
                let error = opened.error(at, Operation::Sync, cause);
                return Err(self.take_away(at, opened, error).into());
            }
        }
        if self.shared.options.on_entry.is_some() {
            // Without it the callback is told less; no byte depends on it.
            self.stat = sys::stat(&opened.target.file).ok().map(EntryStat::from);
        }
        let telling = matches!(opened.content.0, Kind::Bytes(_)) && opened.content.weight() as u64 <= TELLING_SIZE;
        let OpenFolder { folder, dir } = at;
        let Opened { name, target, metadata, .. } = opened;
        let failed = |operation, cause| Unfilled::Failed(Error::new(operation, folder.join(&name), cause));
        let closed = self.close(target.file, !telling || !self.in_place || self.shared.is_slow());
        self.counts.times.close += watch.lap();
        match (closed, &target.placement) {
            (Ok(()), Placement::New | Placement::InPlace(_)) => {}
            (Ok(()), Placement::Beside { temporary, .. }) => {
                use OnConflict::{Overwrite, Replace, SkipIdentical};
                let replaces = matches!(self.shared.options.on_conflict, Overwrite | Replace | SkipIdentical);
                let renamed = match target.name_was_free && !replaces {
                    true => dir.move_to(temporary, dir, &name),
                    false => dir.rename(temporary, &name),
                };
                if let Err(error) = renamed {
                    drop(dir.remove(temporary)); // The error to report is the rename's.
                    return Err(failed(Operation::Rename, error));
                }
            }
            // The bytes that the close was to bring to the server may be missing. A removal that fails changes nothing:
            // the error is reported either way.
            (Err(error), Placement::New) => {
                drop(dir.remove(&name));
                return Err(failed(Operation::Close, error));
            }
            (Err(error), Placement::InPlace(_)) => return Err(failed(Operation::Close, explained(error, DAMAGED))),
            (Err(error), Placement::Beside { temporary, .. }) => {
                drop(dir.remove(temporary));
                return Err(failed(Operation::Close, error));
            }
        }
        self.counts.files += 1;
        self.counts.lose(metadata.lost.with(target.lost));
        Ok(Filled::Written)
    }

    /// `None` if the file is not to be synced by itself.
    fn sync(&self, at: &OpenFolder, opened: &Opened) -> Option<io::Result<()>> {
        let durable = self.durable.as_ref()?;
        let by_itself = match &opened.target.placement {
            Placement::New => false,
            Placement::Beside { .. } => true,
            // A file of another file system may be mounted under the name.
            Placement::InPlace(old) => at
                .dir
                .stat(std::ffi::OsStr::new("."))
                .map_or(true, |folder| folder.identity.volume != old.identity.volume),
        };
        durable.asks_for(&at.folder, by_itself).then(|| sys::sync_handle(&opened.target.file))
    }

    /// Closes the file. With `visibly`, for a close that may take long, observers see that a close is running.
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
        let in_place = opened.target.is_in_place();
        let (operation, cause) = match stop {
            Stop::Cancelled if !in_place => {
                let error = opened.error(at, Operation::Write, io::Error::other(crate::error::Cancelled));
                self.take_away(at, opened, error);
                return Unfilled::Cancelled;
            }
            Stop::Cancelled => (Operation::Write, io::Error::other("cancelled")),
            Stop::Read(cause) => (Operation::Read, cause),
            // The entry has the error, and its cause has the path of the file that it is about.
            Stop::Source(cause) => (Operation::Write, io::Error::new(cause.kind(), cause)),
            Stop::Write(cause) => (Operation::Write, cause),
        };
        let damaged = in_place && opened.target.touched;
        let cause = match () {
            () if damaged => explained(cause, DAMAGED),
            () if opened.target.stays() => stays(cause),
            () => cause,
        };
        let error = opened.error(at, operation, cause);
        self.take_away(at, opened, error).into()
    }

    /// Closes and removes the incomplete file, unless it can be gone on with, and returns the error that led here. A file that was there before is not
    /// removed.
    pub(in crate::tree) fn take_away(&mut self, at: &OpenFolder, opened: Opened, error: Error) -> Error {
        self.take_back(at, opened);
        error
    }

    fn take_back(&mut self, at: &OpenFolder, opened: Opened) {
        let Opened { name, target, .. } = opened;
        if target.stays() {
            self.counts.partial += 1;
            return drop(sys::close(target.file)); // Bytes that did not arrive will differ.
        }
        // Neither a close nor a removal that fails has anything to add to the error that led here.
        drop(sys::close(target.file));
        if let Some(name) = target.placement.removable_name(&name) {
            drop(at.dir.remove(name));
        }
    }
}

impl From<Error> for Unfilled {
    fn from(error: Error) -> Unfilled {
        Unfilled::Failed(error)
    }
}
