//! Writing: what is buffered goes to the system, and to new files where one is due.

use std::sync::PoisonError;

use crate::appender::commit::batch::{Batch, NewFile, Piece};
use crate::appender::commit::group::{Group, Guard};
use crate::appender::commit::wakers::wake;
use crate::appender::file::files::Files;
use crate::appender::file::moved::Seen;
use crate::appender::log::header::HEADER;
use crate::{Operation, Result};

impl Group {
    /// The writer's work: hands what is buffered to the system, and behind it the rest of a record that is not copied.
    /// The caller has set [`State::writing`](crate::appender::commit::state::State::writing), and gets it back cleared.
    /// `syncs` says that a sync comes next.
    pub(in crate::appender) fn write<'a>(&'a self, mut state: Guard<'a>, rest: &[u8], syncs: bool) -> Guard<'a> {
        let mut batch = state.take_batch();
        drop(state);
        let role = self.takes_role(Operation::Write);
        match self.check_origin(Operation::Write) {
            Ok(()) => self.write_batch(&batch, rest, syncs),
            Err(error) => self.fail(error),
        }
        role.ends_well();
        batch.clear(self.options.capacity);
        let mut state = self.lock();
        state.spare = batch;
        state.writing = false;
        self.wake_turn(&state);
        state
    }

    fn write_batch(&self, batch: &Batch, rest: &[u8], syncs: bool) {
        let mut pieces = batch.pieces().peekable();
        if let Some((first, _)) = pieces.peek()
            && let Err(error) = self.find_file_again(first.offset)
        {
            return self.fail(error);
        }
        while let Some((piece, bytes)) = pieces.next() {
            let rest = if pieces.peek().is_none() { rest } else { &[] };
            let result = match &piece.new_file {
                Some(new_file) => self.rotate(new_file),
                None => Ok(()),
            };
            if let Err(error) = result.and_then(|()| self.write_piece(piece, bytes, rest, syncs)) {
                return self.fail(error);
            }
            let mut state = self.lock();
            state.progress.wrote(piece.last, piece.offset + (bytes.len() + rest.len()) as u64);
            let wakers = state.take_wakers();
            drop(state);
            wake(wakers);
        }
    }

    fn write_piece(&self, piece: &Piece, bytes: &[u8], rest: &[u8], syncs: bool) -> Result<()> {
        let end = piece.offset + bytes.len() as u64;
        self.with_files(|files| {
            files.write(bytes, piece.offset)?;
            if !rest.is_empty() {
                // The beginning of a record is in `bytes`. It must not stay there without the rest.
                return files.write(rest, end).inspect_err(|_| files.cut_back(piece.offset));
            }
            if syncs {
                files.make_room(end, bytes.len(), self.options.rotate_bytes.unwrap_or(u64::MAX));
            }
            Ok(())
        })
    }

    /// Begins a new file when the old one is durable.
    fn rotate(&self, new_file: &NewFile) -> Result<()> {
        let begun = if self.options.framed { HEADER as u64 } else { 0 };
        let newest = self.leave_file(begun, |files| {
            files.rotate(new_file.header, new_file.old_end)?;
            Ok(files.number)
        })?;
        self.upkeep.begin(newest);
        Ok(())
    }

    /// Another program may have moved, removed or cut a file that only the appender should: then what is written goes
    /// to the file that has the name now, or behind what is left. `end` is where the appender has come to.
    fn find_file_again(&self, end: u64) -> Result<()> {
        if self.options.framed || self.options.rotates() {
            return Ok(());
        }
        match self.with_files(|files| files.look(end, self.storage.now())) {
            Seen::Same => Ok(()),
            Seen::Moved => self.leave_file(end, |files| files.open_again(end)),
            // What is gone no sync could bring back.
            Seen::Cut => self.leave_file(end, |files| files.go_on_behind_cut(end)),
        }
    }

    /// Changes the file that is written to when what was written is durable. The next one begins at this place, as the
    /// appender counts.
    fn leave_file<R>(&self, begun: u64, change: impl FnOnce(&mut Files) -> Result<R>) -> Result<R> {
        // Waits until a sync in flight is done.
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        if let Some(failure) = state.progress.failure() {
            return Err(failure.clone());
        }
        let covered = state.progress.covered();
        if state.progress.has_undurable() {
            drop(state);
            // As the leader's: known before the files are free.
            files.sync().inspect_err(|error| self.lock().progress.fails(error.clone()))?;
            state = self.lock();
        }
        state.progress.synced(covered);
        drop(state);
        let changed = change(&mut files);
        if changed.is_ok() {
            self.lock().progress.begins_file(begun);
        }
        drop(files);
        self.wake_everybody();
        changed
    }
}
