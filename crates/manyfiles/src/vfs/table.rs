//! The kept handles of a [`Vfs`](super::Vfs): one for each file, found by any of its names, bounded in number, one lock each.
//!
//! A name that is not known yet is opened; if what that opens is a file that has a handle, the name becomes one more of that
//! file's, and the new handle is closed. So all that is buffered for a file is in one place and in the order of the calls. A
//! name counts as known for [`INTERVAL`](super::kept::INTERVAL), and not beyond a change of names by this `Vfs`: then it is
//! looked up again.
//!
//! Locks, in the order in which a thread may take them: a file's that nobody has open (two only to rename, in the order of their
//! places); a file's that is open; the gate's; the index's. Only the first two are held while anything is written, opened, closed
//! or looked up. Who waits for a permit has no file's lock, for a permit may have to come from any file.

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, PoisonError};

use super::buffer::Budget;
use super::gate::{Gate, Permit};
use super::index::{Failure, FileId, Index, MOST_FAILURES, Registered, Slot, State};
use super::kept::{Kept, Now};
use super::place::Place;
use super::readers::{Reader, Readers};
use super::sync::{AtomicU64, FileGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, now};
use super::within::Within;
use super::{Backend, Output};
use crate::{Error, Operation, Result, sys};

pub(super) struct Table {
    /// Scheme and backend; the first is the one for local files.
    backends: Vec<(String, Arc<dyn Backend>)>,
    index: RwLock<Index>,
    gate: Arc<Gate>,
    budget: Arc<Budget>,
    uses: AtomicU64,
    /// How many times this `Vfs` has removed, renamed or created anything.
    changes: AtomicU64,
    readers: Readers,
}

