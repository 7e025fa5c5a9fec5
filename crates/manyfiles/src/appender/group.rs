//! Group commit: who writes, who syncs, who sleeps until when.
//!
//! There is no thread for it. Somebody who waits for his record to be durable, and finds no leader, becomes the leader: he waits
//! for those who are expected, writes what is buffered, syncs, tells all whose records that covers, and wakes one of those who
//! came meanwhile, who leads next. [`State`] says what the roles are; here they are handed over.
//!
//! Locks: whoever holds `files` may take `state`, never the other way round. The lock of `files` is shared by those who write and
//! sync, and had alone by whoever changes the file, which so waits for a sync in flight.

use std::sync::{Arc, PoisonError};
use std::task::Waker;
use std::time::Duration;

use super::batch::{Batch, Piece};
use super::files::Files;
use super::frame;
use super::options::Options;
use super::state::{Place, Room, State};
use super::storage::Storage;
use super::sync::{Condvar, Mutex, MutexGuard, RwLock};
use crate::{Error, Operation, Result};

/// What an appender and its receipts share.
pub(super) struct Group {
    state: Mutex<State>,
    /// A write is done, or has failed.
    turn: Condvar,
    /// A group is durable, or the next one needs a leader. Groups take turns: see [`State::groups`].
    groups: [Condvar; 2],
    /// Those whom the leader waits for are there.
    gathered: Condvar,
    /// The helper has something to do.
    pub(super) tasks: Condvar,
    files: RwLock<Files>,
    options: Options,
    storage: Arc<dyn Storage>,
}

pub(super) type Guard<'a> = MutexGuard<'a, State>;

impl Group {
    pub(super) fn new(state: State, files: Files, options: Options, storage: Arc<dyn Storage>) -> Group {
        Group {
            state: Mutex::new(state),
            turn: Condvar::new(),
            groups: [Condvar::new(), Condvar::new()],
            gathered: Condvar::new(),
            tasks: Condvar::new(),
            files: RwLock::new(files),
            options,
            storage,
        }
    }

