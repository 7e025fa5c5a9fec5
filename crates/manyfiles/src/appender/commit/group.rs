//! Group commit: which thread writes, which one syncs, and what the others wait for.
//!
//! There is no thread for it. A thread that waits for durability and finds no leader becomes the leader. The leader
//! waits for threads that are expected, writes the buffer, syncs, wakes the threads that wait for records up to there,
//! and names the next leader. [`State`] says what the roles are; here they are handed over.
//!
//! What is written and durable is [`Progress`](crate::appender::commit::progress::Progress), under the lock of
//! [`State`] as all else. A thread that changes it lets go of the lock and then wakes others: no code of a user
//! (wakers, executors) ever runs under the lock.
//!
//! Lock order: `files`, then `state`. Writing and syncing take `files` shared. Changing the file takes it exclusively
//! and so waits for a running sync.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::appender::commit::state::{Room, State, Taken};
use crate::appender::commit::wakers::wake;
use crate::appender::file::files::{Closing, Files};
use crate::appender::log::frame;
use crate::appender::options::Options;
use crate::appender::storage::Storage;
use crate::appender::sync::{Condvar, Mutex, MutexGuard, RwLock};
use crate::appender::upkeep::Upkeep;
use crate::origin::Origin;
use crate::{Error, Operation, Result, Written};

/// What an appender and its receipts share.
pub(in crate::appender) struct Group {
    state: Mutex<State>,
    /// A write is done, or has failed.
    turn: Condvar,
    /// A group is durable. Groups take turns: see [`State::groups`].
    groups: [Condvar; 2],
    /// The first thread that sleeps for a group is its heir. It sleeps apart, so that it can be woken to lead without
    /// the others, and by `notify_all`: wine 8 may lose a `notify_one` that comes soon after a `notify_all`.
    heirs: [Condvar; 2],
    /// The threads that the leader waits for are there.
    gathered: Condvar,
    /// The helper for writes, or that for syncs, has something to do.
    pub(in crate::appender) tasks: [Condvar; 2],
    /// The flusher has nothing to wait for any more.
    pub(in crate::appender) timer: Condvar,
    pub(in crate::appender) files: RwLock<Files>,
    pub(in crate::appender) options: Options,
    pub(in crate::appender) storage: Arc<dyn Storage>,
    /// Of the files that are not written to any more.
    pub(in crate::appender) upkeep: Arc<Upkeep>,
    pub(in crate::appender) origin: Origin,
    /// The file that was opened, for errors of a forked child, which must not take a lock.
    path: PathBuf,
}

pub(in crate::appender) type Guard<'a> = MutexGuard<'a, State>;

impl Group {
    pub(in crate::appender) fn new(state: State, files: Files, options: Options, storage: Arc<dyn Storage>) -> Group {
        let upkeep = Arc::new(Upkeep::new(Arc::clone(&storage), files.series.clone(), &options));
        upkeep.begin(files.number);
        Group {
            state: Mutex::new(state),
            turn: Condvar::new(),
            groups: [Condvar::new(), Condvar::new()],
            heirs: [Condvar::new(), Condvar::new()],
            gathered: Condvar::new(),
            tasks: [Condvar::new(), Condvar::new()],
            timer: Condvar::new(),
            path: files.path().to_owned(),
            files: RwLock::new(files),
            options,
            storage,
            upkeep,
            origin: Origin::default(),
        }
    }

