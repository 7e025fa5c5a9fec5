//! Writing to kept handles, and making what was written durable.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Table;
use crate::vfs::file_key::FileKey;
use crate::vfs::handle_limit::Permit;
use crate::vfs::index::{Failure, MOST_FAILURES, Registered, Slot, State};
use crate::vfs::kept::KeptHandle;
use crate::vfs::uri;
use crate::vfs::within::Within;
use crate::{Operation, Result};

impl Table {
    /// The fast way: takes bytes that have only to be copied, for a file that is known by this URI, unless another
    /// thread has it in hand.
    #[inline]
    pub(in crate::vfs) fn push(&self, uri: &OsStr, bytes: &[u8]) -> bool {
        let index = self.read();
        let Some((slot, name)) = index.by_uri(uri) else { return false };
        let Some(mut state) = slot.try_lock() else { return false };
        let State::Open(kept) = &mut *state else { return false };
        self.touch(slot);
        kept.push(*name, bytes, self.now())
    }

    /// Notes that a file was used. While one file is used again and again no shared memory changes.
    #[inline]
    pub(super) fn touch(&self, slot: &Slot) {
        if slot.used.load(Relaxed) != self.uses.load(Relaxed) {
            slot.used.store(self.uses.fetch_add(1, Relaxed) + 1, Relaxed);
        }
    }

    pub(in crate::vfs) fn write(&self, key: &FileKey, uri: &OsStr, bytes: &[u8]) -> Result<()> {
        self.with_handle(key, uri, |kept, name| kept.write(name, bytes))
    }

    pub(in crate::vfs) fn append(&self, key: &FileKey, uri: &OsStr, bytes: &[u8]) -> Result<()> {
        self.with_handle(key, uri, |kept, name| kept.append(name, bytes))
    }