    /// No code of a user runs under this lock, so a panic under it would be a bug here.
    pub(super) fn lock(&self) -> Guard<'_> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_files<R>(&self, f: impl FnOnce(&Files) -> R) -> R {
        f(&self.files.read().unwrap_or_else(PoisonError::into_inner))
    }

    // What threads come with.

    /// Takes a record and returns its number.
    pub(super) fn append(&self, record: &[u8]) -> Result<u64> {
        self.take(record).map(|(number, _)| number)
    }

    /// Takes a record and returns when it is durable.
    pub(super) fn append_durable(&self, record: &[u8]) -> Result<()> {
        let (number, state) = self.take(record)?;
        self.wait_durable_with(number, state)
    }

    fn take(&self, record: &[u8]) -> Result<(u64, Guard<'_>)> {
        let sum = if self.options.framed { self.checked_sum(record)? } else { 0 };
        let now = || self.storage.now();
        let mut state = self.lock();
        loop {
            if let Some(failure) = state.failure() {
                return Err(failure);
            }
            match state.append(record, sum, &self.options, now) {
                Room::Taken(number) => return Ok((number, state)),
                Room::Full if state.may_write() => {
                    state.writing = true;
                    state = self.write(state, &[]);
                }
                Room::Large if state.may_write() => {
                    state.writing = true;
                    let number = state.append_large(record.len(), sum, &self.options, now);
                    state = self.write(state, record);
                    return if state.written >= number { Ok((number, state)) } else { Err(told(&mut state)) };
                }
                Room::Full | Room::Large => state = self.wait_turn(state),
            }
        }
    }

    fn checked_sum(&self, record: &[u8]) -> Result<u32> {
        let length = record.len() as u64;
        if length <= frame::MAX_RECORD {
            return Ok(frame::sum(record));
        }
        let most = frame::MAX_RECORD;
        let message =
            format!("a record of {length} bytes is too long for a frame, which holds {most}; nothing was appended");
        let cause = std::io::Error::new(std::io::ErrorKind::InvalidInput, message);
        Err(self.with_files(|files| Error::new(Operation::Write, files.path(), cause)))
    }

    /// How many records there are.
    pub(super) fn appended(&self) -> u64 {
        self.lock().appended
    }

    /// Whether somebody has been told of a failure.
    pub(super) fn is_told(&self) -> bool {
        self.lock().told
    }

    /// Returns when this record is with the system.
    pub(super) fn wait_written(&self, record: u64) -> Result<()> {
        let mut state = self.lock();
        loop {
            if state.written >= record {
                return Ok(());
            } else if let Some(failure) = state.failure() {
                return Err(failure);
            } else if state.may_write() {
                state.writing = true;
                state = self.write(state, &[]);
            } else {
                state = self.wait_turn(state);
            }
        }
    }

    /// Returns when this record is durable.
    pub(super) fn wait_durable(&self, record: u64) -> Result<()> {
        self.wait_durable_with(record, self.lock())
    }

    fn wait_durable_with<'a>(&'a self, record: u64, mut state: Guard<'a>) -> Result<()> {
        let mut has_arrived = false;
        loop {
            if state.durable >= record {
                return Ok(());
            }
            if let Some(failure) = state.failure() {
                return Err(failure);
            }
            if !has_arrived {
                has_arrived = true;
                self.arrives(&mut state, record);
            }
            if state.leading {
                // Those of the closed group and those who gather for the next one sleep apart.
                let group = if record <= state.closed { state.groups } else { state.groups + 1 };
                state = self.wait_group(group, state);
            } else {
                state = self.lead(state);
            }
        }
    }

    /// Counts somebody who waits for this record to be durable.
    pub(super) fn arrives(&self, state: &mut State, record: u64) {
        if record <= state.closed {
            state.gathering.covered += 1;
            return;
        }
        state.gathering.arrived += 1;
        if state.gathering.sleeping && state.gathering.is_complete() {
            self.gathered.notify_one();
        }
    }

    // Sleep, and waking.

    fn wait_turn<'a>(&self, mut state: Guard<'a>) -> Guard<'a> {
        state.sleepers.turn += 1;
        state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.sleepers.turn -= 1;
        state
    }

    fn wait_group<'a>(&self, group: u64, mut state: Guard<'a>) -> Guard<'a> {
        let bed = (group % 2) as usize;
        state.sleepers.groups[bed] += 1;
        state = self.groups[bed].wait(state).unwrap_or_else(PoisonError::into_inner);
        state.sleepers.groups[bed] -= 1;
        state
    }

    /// Those who wait for a write look again.
    fn wake_turn(&self, state: &State) {
        if state.sleepers.turn > 0 {
            self.turn.notify_all();
        }
    }

    // Roles. Who calls these has set the role's flag, and has it back cleared.

    /// The leader's work. Returns when the group is durable, or something has failed.
    fn lead<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        state.leading = true;
        state = self.gather(state);
        // Nobody else starts to write until the leader has: else those who fill buffers could keep him waiting for ever.
        state.reserved = true;
        while state.writing {
            state = self.wait_turn(state);
        }
        state.reserved = false;
        if state.failure.is_some() {
            return self.steps_down(state);
        }
        state.closed = state.appended;
        state.groups += 1;
        state.gathering.close();
        if state.batch.is_empty() {
            self.wake_turn(&state); // for those whom `reserved` kept from writing
        } else {
            state.writing = true;
            state = self.write(state, &[]);
            if state.failure.is_some() {
                return self.steps_down(state);
            }
        }
        // Nobody has written since: these are all the records of the group.
        let (record, place) = (state.written, state.written_place);
        // A new file may have made the old one durable, and have no record yet.
        if state.durable < record {
            drop(state);
            let begun = self.storage.now();
            // Known before the files are free: else somebody who begins a new file meanwhile would sync the old one again, and
            // a second sync is not told of what the first one lost.
            let failed =
                self.with_files(|files| files.sync().inspect_err(|error| self.lock().fail(error.clone())).is_err());
            let took = self.storage.now().saturating_sub(begun);
            if failed {
                self.wake_everybody();
                return self.steps_down(self.lock());
            }
            state = self.lock();
            state.is_durable(record, place);
            state.gathering.synced(took);
        }
        self.steps_down(state)
    }

    /// Ends the leader's role: wakes the group that is durable, and somebody of the next one, to lead.
    fn steps_down<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        state.leading = false;
        let wakers = state.take_wakers();
        let done = (state.groups % 2) as usize;
        let sleepers = state.sleepers.groups;
        if sleepers == [0, 0] && wakers.is_empty() {
            return state;
        }
        drop(state);
        // The next leader first.
        if sleepers[1 - done] > 0 {
            self.groups[1 - done].notify_one();
        }
        if sleepers[done] > 0 {
            self.groups[done].notify_all();
        }
        wake(wakers);
        self.lock()
    }

    /// Waits for those who are expected to come back, for a while.
    fn gather<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        let patience = state.gathering.patience(&self.options);
        if patience.is_zero() {
            return state;
        }
        let begun = self.storage.now();
        let missing = state.gathering.expected - state.gathering.arrived;
        state.gathering.sleeping = true;
        while !state.gathering.is_complete() && state.failure.is_none() {
            let left = patience.saturating_sub(self.storage.now().saturating_sub(begun));
            if left == Duration::ZERO {
                break;
            }
            state = self.gathered.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.gathering.sleeping = false;
        state.gathering.waited(missing);
        state
    }

    /// The writer's work: hands what is buffered to the system, and behind it the rest of a record that is not copied.
    fn write<'a>(&'a self, mut state: Guard<'a>, rest: &[u8]) -> Guard<'a> {
        let mut batch = state.take_batch();
        drop(state);
        self.write_batch(&batch, rest);
        batch.clear(self.options.capacity);
        let mut state = self.lock();
        state.spare = batch;
        state.writing = false;
        self.wake_turn(&state);
        state
    }

    fn write_batch(&self, batch: &Batch, rest: &[u8]) {
        let mut pieces = batch.pieces().peekable();
        while let Some((piece, bytes)) = pieces.next() {
            let rest = if pieces.peek().is_none() { rest } else { &[] };
            let result = match piece.new_file {
                Some(salt) => self.rotate(salt),
                None => Ok(()),
            };
            if let Err(error) = result.and_then(|()| self.write_piece(piece, bytes, rest)) {
                return self.fail(error);
            }
            let mut state = self.lock();
            state.written = piece.last;
            state.written_place.offset = piece.offset + (bytes.len() + rest.len()) as u64;
            let wakers = state.take_wakers();
            drop(state);
            wake(wakers);
        }
    }

    fn write_piece(&self, piece: &Piece, bytes: &[u8], rest: &[u8]) -> Result<()> {
        self.with_files(|files| {
            files.write(bytes, piece.offset)?;
            // The record whose beginning is in `bytes` must not stay there without its rest.
            files.write(rest, piece.offset + bytes.len() as u64).inspect_err(|_| files.cut_back(piece.offset))
        })
    }

    /// Begins a new file when the old one is durable.
    fn rotate(&self, salt: u32) -> Result<()> {
        // Waits until a sync in flight is done.
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let (record, place) = (state.written, state.written_place);
        if state.durable_place != place {
            drop(state);
            // As the leader's: known before the files are free.
            files.sync().inspect_err(|error| self.lock().fail(error.clone()))?;
            state = self.lock();
        }
        state.is_durable(record, place);
        drop(state);
        let rotated = files.rotate(salt);
        drop(files);
        if rotated.is_ok() {
            let mut state = self.lock();
            let next =
                Place { file: place.file + 1, offset: if self.options.framed { frame::HEADER as u64 } else { 0 } };
            (state.written_place, state.durable_place) = (next, next);
        }
        self.wake_everybody();
        rotated
    }

    fn fail(&self, error: Error) {
        self.lock().fail(error);
        self.wake_everybody();
    }

    /// Lets everybody look at what there is.
    fn wake_everybody(&self) {
        let wakers = self.lock().take_wakers();
        self.turn.notify_all();
        self.groups.iter().for_each(Condvar::notify_all);
        self.gathered.notify_all();
        wake(wakers);
    }

    // The end.

    /// Makes all durable and closes the file, after which there is nothing to wait for.
    pub(super) fn close(&self) -> Result<()> {
        let synced = self.wait_durable(self.appended());
        let mut state = self.lock();
        let mark = if synced.is_ok() && state.appended > 0 { state.last_mark() } else { None };
        drop(state);
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        // A file that ends in a mark was whole.
        let marked = match mark {
            Some((offset, mark)) => files.write(&mark, offset).and_then(|()| files.sync()),
            None => Ok(()),
        };
        let closed = files.close();
        drop(files);
        synced.and(marked).and(closed).inspect_err(|error| self.fail(error.clone()))
    }
}

/// The failure that there must be.
fn told(state: &mut State) -> Error {
    state.failure().expect("a write that did not happen has failed")
}

/// Wakes tasks. Their executors' code runs here, so no lock is held.
fn wake(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
