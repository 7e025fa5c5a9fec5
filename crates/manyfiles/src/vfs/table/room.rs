//! Handles: how many there may be, and which one is closed for another.

use std::io;

use super::Table;
use crate::vfs::Output;
use crate::vfs::file_key::FileKey;
use crate::vfs::handle_limit::Permit;
use crate::vfs::index::{Slot, State};
use crate::vfs::sync::FileGuard;
use crate::{Error, Operation, Result, sys};

impl Table {
    pub(super) fn open(&self, key: &FileKey) -> Result<Box<dyn Output>> {
        let opened = self.with_room(|| self.backend(key).append(&key.path));
        opened.map_err(|cause| self.error(key, Operation::Open, cause))
    }

    /// Opens something. If the process has no room for another handle, kept ones are closed, one by one, those that no
    /// thread has in hand.
    pub(in crate::vfs) fn with_room<T>(&self, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
        loop {
            match open() {
                Err(error) if is_out_of_handles(&error) => {
                    if self.readers.forget_oldest() {
                        continue;
                    }
                    let Some(victim) = self.read().victim(true) else { return Err(error) };
                    // Another thread may hold this file's lock and wait for ours. So only try.
                    if let Some(state) = victim.try_lock() {
                        drop(self.evict(&victim, state));
                    }
                }
                other => return other,
            }
        }
    }

    /// A permit for another handle: a free one, that of a file that is only read, or that of the handle used longest
    /// ago, which is closed for it. The caller has no file's lock.
    pub(super) fn permit(&self, key: &FileKey) -> Result<Permit> {
        loop {
            let mut permits = self.limit.lock();
            let victim = loop {
                if let Some(permit) = permits.take(&self.limit) {
                    return Ok(permit);
                }
                drop(permits);
                if self.readers.forget_oldest() {
                    permits = self.limit.lock();
                    continue;
                }
                permits = self.limit.lock();
                if let Some(permit) = permits.take(&self.limit) {
                    return Ok(permit);
                }
                if permits.all_pinned() {
                    let message = "as many files as handles may be kept are being written; flush one of them first";
                    return Err(self.error(key, Operation::Open, io::Error::other(message)));
                }
                if let Some(victim) = self.read().victim(false) {
                    break victim;
                }
                permits = self.limit.wait(permits);
            };
            drop(permits);
            if let Some(permit) = self.evict(&victim, victim.lock()) {
                return Ok(permit);
            }
        }
    }

    /// A permit that no file that is written has to give up.
    pub(super) fn spare_permit(&self) -> Option<Permit> {
        let free = self.limit.lock().take(&self.limit);
        free.or_else(|| if self.readers.forget_oldest() { self.limit.lock().take(&self.limit) } else { None })
    }

    /// Closes a file's handle, if it has one. A failure is kept for the next call that names the file.
    pub(super) fn evict(&self, slot: &Slot, mut state: FileGuard<'_, State>) -> Option<Permit> {
        match std::mem::replace(&mut *state, State::Away) {
            State::Open(kept) => {
                let (permit, closed) = kept.close(self.backend(&slot.key), &|key| self.open(key));
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
}

/// Also where another error of ours says so.
pub(in crate::vfs) fn is_out_of_handles(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    sys::is_out_of_handles(inner.map_or(error, Error::io_error))
}