    /// No code of a user runs under this lock, so a panic under it would be a bug here.
    pub(in crate::appender) fn lock(&self) -> Guard<'_> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::appender) fn with_files<R>(&self, f: impl FnOnce(&Files) -> R) -> R {
        f(&self.files.read().unwrap_or_else(PoisonError::into_inner))
    }

    // What threads come with.

    /// Takes a record.
    pub(in crate::appender) fn append(self: &Arc<Group>, record: &[u8]) -> Result<Taken> {
        let (taken, state) = self.take(record)?;
        self.plan_flush(state);
        Ok(taken)
    }

    /// Takes a record and returns when it is durable.
    pub(in crate::appender) fn append_durable(&self, record: &[u8]) -> Result<()> {
        let (taken, state) = self.take(record)?;
        self.wait_durable_with(taken.number, state)
    }

    fn take(&self, record: &[u8]) -> Result<(Taken, Guard<'_>)> {
        self.check_call(Operation::Write)?;
        let sum = if self.options.framed { self.checked_sum(record)? } else { 0 };
        let now = || self.storage.now();
        let mut state = self.lock();
        loop {
            if let Some(failure) = state.progress.tell() {
                return Err(failure);
            }
            match state.append(record, sum, &self.options, now) {
                Room::Taken(taken) => return Ok((taken, state)),
                Room::Full if state.may_write() => {
                    state.writing = true;
                    state = self.write(state, &[], false);
                }
                Room::Large if state.may_write() => {
                    state.writing = true;
                    let taken = state.append_large(record.len(), sum, &self.options, now);
                    state = self.write(state, record, false);
                    let is_written = state.progress.is_written(taken.number);
                    return if is_written { Ok((taken, state)) } else { Err(told(&mut state)) };
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

    /// Removes the files that end before a position of the log.
    pub(in crate::appender) fn remove_before(&self, position: u64) -> Result<u64> {
        self.check_origin(Operation::Remove)?;
        let mut first_left = self.upkeep.lock_names();
        self.with_files(|files| files.remove_before(position, &mut first_left))
    }

    /// A forked child has a copy of the buffers and of what is known of the file's end. The file is its parent's, which
    /// writes on: what the child wrote or cut there would take durable records away.
    pub(in crate::appender) fn check_origin(&self, operation: Operation) -> Result<()> {
        self.origin.check().map_err(|cause| Error::new(operation, &self.path, cause))
    }

    /// The same, before a call takes a lock: a thread of the parent may have held it at the fork.
    pub(in crate::appender) fn check_call(&self, operation: Operation) -> Result<()> {
        self.origin.check_call().map_err(|cause| Error::new(operation, &self.path, cause))
    }

    /// How many records there are.
    pub(in crate::appender) fn appended(&self) -> u64 {
        self.lock().progress.appended()
    }

    /// Whether a caller has been told of a failure.
    pub(in crate::appender) fn is_told(&self) -> bool {
        self.lock().progress.is_told()
    }

    /// Returns when this record is with the system.
    pub(in crate::appender) fn wait_written(&self, record: u64) -> Result<()> {
        let mut state = self.try_write(record);
        if state.progress.is_written(record) { Ok(()) } else { Err(told(&mut state)) }
    }

    /// Returns when this record is with the system, or something has failed. No caller is told of a failure here.
    pub(in crate::appender) fn try_write(&self, record: u64) -> Guard<'_> {
        let mut state = self.lock();
        while !state.progress.is_written(record) && !state.progress.has_failed() {
            if state.may_write() {
                state.writing = true;
                state = self.write(state, &[], false);
            } else {
                state = self.wait_turn(state);
            }
        }
        state
    }

    /// Returns when this record is durable.
    pub(in crate::appender) fn wait_durable(&self, record: u64) -> Result<()> {
        self.wait_durable_with(record, self.lock())
    }

    fn wait_durable_with<'a>(&'a self, record: u64, state: Guard<'a>) -> Result<()> {
        let mut state = self.try_sync(record, state);
        if state.progress.is_durable(record) { Ok(()) } else { Err(told(&mut state)) }
    }

    /// Returns when this record is durable, or something has failed. No caller is told of a failure here.
    pub(in crate::appender) fn try_sync<'a>(&'a self, record: u64, mut state: Guard<'a>) -> Guard<'a> {
        let mut has_arrived = false;
        while !state.progress.is_durable(record) && !state.progress.has_failed() {
            if !has_arrived {
                has_arrived = true;
                self.arrives(&mut state, record);
            }
            if state.leading {
                // Threads of the closed group and threads that gather for the next one sleep apart.
                let group = if record <= state.closed { state.groups } else { state.groups + 1 };
                state = self.wait_group(group, state);
            } else {
                state = self.lead(state);
            }
        }
        state
    }

    /// Counts a thread or a task that waits for this record to be durable.
    pub(in crate::appender) fn arrives(&self, state: &mut State, record: u64) {
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

    pub(in crate::appender) fn wait_turn<'a>(&self, mut state: Guard<'a>) -> Guard<'a> {
        state.sleepers.turn += 1;
        state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.sleepers.turn -= 1;
        state
    }

    fn wait_group<'a>(&self, group: u64, mut state: Guard<'a>) -> Guard<'a> {
        let bed = (group % 2) as usize;
        // An heir of two groups ago that is not awake yet has inherited already.
        if state.sleepers.heirs[bed] == Some(group) {
            state.sleepers.groups[bed] += 1;
            state = self.groups[bed].wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleepers.groups[bed] -= 1;
        } else {
            state.sleepers.heirs[bed] = Some(group);
            state = self.heirs[bed].wait(state).unwrap_or_else(PoisonError::into_inner);
            if state.sleepers.heirs[bed] == Some(group) {
                state.sleepers.heirs[bed] = None;
            }
        }
        state
    }

    /// Threads that wait for a write look again.
    pub(in crate::appender) fn wake_turn(&self, state: &State) {
        if state.sleepers.turn > 0 {
            self.turn.notify_all();
        }
    }

    // Roles. The caller of these has set the role's flag, and gets it back cleared.

    /// The leader's work. Returns when the group is durable, or something has failed.
    fn lead<'a>(&'a self, state: Guard<'a>) -> Guard<'a> {
        let role = self.takes_role(Operation::Sync);
        let state = self.leads(state);
        role.ends_well();
        state
    }

    fn leads<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        state.leading = true;
        state = self.gather(state);
        // No other thread starts to write until the leader has. Without this, threads that fill buffers could delay the
        // leader without end.
        state.reserved = true;
        while state.writing {
            state = self.wait_turn(state);
        }
        state.reserved = false;
        if state.progress.has_failed() {
            return self.steps_down(state);
        }
        state.closed = state.progress.appended();
        state.groups += 1;
        state.gathering.close();
        if state.batch.is_empty() {
            self.wake_turn(&state); // for threads that `reserved` kept from writing
        } else {
            state.writing = true;
            state = self.write(state, &[], true);
        }
        // No thread has written since: these are all the records of the group. (A new file may have made the old one
        // durable, and have no record yet.)
        if state.progress.has_failed() || state.progress.durable() == state.progress.written() {
            return self.steps_down(state);
        }
        let covered = state.progress.covered();
        drop(state);
        let begun = self.storage.now();
        // Known before the files are free: else a thread that begins a new file meanwhile would sync the old one again,
        // and a second sync is not told of what the first one lost.
        let synced = self.with_files(|files| match files.sync() {
            Ok(()) => {
                files.synced(covered.offset());
                true
            }
            Err(error) => {
                self.lock().progress.fails(error);
                false
            }
        });
        let took = self.storage.now().saturating_sub(begun);
        if !synced {
            self.wake_everybody();
            return self.steps_down(self.lock());
        }
        state = self.lock();
        state.progress.synced(covered);
        state.gathering.synced(took);
        self.steps_down(state)
    }

    /// Ends the leader's role: wakes the group that is durable, and the heir of the next group, to lead.
    fn steps_down<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        state.leading = false;
        let wakers = state.take_wakers();
        let (group, sleepers) = (state.groups, state.sleepers);
        if sleepers.groups == [0, 0] && sleepers.heirs == [None, None] && wakers.is_empty() {
            return state;
        }
        drop(state);
        let bed = |group: u64| (group % 2) as usize;
        let has_heir = |group: u64| sleepers.heirs[bed(group)] == Some(group);
        // The next leader first. A group has an heir from its first sleeper on, until the heir is awake and leads.
        if has_heir(group + 1) {
            self.heirs[bed(group + 1)].notify_all();
        }
        if has_heir(group) {
            self.heirs[bed(group)].notify_all();
        }
        if sleepers.groups[bed(group)] > 0 {
            self.groups[bed(group)].notify_all();
        }
        wake(wakers);
        self.lock()
    }

    /// Waits for the threads that are expected to come back, for a while.
    fn gather<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        let next_pause = state.gathering.next_pause(&self.options);
        if next_pause.is_zero() {
            return state;
        }
        let begun = self.storage.now();
        let missing = state.gathering.expected - state.gathering.arrived;
        state.gathering.sleeping = true;
        while !state.gathering.is_complete() && !state.progress.has_failed() {
            let left = next_pause.saturating_sub(self.storage.now().saturating_sub(begun));
            if left == Duration::ZERO {
                break;
            }
            state = self.gathered.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.gathering.sleeping = false;
        state.gathering.waited(missing);
        state
    }

    pub(in crate::appender) fn fail(&self, error: Error) {
        self.lock().progress.fails(error);
        self.wake_everybody();
    }

    /// Wakes all threads and tasks, so that they look again.
    pub(in crate::appender) fn wake_everybody(&self) {
        let wakers = self.lock().take_wakers();
        self.turn.notify_all();
        self.groups.iter().chain(&self.heirs).for_each(Condvar::notify_all);
        self.gathered.notify_all();
        wake(wakers);
    }

    // The end.

    /// Makes all durable and closes the file, after which there is nothing to wait for. No thread appends any more.
    pub(in crate::appender) fn close(&self) -> Result<Written> {
        let synced = self.wait_durable(self.appended());
        let mut state = self.lock();
        state.is_closing = true;
        self.timer.notify_all();
        let has_records = state.progress.appended() > 0;
        let bytes = state.progress.appended_bytes();
        let (salt, end) = state.closing();
        drop(state);
        // While the log is this appender's.
        self.upkeep.stop();
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let closed = match &synced {
            // A file that ends in a mark was whole. Where nothing was appended it ends as it did.
            Ok(()) => files.close(salt.filter(|_| has_records).map(|salt| Closing { salt, end })),
            Err(_) => files.abandon(),
        };
        drop(files);
        synced.and(closed).inspect_err(|error| self.fail(error.clone()))?;
        // A failure has ended this call: all records are durable.
        Ok(Written { bytes, durable: bytes })
    }
}

/// The failure that there must be.
fn told(state: &mut State) -> Error {
    state.progress.tell().expect("a write that did not happen has failed")
}
