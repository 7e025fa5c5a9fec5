//! The kept handles of a [`Vfs`](super::Vfs): one for each file, found by any of its names, bounded in number, one lock
//! each.
//!
//! A name that is not known yet is opened; if what that opens is a file that has a handle, the name becomes one more of
//! that file's, and the new handle is closed. So all that is buffered for a file is in one place and in the order of
//! the calls. A name counts as known for [`INTERVAL`](super::kept::INTERVAL), and not beyond a change of names by this
//! `Vfs`: then it is looked up again.
//!
//! Locks, in the order in which a thread may take them: a file's that is not open (two only to rename, in the order of
//! their places); a file's that is open; the limit's; the index's. Only the first two are held while anything is
//! written, opened, closed or looked up. A thread that waits for a permit holds no file's lock, because any file may
//! have to give up its permit.
//!
//! [`writing`], [`reading`] and [`changes`] of names are what the table is asked for; [`room`] bounds its handles, and
//! [`failures`] keeps errors that no call has returned.

use std::io;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, PoisonError};

use super::Backend;
use super::buffer::Budget;
use super::file_key::FileKey;
use super::handle_limit::HandleLimit;
use super::index::{FileId, Index, Slot, State};
use super::kept::{KeptHandle, Now};
use super::readers::Readers;
use super::sync::{AtomicU64, RwLock, RwLockReadGuard, RwLockWriteGuard, now};
use crate::origin::Origin;
use crate::{Error, Operation, Result};

mod changes;
mod failures;
mod reading;
mod room;
mod writing;

pub(super) use failures::Change;
pub(super) use room::is_out_of_handles;

pub(super) struct Table {
    /// Scheme and backend; the first is the one for local files.
    backends: Vec<(String, Arc<dyn Backend>)>,
    index: RwLock<Index>,
    limit: Arc<HandleLimit>,
    budget: Arc<Budget>,
    uses: AtomicU64,
    /// How many times this `Vfs` has removed, renamed or created anything.
    changes: AtomicU64,
    readers: Readers,
    /// The process whose it is.
    pub(super) origin: Origin,
}

impl Table {
    pub(super) fn new(backends: Vec<(String, Arc<dyn Backend>)>, handles: usize, buffer_memory: usize) -> Table {
        let (index, limit) = (RwLock::new(Index::default()), HandleLimit::new(handles.max(1)));
        let (uses, changes) = (AtomicU64::new(0), AtomicU64::new(0));
        let budget = Budget::new(buffer_memory);
        Table { backends, index, limit, budget, uses, changes, readers: Readers::default(), origin: Origin::default() }
    }

    pub(super) fn backends(&self) -> &[(String, Arc<dyn Backend>)] {
        &self.backends
    }

    pub(super) fn backend(&self, key: &FileKey) -> &dyn Backend {
        &*self.backends[key.backend].1
    }

    /// No backend runs under this lock, so a panic under it would be a bug here.
    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_index(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Now {
        Now { time: now(), changes: self.changes.load(Acquire) }
    }

    /// The error of an operation on a file. What a writer of ours said says it all already.
    pub(super) fn error(&self, key: &FileKey, operation: Operation, cause: io::Error) -> Error {
        match cause.downcast::<Error>() {
            Ok(error) => error,
            Err(cause) => Error::new(operation, super::uri::shown(&self.backends, key), cause),
        }
    }

    /// What the file is that the name leads to now. `None` if that is nothing, or if the backend does not tell.
    pub(super) fn identify(&self, key: &FileKey) -> Option<FileId> {
        // An error is told by the call that comes next.
        Some((key.backend, self.backend(key).identity(&key.path).ok().flatten()?))
    }

    /// The slots of the file that the name leads to: by the name, and by what the file is. Two if the name leads to
    /// another file than when it was used last. And the file's identity, if it had to be asked.
    fn slots_of(&self, key: &FileKey) -> (Vec<Arc<Slot>>, Option<FileId>) {
        let (known, has_identities, has_failures) = {
            let index = self.read();
            (index.get(key), index.has_identities(), index.has_failures())
        };
        if let Some((slot, name)) = &known
            && !has_failures
            && let Some(state) = slot.try_lock()
            && let State::Open(kept) = &*state
            && kept.was_just_at(*name, self.now())
        {
            drop(state);
            return (vec![Arc::clone(slot)], None);
        }
        let identity = if has_identities || has_failures { self.identify(key) } else { None };
        let mut slots: Vec<_> = known.into_iter().map(|(slot, _)| slot).collect();
        let other = identity.and_then(|identity| self.read().by_identity(identity));
        slots.extend(other.filter(|other| !slots.iter().any(|slot| Arc::ptr_eq(slot, other))));
        (slots, identity)
    }

    /// Does something with the handle of a slot, if it has one. What is buffered by a name that leads to the
    /// file no more is written to where that leads now, and the handle closed.
    fn if_open(&self, slot: &Slot, work: impl FnOnce(&mut KeptHandle) -> Result<()>) -> Result<bool> {
        self.if_open_for(slot, work, true)
    }

    /// `told`: the caller returns the error. Else it stays to be told by a call that names the file.
    fn if_open_for(&self, slot: &Slot, work: impl FnOnce(&mut KeptHandle) -> Result<()>, told: bool) -> Result<bool> {
        let mut state = slot.lock();
        match &mut *state {
            State::Open(kept) => {
                if kept.owes() && !kept.is_found(self.backend(&slot.key)) {
                    drop(self.evict(slot, state));
                    return Ok(false);
                }
                match work(kept) {
                    Ok(()) => Ok(true),
                    Err(error) => Err(self.give_up(slot, state, error, told)),
                }
            }
            State::Away => Err(self.forget_panicked(slot, state, told)),
            State::New | State::Gone => Ok(false),
        }
    }

    /// Closes the handles of a file and returns why the file is not complete, if it is not: that is then forgotten.
    pub(super) fn close(&self, key: &FileKey) -> Result<()> {
        let (slots, identity) = self.slots_of(key);
        for slot in &slots {
            drop(self.evict(slot, slot.lock()));
        }
        self.forget_readers(key, identity);
        let mut first = None;
        let failure = self.read().failure(key);
        if failure.is_some_and(|failure| !self.is_of_another(&failure, key)) {
            first = self.write_index().take_failure(key);
        }
        // It may have failed by other names as well: a caller that was told of the file was told of all.
        while let Some(failure) = identity.and_then(|identity| self.failure_of(identity)) {
            self.write_index().take(&failure);
            first.get_or_insert(failure.error.clone());
        }
        first.map_or(Ok(()), Err)
    }

    /// Closes all handles that are kept now, and returns why files are not complete.
    pub(super) fn close_all(&self) -> Vec<Error> {
        self.close_slots();
        self.write_index().take_failures(false)
    }

    /// The same, but returns only errors that no call has returned.
    pub(super) fn close_all_untold(&self) -> Vec<Error> {
        self.close_slots();
        self.write_index().take_failures(true)
    }

    fn close_slots(&self) {
        let slots: Vec<Arc<Slot>> = self.read().slots().cloned().collect();
        for slot in slots {
            drop(self.evict(&slot, slot.lock()));
        }
        self.readers.forget(|_, _| true);
    }
}

impl Drop for Table {
    /// The last that is left of a `Vfs` and its writers.
    fn drop(&mut self) {
        crate::error::print_last_resort(&self.close_all_untold());
    }
}