    /// Does something with the handle of the file that the name leads to, opened if need be, under the file's lock.
    pub(super) fn with_handle(
        &self,
        key: &FileKey,
        uri: &OsStr,
        work: impl FnOnce(&mut KeptHandle, usize) -> Result<()>,
    ) -> Result<()> {
        let mut permit = None;
        let mut of_another: Option<Arc<Failure>> = None;
        loop {
            let (slot, name) = {
                let mut index = self.write_index();
                let known =
                    |failure: &Arc<Failure>| of_another.as_ref().is_some_and(|known| Arc::ptr_eq(known, failure));
                if let Some(failure) = index.failure(key).filter(|failure| !known(failure)) {
                    drop(index);
                    if !self.is_of_another(&failure, key) {
                        return Err(failure.tell());
                    }
                    of_another = Some(failure);
                    continue;
                }
                // The usual case of a file that has no handle, without a slot, which is not needed yet.
                if permit.is_none() && index.get(key).is_none() {
                    drop(index);
                    permit = Some(self.permit(key)?);
                    continue;
                }
                let (slot, name) = index.slot(key);
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
                        permit = Some(self.permit(key)?);
                        continue;
                    };
                    *state = State::Away;
                    let now = self.now();
                    match self.open_slot(&slot, own) {
                        Ok(Ok(mut kept)) => {
                            kept.see_at(name, key, now);
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
                    let backend = self.backend(key);
                    if !kept.is_at(name, key, backend, self.now()) || kept.owes_another(name, backend) {
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
                Err(error) => Err(self.give_up(&slot, state, error, true)),
            };
        }
    }

    /// Opens the file of a slot that is locked, and [`Away`](State::Away). Gives the permit back if the file is another
    /// slot's. After an error the slot is out of the index.
    pub(super) fn open_slot(&self, slot: &Slot, mut permit: Permit) -> Result<Result<KeptHandle, Permit>> {
        let key = &slot.key;
        let opened = if self.read().too_many_failures() {
            let message =
                format!("{MOST_FAILURES} files have failed and nobody has taken note; flush them, or close the Vfs");
            Err(self.error(key, Operation::Open, io::Error::other(message)))
        } else {
            self.open(key)
        };
        let output = opened.inspect_err(|_| drop(self.write_index().remove(slot)))?;
        let identity = output.identity().map(|identity| (key.backend, identity));
        if let Some(identity) = identity {
            if let Some(failure) = self.failure_of(identity) {
                self.write_index().remove(slot);
                return Err(failure.tell());
            }
            let registered = self.write_index().register(slot, identity);
            if let Registered::Alias { of, found } = registered {
                if let Err(cause) = output.close() {
                    let error = self.error(key, Operation::Close, cause);
                    self.write_index().fail(vec![key.clone(), of.key.clone()], Some(identity), error.clone(), true);
                    return Err(error);
                }
                if !found {
                    // With its next handle it has one name again.
                    drop(self.evict(&of, of.lock()));
                }
                return Ok(Err(permit));
            }
        }
        if self.backend(key).reopens() {
            slot.can_be_evicted.store(true, Relaxed);
            self.limit.announce();
        } else {
            permit.pin();
        }
        Ok(Ok(KeptHandle::new(output, &uri::shown(&self.backends, key), permit, &self.budget)))
    }

    /// Hands what is buffered for a file to the operating system, or whatever is behind the backend, and keeps the
    /// handle.
    pub(in crate::vfs) fn write_out(&self, key: &FileKey) -> Result<()> {
        let (slots, identity) = self.slots_of(key);
        for slot in &slots {
            self.if_open(slot, KeptHandle::write_out)?;
        }
        self.check(key, identity)
    }

    /// The same for all files that are in a folder, by whatever names.
    pub(in crate::vfs) fn write_out_children(&self, folder: &FileKey) -> Result<()> {
        let names: Vec<(FileKey, Arc<Slot>)> =
            self.read().names().map(|(name, slot)| (name.clone(), Arc::clone(slot))).collect();
        let mut within = Within::new(self.backend(folder), folder);
        let mut first = Ok(());
        for (name, slot) in names {
            if name.backend != folder.backend {
                continue;
            }
            // A file may be in the folder by a name that was not used here. The call that uses that name reports its
            // failure: here it counts as told only if it is returned.
            let written = self.if_open_for(&slot, KeptHandle::write_out, false);
            if first.is_ok() && within.has_child(&name) {
                first = self.check(&name, None).and(written.map(drop));
            }
        }
        first
    }

    /// Makes durable, by kept handles, what was written by this name, and the file that the name leads to now. False if
    /// that file, or this name of it, is still to be synced by its path.
    pub(in crate::vfs) fn sync(&self, key: &FileKey) -> Result<bool> {
        let backend = self.backend(key);
        let mut done = None;
        let known = self.read().get(key);
        if let Some((slot, name)) = known {
            let mut state = slot.lock();
            match &mut *state {
                // What is buffered belongs to where the name leads that it was written by.
                State::Open(kept) if kept.owes() && !kept.is_found(backend) => drop(self.evict(&slot, state)),
                State::Open(kept) => match kept.sync() {
                    Err(error) => return Err(self.give_up(&slot, state, error, true)),
                    // Looked at only now: what had the name when this call began is no more wrong than what has it
                    // later.
                    Ok(named) => match kept.is_at(name, key, backend, self.now()) {
                        true => done = Some((Arc::clone(&slot), named && slot.key == *key)),
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
        let identity = if has_identities || has_failures { self.identify(key) } else { None };
        if let Some(other) = identity.and_then(|identity| self.read().by_identity(identity))
            && !done.as_ref().is_some_and(|(slot, _)| Arc::ptr_eq(slot, &other))
        {
            // By another name: this one's is left to be synced.
            self.if_open(&other, |kept| kept.sync().map(drop))?;
            done = None;
        }
        self.check(key, identity).map(|()| done.is_some_and(|(_, named)| named))
    }
}
