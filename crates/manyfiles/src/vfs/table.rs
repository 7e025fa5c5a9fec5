//! The kept handles of a [`Vfs`](super::Vfs): found by name, bounded in number, one lock for each file.
//!
//! Locks, in the order in which a thread may take them: a file's (two only to rename, in the order of their places); the gate's;
//! the index's. Only the first is held while anything is written, opened or closed. Who waits for a permit has no file's lock,
//! for a permit may have to come from any file.

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use super::buffer::Budget;
use super::gate::{Gate, Permit};
use super::index::{Index, Slot, State};
use super::kept::{Fault, Kept};
use super::place::Place;
use super::sync::{AtomicU64, FileGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, now};
use super::{Backend, Output};
use crate::{Error, Operation, Result, sys};

pub(super) struct Table {
    /// Scheme and backend; the first is the one for local files.
    backends: Vec<(String, Arc<dyn Backend>)>,
    index: RwLock<Index>,
    gate: Arc<Gate>,
    budget: Arc<Budget>,
    uses: AtomicU64,
}

impl Table {
    pub(super) fn new(backends: Vec<(String, Arc<dyn Backend>)>, handles: usize, buffer_memory: usize) -> Table {
        let (index, gate) = (RwLock::new(Index::default()), Gate::new(handles.max(1)));
        Table { backends, index, gate, budget: Budget::new(buffer_memory), uses: AtomicU64::new(0) }
    }

    pub(super) fn backends(&self) -> &[(String, Arc<dyn Backend>)] {
        &self.backends
    }

    pub(super) fn backend(&self, place: &Place) -> &dyn Backend {
        &*self.backends[place.backend].1
    }