impl Table {
    pub(super) fn new(backends: Vec<(String, Arc<dyn Backend>)>, handles: usize, buffer_memory: usize) -> Table {
        let (index, gate) = (RwLock::new(Index::default()), Gate::new(handles.max(1)));
        let (uses, changes) = (AtomicU64::new(0), AtomicU64::new(0));
        let budget = Budget::new(buffer_memory);
        Table { backends, index, gate, budget, uses, changes, readers: Readers::default() }
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

    fn now(&self) -> Now {
        Now { time: now(), changes: self.changes.load(Acquire) }
    }

    /// The error of an operation on a file. What a writer of ours said says it all already.
    pub(super) fn error(&self, place: &Place, operation: Operation, cause: io::Error) -> Error {
        match cause.downcast::<Error>() {
            Ok(error) => error,
            Err(cause) => Error::new(operation, super::uri::shown(&self.backends, place), cause),
        }
    }

    /// What the file is that the name leads to now. `None` if that is nothing, or if the backend does not tell.
    pub(super) fn identify(&self, place: &Place) -> Option<FileId> {
        // An error is told by the call that comes next.
        Some((place.backend, self.backend(place).identity(&place.path).ok().flatten()?))
    }

    // Writing.

    /// The fast way: takes bytes that have only to be copied, for a file that is known by this URI, unless somebody else has it
    /// in hand.
    #[inline]
    pub(super) fn push(&self, uri: &OsStr, bytes: &[u8]) -> bool {
        let index = self.read();
        let Some((slot, name)) = index.by_uri(uri) else { return false };
        let Some(mut state) = slot.try_lock() else { return false };
        let State::Open(kept) = &mut *state else { return false };
        self.touch(slot);
        kept.push(*name, bytes, self.now())
    }

    /// Notes that a file was used. While one file is used again and again no shared memory changes.
    #[inline]
    fn touch(&self, slot: &Slot) {
        if slot.used.load(Relaxed) != self.uses.load(Relaxed) {
            slot.used.store(self.uses.fetch_add(1, Relaxed) + 1, Relaxed);
        }
    }

    pub(super) fn write(&self, place: &Place, uri: &OsStr, bytes: &[u8]) -> Result<()> {
        self.with_handle(place, uri, |kept, name| kept.write(name, bytes))
    }

    pub(super) fn append(&self, place: &Place, uri: &OsStr, bytes: &[u8]) -> Result<()> {
        self.with_handle(place, uri, |kept, name| kept.append(name, bytes))
    }

    /// Does something with the handle of the file that the name leads to, opened if need be, under the file's lock.
    fn with_handle(&self, place: &Place, uri: &OsStr, work: impl FnOnce(&mut Kept, usize) -> Result<()>) -> Result<()> {
        let mut permit = None;
        let mut of_another: Option<Arc<Failure>> = None;
        loop {
            let (slot, name) = {
                let mut index = self.write_index();
                let known =
                    |failure: &Arc<Failure>| of_another.as_ref().is_some_and(|known| Arc::ptr_eq(known, failure));
                if let Some(failure) = index.failure(place).filter(|failure| !known(failure)) {
                    drop(index);
                    if !self.is_of_another(&failure, place) {
                        return Err(failure.tell());
                    }
                    of_another = Some(failure);
                    continue;
                }
                // The usual case of a file that has no handle, without a slot that nobody needs yet.
                if permit.is_none() && index.get(place).is_none() {
                    drop(index);
                    permit = Some(self.permit(place)?);
                    continue;
                }
                let (slot, name) = index.slot(place);
                index.remember(uri, &slot, name);
                (slot, name)
            };
            let mut state = slot.lock();
            match &mut *state {
                State::Gone => continue,
                State::Away => {
                    self.forget_panicked(&slot, state, true);
                    continue;
                }
                State::New => {
                    let Some(own) = permit.take() else {
                        drop(state);
                        permit = Some(self.permit(place)?);
                        continue;
                    };
                    *state = State::Away;
                    let now = self.now();
                    match self.open_slot(&slot, own) {
                        Ok(Ok(mut kept)) => {
                            kept.see_at(name, place, now);
                            *state = State::Open(Box::new(kept));
                        }
                        // Its name leads to a file that has a handle: look there.
                        Ok(Err(own)) => {
                            *state = State::Gone;
                            permit = Some(own);
                            continue;
                        }
                        Err(error) => {
                            *state = State::Gone;
                            return Err(error);
                        }
                    }
                }
                State::Open(kept) => {
                    let backend = self.backend(place);
                    if !kept.is_at(name, place, backend, self.now()) || kept.owes_another(name, backend) {
                        // This name leads elsewhere now, or the one by which the buffer was filled.
                        permit = self.evict(&slot, state).or(permit);
                        continue;
                    }
                }
            }
            let State::Open(kept) = &mut *state else { continue };
            self.touch(&slot);
            return match work(kept, name) {
                Ok(()) => Ok(()),
                Err(error) => Err(self.give_up(&slot, state, error)),
            };
        }
    }

    /// Opens the file of a slot that is locked, and [`Away`](State::Away). Gives the permit back if the file is another slot's.
    /// After an error the slot is out of the index.
    fn open_slot(&self, slot: &Slot, mut permit: Permit) -> Result<Result<Kept, Permit>> {
        let place = &slot.place;
        let opened = if self.read().too_many_failures() {
            let message =
                format!("{MOST_FAILURES} files have failed and nobody has taken note; flush them, or close the Vfs");
            Err(self.error(place, Operation::Open, io::Error::other(message)))
        } else {
            self.open(place)
        };
        let output = opened.inspect_err(|_| drop(self.write_index().remove(slot)))?;
        let identity = output.identity().map(|identity| (place.backend, identity));
        if let Some(identity) = identity {
            if let Some(failure) = self.failure_of(identity) {
                self.write_index().remove(slot);
                return Err(failure);
            }
            let registered = self.write_index().register(slot, identity);
            if let Registered::Alias { of, found } = registered {
                if let Err(cause) = output.close() {
                    let error = self.error(place, Operation::Close, cause);
                    self.write_index().fail(vec![place.clone(), of.place.clone()], Some(identity), error.clone(), true);
                    return Err(error);
                }
                if !found {
                    // With its next handle it has one name again.
                    drop(self.evict(&of, of.lock()));
                }
                return Ok(Err(permit));
            }
        }
        if self.backend(place).reopens() {
            slot.can_be_evicted.store(true, Relaxed);
            self.gate.announce();
        } else {
            permit.pin();
        }
        Ok(Ok(Kept::new(output, &super::uri::shown(&self.backends, place), permit, &self.budget)))
    }

    fn open(&self, place: &Place) -> Result<Box<dyn Output>> {
        let opened = self.with_room(|| self.backend(place).append(&place.path));
        opened.map_err(|cause| self.error(place, Operation::Open, cause))
    }

    /// Opens something. If the process has no room for another handle, kept ones are closed, one by one, those that nobody has in
    /// hand.
    pub(super) fn with_room<T>(&self, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
        loop {
            match open() {
                Err(error) if is_out_of_handles(&error) => {
                    if self.readers.forget_oldest() {
                        continue;
                    }
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

    /// After a failure, which the caller is told: nothing more is written by this handle.
    fn give_up(&self, slot: &Slot, mut state: FileGuard<'_, State>, error: Error) -> Error {
        // Closed by its drop. Only the first failure is told: whatever the close says is a consequence of it, or less.
        drop(std::mem::replace(&mut *state, State::Away));
        self.forget(slot, state, Some((error.clone(), true)));
        error
    }

    fn forget_panicked(&self, slot: &Slot, state: FileGuard<'_, State>, told: bool) -> Error {
        let cause = io::Error::other("a call before this one panicked, and what it wrote is not known");
        let error = self.error(&slot.place, Operation::Write, cause);
        self.forget(slot, state, Some((error.clone(), told)));
        error
    }

    /// The file has no handle any more: its slot leaves the index, in the same moment in which a failure is there to be found.
    fn forget(&self, slot: &Slot, mut state: FileGuard<'_, State>, failure: Option<(Error, bool)>) {
        slot.can_be_evicted.store(false, Relaxed);
        let mut index = self.write_index();
        let (mut names, identity) = index.remove(slot);
        if let Some((error, told)) = failure {
            if names.is_empty() {
                names.push(slot.place.clone());
            }
            index.fail(names, identity, error, told);
        }
        *state = State::Gone;
    }

    // Room.

    /// A permit for another handle: a free one, that of a file that is only read, or that of the handle used longest ago, which is
    /// closed for it. The caller has no file's lock.
    fn permit(&self, place: &Place) -> Result<Permit> {
        loop {
            let mut permits = self.gate.lock();
            let victim = loop {
                if let Some(permit) = permits.take(&self.gate) {
                    return Ok(permit);
                }
                drop(permits);
                if self.readers.forget_oldest() {
                    permits = self.gate.lock();
                    continue;
                }
                permits = self.gate.lock();
                if let Some(permit) = permits.take(&self.gate) {
                    return Ok(permit);
                }
                if permits.all_pinned() {
                    let message = "as many files as handles may be kept are being written; flush one of them first";
                    return Err(self.error(place, Operation::Open, io::Error::other(message)));
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
                let (permit, closed) = kept.close(self.backend(&slot.place), &|place| self.open(place));
                self.forget(slot, state, closed.err().map(|error| (error, false)));
                Some(permit)
            }
            State::Away => {
                self.forget_panicked(slot, state, false);
                None
            }
            other => {
                *state = other;
                None
            }
        }
    }

    // What other operations need of the kept handles.

    /// Why a file is not complete, if it is this one: another may have its number by now.
    fn failure_of(&self, identity: FileId) -> Option<Error> {
        let maybe = {
            let index = self.read();
            if !index.has_failures() {
                return None;
            }
            index.failures_of(identity)
        };
        let is_it =
            maybe.into_iter().find(|failure| failure.names.iter().any(|name| self.identify(name) == Some(identity)));
        is_it.map(|failure| failure.tell())
    }

    /// Whether a failure that is kept for this name is that of another file: others have moved it or replaced it, and somebody
    /// has been told.
    fn is_of_another(&self, failure: &Failure, place: &Place) -> bool {
        failure.is_of_another(self.identify(place))
    }

    /// Returns why a file is not complete, if it is not.
    fn check(&self, place: &Place, identity: Option<FileId>) -> Result<()> {
        let failure = self.read().failure(place);
        if let Some(failure) = failure.filter(|failure| !self.is_of_another(failure, place)) {
            return Err(failure.tell());
        }
        identity.and_then(|identity| self.failure_of(identity)).map_or(Ok(()), Err)
    }

    /// The same for a folder and all that is in it.
    pub(super) fn check_within(&self, folder: &Place) -> Result<()> {
        let failed = self.read().failed_names();
        if failed.is_empty() {
            return Ok(());
        }
        let mut within = Within::new(self.backend(folder), folder);
        let found = failed.iter().find(|(place, failure)| within.has(place) && !self.is_of_another(failure, place));
        match found {
            Some((_, failure)) => Err(failure.tell()),
            None => self.check(folder, self.identify(folder)),
        }
    }

    /// The slots of the file that the name leads to: by the name, and by what the file is. Two if the name leads to another file
    /// than when it was used last. And what the file is, if somebody had to look.
    fn slots_of(&self, place: &Place) -> (Vec<Arc<Slot>>, Option<FileId>) {
        let (known, has_identities, has_failures) = {
            let index = self.read();
            (index.get(place), index.has_identities(), index.has_failures())
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
        let identity = if has_identities || has_failures { self.identify(place) } else { None };
        let mut slots: Vec<_> = known.into_iter().map(|(slot, _)| slot).collect();
        let other = identity.and_then(|identity| self.read().by_identity(identity));
        slots.extend(other.filter(|other| !slots.iter().any(|slot| Arc::ptr_eq(slot, other))));
        (slots, identity)
    }

    /// Hands what is buffered for a file to the operating system, or whatever is behind the backend, and keeps the handle.
    pub(super) fn write_out(&self, place: &Place) -> Result<()> {
        let (slots, identity) = self.slots_of(place);
        for slot in &slots {
            self.if_open(slot, Kept::write_out)?;
        }
        self.check(place, identity)
    }

    /// The same for all files that are in a folder, by whatever names.
    pub(super) fn write_out_children(&self, folder: &Place) -> Result<()> {
        let names: Vec<(Place, Arc<Slot>)> =
            self.read().names().map(|(name, slot)| (name.clone(), Arc::clone(slot))).collect();
        let mut within = Within::new(self.backend(folder), folder);
        let mut first = Ok(());
        for (name, slot) in names {
            if name.backend != folder.backend {
                continue;
            }
            // A file may be in the folder by a name that nobody has used here. Its failure is told to whoever names it.
            let written = self.if_open(&slot, Kept::write_out);
            if first.is_ok() && within.has_child(&name) {
                first = written.and_then(|_| self.check(&name, None));
            }
        }
        first
    }

    /// Makes durable, by kept handles, what was written by this name, and the file that the name leads to now. False if that file,
    /// or this name of it, is still to be synced by its path.
    pub(super) fn sync(&self, place: &Place) -> Result<bool> {
        let backend = self.backend(place);
        let mut done = None;
        let known = self.read().get(place);
        if let Some((slot, name)) = known {
            let mut state = slot.lock();
            match &mut *state {
                // What is buffered belongs to where the name leads that it was written by.
                State::Open(kept) if kept.owes() && !kept.is_found(backend) => drop(self.evict(&slot, state)),
                State::Open(kept) => match kept.sync() {
                    Err(error) => return Err(self.give_up(&slot, state, error)),
                    // Looked at only now: what had the name when this call began is no more wrong than what has it later.
                    Ok(named) => match kept.is_at(name, place, backend, self.now()) {
                        true => done = Some((Arc::clone(&slot), named && slot.place == *place)),
                        false => drop(self.evict(&slot, state)),
                    },
                },
                State::Away => return Err(self.forget_panicked(&slot, state, true)),
                State::New | State::Gone => {}
            }
        }
        let (has_identities, has_failures) = {
            let index = self.read();
            (index.has_identities(), index.has_failures())
        };
        let identity = if has_identities || has_failures { self.identify(place) } else { None };
        if let Some(other) = identity.and_then(|identity| self.read().by_identity(identity))
            && !done.as_ref().is_some_and(|(slot, _)| Arc::ptr_eq(slot, &other))
        {
            // By another name: this one's is left to be synced.
            self.if_open(&other, |kept| kept.sync().map(drop))?;
            done = None;
        }
        self.check(place, identity).map(|()| done.is_some_and(|(_, named)| named))
    }

    /// Does something with the handle of a slot, if it has one. What is buffered by a name that leads to the
    /// file no more is written to where that leads now, and the handle closed.
    fn if_open(&self, slot: &Slot, work: impl FnOnce(&mut Kept) -> Result<()>) -> Result<bool> {
        let mut state = slot.lock();
        match &mut *state {
            State::Open(kept) => {
                if kept.owes() && !kept.is_found(self.backend(&slot.place)) {
                    drop(self.evict(slot, state));
                    return Ok(false);
                }
                match work(kept) {
                    Ok(()) => Ok(true),
                    Err(error) => Err(self.give_up(slot, state, error)),
                }
            }
            State::Away => Err(self.forget_panicked(slot, state, true)),
            State::New | State::Gone => Ok(false),
        }
    }

    /// Closes the handles of a file and returns why the file is not complete, if it is not: that is then forgotten.
    pub(super) fn close(&self, place: &Place) -> Result<()> {
        let (slots, identity) = self.slots_of(place);
        for slot in &slots {
            drop(self.evict(slot, slot.lock()));
        }
        self.forget_readers(place, identity);
        let failure = self.read().failure(place);
        if failure.is_some_and(|failure| !self.is_of_another(&failure, place))
            && let Some(error) = self.write_index().take_failure(place)
        {
            return Err(error);
        }
        let Some(identity) = identity else { return Ok(()) };
        let Some(error) = self.failure_of(identity) else { return Ok(()) };
        let names = self.read().failures_of(identity).into_iter().flat_map(|failure| failure.names.clone());
        for name in names.collect::<Vec<_>>() {
            self.write_index().take_failure(&name);
        }
        Err(error)
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
        self.readers.forget(|_, _| true);
    }

    /// Changes what a name leads to, while no handle is kept for the file that it leads to before, and nobody here opens one by this
    /// name. What was written to that file before, by any of its names, is in it when `work` begins. Of what is kept below the
    /// name, what nobody has in hand is closed before.
    pub(super) fn exclusively<T>(&self, place: &Place, work: impl FnOnce() -> T) -> T {
        loop {
            let (slot, _) = self.write_index().slot(place);
            let mut state = slot.lock();
            if matches!(*state, State::Gone) {
                continue;
            }
            if !matches!(*state, State::New) {
                drop(self.evict(&slot, state));
                continue;
            }
            *state = State::Away;
            let identity = self.identify(place);
            if let Some(other) = identity.and_then(|identity| self.read().by_identity(identity)) {
                drop(self.evict(&other, other.lock()));
            }
            self.forget_readers(place, identity);
            self.close_idle_within(place, &slot);
            let result = work();
            self.changes.fetch_add(1, Release);
            self.forget(&slot, state, None);
            return result;
        }
    }

    fn close_idle_within(&self, folder: &Place, own: &Arc<Slot>) {
        let names: Vec<(Place, Arc<Slot>)> = {
            let index = self.read();
            let others = index.names().filter(|(_, slot)| !Arc::ptr_eq(slot, own));
            others.map(|(name, slot)| (name.clone(), Arc::clone(slot))).collect()
        };
        let mut within = Within::new(self.backend(folder), folder);
        for (name, slot) in names {
            if within.has(&name)
                && let Some(state) = slot.try_lock()
            {
                drop(self.evict(&slot, state));
            }
        }
        let below: Vec<Place> = self.readers.names().into_iter().filter(|name| within.has(name)).collect();
        if !below.is_empty() {
            self.readers.forget(|name, _| below.contains(name));
        }
    }

    /// What was wrong with files that are gone now is nobody's loss.
    pub(super) fn forget_failures(&self, gone: &Place) {
        self.write_index().forget_failure(gone);
        let failed = self.read().failed_names();
        if failed.is_empty() {
            return;
        }
        let mut within = Within::new(self.backend(gone), gone);
        for (name, _) in failed.iter().filter(|(name, _)| within.has(name)) {
            self.write_index().forget_failure(name);
        }
    }

    /// Keeps an error that there is no call to return it, or that shall stay.
    pub(super) fn keep(&self, place: &Place, error: Error, told: bool) {
        let identity = self.identify(place);
        self.write_index().fail(vec![place.clone()], identity, error, told);
    }

    // Reading.

    /// What reads the file that the name leads to now, once nothing is buffered for it. `None` if the backend reads by path. `keep`:
    /// the same file is likely to be read again.
    pub(super) fn reader(&self, place: &Place, keep: bool) -> Result<Option<Arc<Reader>>> {
        // By the name it is known; what is buffered for a file that has moved may be what makes the name lead anywhere.
        let bound = self.read().get(place);
        if let Some((slot, _)) = bound {
            self.if_open(&slot, Kept::write_out)?;
        }
        let reader = self.open_reader(place, keep).map_err(|cause| self.error(place, Operation::Read, cause))?;
        let Some(reader) = reader else {
            self.check(place, None)?;
            return Ok(None);
        };
        let identity = reader.identity.map(|identity| (place.backend, identity));
        if let Some(slot) = identity.and_then(|identity| self.read().by_identity(identity)) {
            self.if_open(&slot, Kept::write_out)?;
        }
        self.check(place, identity)?;
        Ok(Some(reader))
    }

    fn open_reader(&self, place: &Place, keep: bool) -> io::Result<Option<Arc<Reader>>> {
        let now = now();
        let backend = self.backend(place);
        if let Some(kept) = self.readers.get(place, now) {
            if backend.identity(&place.path)? == kept.identity {
                return Ok(Some(kept));
            }
            self.readers.forget(|name, _| name == place);
        }
        let Some(input) = self.with_room(|| backend.open(&place.path))? else { return Ok(None) };
        // What cannot be told from another file that has its name later is not kept.
        let permit = if keep && input.identity().is_some() { self.spare_permit() } else { None };
        let is_kept = permit.is_some();
        let reader = Arc::new(Reader::new(input, now, permit));
        if is_kept {
            self.readers.keep(place, &reader, now);
        }
        Ok(Some(reader))
    }

    /// A permit that no file that is written has to give up.
    fn spare_permit(&self) -> Option<Permit> {
        let free = self.gate.lock().take(&self.gate);
        free.or_else(|| if self.readers.forget_oldest() { self.gate.lock().take(&self.gate) } else { None })
    }

    /// Lets go of a file that is kept to be read.
    pub(super) fn forget_readers(&self, place: &Place, identity: Option<FileId>) {
        self.readers.forget(|name, other| {
            name == place || (identity.is_some() && other.map(|other| (name.backend, other)) == identity)
        });
    }
}

/// Also where another error of ours says so.
pub(super) fn is_out_of_handles(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    sys::is_out_of_handles(inner.map_or(error, Error::io_error))
}

impl Drop for Table {
    /// The last that is left of a `Vfs` and its writers.
    fn drop(&mut self) {
        crate::error::print_last_resort(&self.close_all_untold());
    }
}