    /// No backend runs under this lock, so a panic under it would be a bug here.
    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_index(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error of an operation on a file. What a writer of ours said says it all already.
    pub(super) fn error(&self, place: &Place, (operation, cause): Fault) -> Error {
        match cause.downcast::<Error>() {
            Ok(error) => error,
            Err(cause) => Error::new(operation, super::uri::shown(&self.backends, place), cause),
        }
    }

    // Writing.

    /// The fast way: takes bytes that have only to be copied, for a file that is known by this URI, unless somebody else has it
    /// in hand.
    #[inline]
    pub(super) fn push(&self, uri: &OsStr, bytes: &[u8]) -> bool {
        let index = self.read();
        let Some(slot) = index.by_uri(uri) else { return false };
        let Some(mut state) = slot.try_lock() else { return false };
        let State::Open(kept) = &mut *state else { return false };
        self.touch(slot);
        kept.push(bytes, now())
    }

    /// Notes that a file was used. While one file is used again and again no shared memory changes.
    #[inline]
    fn touch(&self, slot: &Slot) {
        if slot.used.load(Relaxed) != self.uses.load(Relaxed) {
            slot.used.store(self.uses.fetch_add(1, Relaxed) + 1, Relaxed);
        }
    }

    pub(super) fn write(&self, place: &Place, uri: &OsStr, bytes: &[u8]) -> Result<()> {
        self.with_handle(place, uri, |kept, open| kept.write(bytes, now(), open))
    }

    pub(super) fn append(&self, place: &Place, uri: &OsStr, bytes: &[u8]) -> Result<()> {
        self.with_handle(place, uri, |kept, open| kept.append(bytes, open))
    }

    /// Does something with a file's handle, opened if need be, under the file's lock.
    fn with_handle(
        &self,
        place: &Place,
        uri: &OsStr,
        work: impl FnOnce(&mut Kept, super::kept::Open<'_>) -> Result<(), Fault>,
    ) -> Result<()> {
        let mut permit = None;
        loop {
            let slot = {
                let mut index = self.write_index();
                if let Some(failure) = index.failure(place) {
                    return Err(failure);
                }
                // The usual case of a file that has no handle, without a slot that nobody needs yet.
                if permit.is_none() && index.get(place).is_none() {
                    drop(index);
                    permit = Some(self.permit(place)?);
                    continue;
                }
                let slot = index.slot(place);
                index.remember(uri, &slot);
                slot
            };
            let mut state = slot.lock();
            let mut kept = match (std::mem::replace(&mut *state, State::Away), permit.take()) {
                (State::Open(kept), _) => kept,
                (State::New, Some(permit)) => match self.open(place) {
                    Ok(output) => self.kept(&slot, output, permit),
                    Err(fault) => {
                        self.forget(&slot, state, None);
                        return Err(self.error(place, fault));
                    }
                },
                (State::New, None) => {
                    *state = State::New;
                    drop(state);
                    permit = Some(self.permit(place)?);
                    continue;
                }
                (State::Gone, had) => {
                    *state = State::Gone;
                    permit = had;
                    continue;
                }
                (State::Away, _) => {
                    self.forget(&slot, state, Some((self.panicked(place), true)));
                    continue;
                }
            };
            self.touch(&slot);
            return match work(&mut kept, &|| self.open(place)) {
                Ok(()) => {
                    *state = State::Open(kept);
                    Ok(())
                }
                Err(fault) => Err(self.give_up(&slot, state, kept, fault)),
            };
        }
    }

    fn kept(&self, slot: &Slot, output: Box<dyn Output>, mut permit: Permit) -> Kept {
        if self.backend(&slot.place).reopens() {
            slot.can_be_evicted.store(true, Relaxed);
            self.gate.announce();
        } else {
            permit.pin();
        }
        Kept::new(output, permit, &self.budget)
    }

    fn open(&self, place: &Place) -> Result<Box<dyn Output>, Fault> {
        self.with_room(|| self.backend(place).append(&place.path)).map_err(|cause| (Operation::Open, cause))
    }

    /// Opens something. If the process has no room for another handle, kept ones are closed, one by one, those that nobody has in
    /// hand.
    pub(super) fn with_room<T>(&self, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
        loop {
            match open() {
                Err(error) if sys::is_out_of_handles(&error) => {
                    let Some(victim) = self.read().victim(true) else { return Err(error) };
                    // Its lock may be somebody's by now, who waits for ours: no more than a try.
                    if let Some(state) = victim.try_lock() {
                        drop(self.evict(&victim, state));
                    }
                }
                other => return other,
            }
        }
    }

    fn panicked(&self, place: &Place) -> Error {
        let cause = io::Error::other("a call before this one panicked, and what it wrote is not known");
        self.error(place, (Operation::Write, cause))
    }

    /// After a failure, which the caller is told: nothing more is written by this handle.
    fn give_up(&self, slot: &Slot, state: FileGuard<'_, State>, kept: Kept, fault: Fault) -> Error {
        // If nothing but the opening of another file failed, none is incomplete.
        let nothing_lost = fault.0 == Operation::Open && !kept.owes();
        let error = self.error(&slot.place, fault);
        // Closed by its drop. Only the first failure is told: whatever the close says is a consequence of it, or less.
        drop(kept);
        self.forget(slot, state, (!nothing_lost).then(|| (error.clone(), true)));
        error
    }

    /// The file has no handle any more: its slot leaves the index, in the same moment in which a failure is there to be found.
    fn forget(&self, slot: &Slot, mut state: FileGuard<'_, State>, failure: Option<(Error, bool)>) {
        slot.can_be_evicted.store(false, Relaxed);
        let mut index = self.write_index();
        index.remove(&slot.place);
        if let Some((error, told)) = failure {
            index.fail(&slot.place, error, told);
        }
        *state = State::Gone;
    }

    // Room.

    /// A permit for another handle: a free one, or that of the handle used longest ago, which is closed for it. The caller has no
    /// file's lock.
    fn permit(&self, place: &Place) -> Result<Permit> {
        loop {
            let mut permits = self.gate.lock();
            let victim = loop {
                if let Some(permit) = permits.take(&self.gate) {
                    return Ok(permit);
                }
                if permits.all_pinned() {
                    let message = "as many files as handles may be kept are being written; flush one of them first";
                    return Err(self.error(place, (Operation::Open, io::Error::other(message))));
                }
                if let Some(victim) = self.read().victim(false) {
                    break victim;
                }
                permits = self.gate.wait(permits);
            };
            drop(permits);
            if let Some(permit) = self.evict(&victim, victim.lock()) {
                return Ok(permit);
            }
        }
    }

    /// Closes a file's handle, if it has one. A failure is kept for the next call that names the file.
    fn evict(&self, slot: &Slot, mut state: FileGuard<'_, State>) -> Option<Permit> {
        match std::mem::replace(&mut *state, State::Away) {
            State::Open(kept) => {
                let (permit, closed) = kept.close(&|| self.open(&slot.place));
                let failure = closed.err().map(|fault| (self.error(&slot.place, fault), false));
                self.forget(slot, state, failure);
                Some(permit)
            }
            State::Away => {
                let failure = (self.panicked(&slot.place), false);
                self.forget(slot, state, Some(failure));
                None
            }
            other => {
                *state = other;
                None
            }
        }
    }

    // What other operations need of the kept handles.

    /// Returns why a file is not complete, if it is not.
    pub(super) fn check(&self, place: &Place) -> Result<()> {
        self.write_index().failure(place).map_or(Ok(()), Err)
    }

    /// The same for a folder and all that is in it.
    pub(super) fn check_within(&self, folder: &Place) -> Result<()> {
        self.write_index().failure_within(folder).map_or(Ok(()), Err)
    }

    /// Hands what is buffered for a file to the operating system, or whatever is behind the backend, and keeps the handle.
    pub(super) fn write_out(&self, place: &Place) -> Result<()> {
        self.if_kept(place, |kept, open| kept.write_out(open))?;
        self.check(place)
    }

    /// The same for all files in a folder.
    pub(super) fn write_out_children(&self, folder: &Place) -> Result<()> {
        let children: Vec<Place> = {
            let index = self.read();
            index.within(folder).map(|slot| &slot.place).filter(|it| it.is_direct_child_of(folder)).cloned().collect()
        };
        children.iter().try_for_each(|place| self.write_out(place))
    }

    /// Makes a file durable by its kept handle. False if it has none.
    pub(super) fn sync(&self, place: &Place) -> Result<bool> {
        let synced = self.if_kept(place, |kept, open| kept.sync(open))?;
        self.check(place).map(|()| synced)
    }

    fn if_kept(
        &self,
        place: &Place,
        work: impl FnOnce(&mut Kept, super::kept::Open<'_>) -> Result<(), Fault>,
    ) -> Result<bool> {
        let Some(slot) = self.read().get(place).cloned() else { return Ok(false) };
        let mut state = slot.lock();
        match std::mem::replace(&mut *state, State::Away) {
            State::Open(mut kept) => match work(&mut kept, &|| self.open(place)) {
                Ok(()) => {
                    *state = State::Open(kept);
                    Ok(true)
                }
                Err(fault) => Err(self.give_up(&slot, state, kept, fault)),
            },
            State::Away => {
                let error = self.panicked(place);
                self.forget(&slot, state, Some((error.clone(), true)));
                Err(error)
            }
            other => {
                *state = other;
                Ok(false)
            }
        }
    }

    /// Closes a file's handle and returns why the file is not complete, if it is not: that is then forgotten.
    pub(super) fn close(&self, place: &Place) -> Result<()> {
        let slot = self.read().get(place).cloned();
        if let Some(slot) = slot {
            drop(self.evict(&slot, slot.lock()));
        }
        self.write_index().take_failure(place).map_or(Ok(()), Err)
    }

    /// Closes all handles that are kept now, and returns why files are not complete.
    pub(super) fn close_all(&self) -> Vec<Error> {
        self.close_slots();
        self.write_index().take_failures(false)
    }

    /// The same, but returns only what nobody has been told.
    pub(super) fn close_all_untold(&self) -> Vec<Error> {
        self.close_slots();
        self.write_index().take_failures(true)
    }

    fn close_slots(&self) {
        let slots: Vec<Arc<Slot>> = self.read().slots().cloned().collect();
        for slot in slots {
            drop(self.evict(&slot, slot.lock()));
        }
    }

    /// Does something with a path while no handle is kept for it and nobody here opens one. Of what is kept below it, what
    /// nobody has in hand is closed before.
    pub(super) fn exclusively<T>(&self, place: &Place, work: impl FnOnce() -> T) -> T {
        loop {
            let slot = self.write_index().slot(place);
            let mut state = slot.lock();
            if matches!(*state, State::Gone) {
                continue;
            }
            if !matches!(*state, State::New) {
                drop(self.evict(&slot, state));
                continue;
            }
            *state = State::Away;
            self.close_idle_within(place);
            let result = work();
            self.forget(&slot, state, None);
            return result;
        }
    }

    fn close_idle_within(&self, folder: &Place) {
        let below: Vec<Arc<Slot>> = {
            let index = self.read();
            index.within(folder).filter(|slot| slot.place != *folder).cloned().collect()
        };
        for slot in below {
            if let Some(state) = slot.try_lock() {
                drop(self.evict(&slot, state));
            }
        }
    }

    /// What was wrong with files that are gone now is nobody's loss.
    pub(super) fn forget_failures(&self, place: &Place) {
        self.write_index().forget_failures_within(place);
    }

    /// Keeps an error that there is no call to return it.
    pub(super) fn keep(&self, place: &Place, error: Error) {
        self.write_index().fail(place, error, false);
    }
}

impl Drop for Table {
    /// The last that is left of a `Vfs` and its writers.
    fn drop(&mut self) {
        crate::error::print_last_resort(&self.close_all_untold());
    }
}
