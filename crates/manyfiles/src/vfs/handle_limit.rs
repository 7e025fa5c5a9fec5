//! How many handles are kept at a time.

use std::sync::{Arc, PoisonError};

use super::sync::{Condvar, Mutex, MutexGuard};

/// Permits to have a handle. Each belongs to a kept handle, or to a thread that is about to open one.
pub(super) struct HandleLimit {
    state: Mutex<Permits>,
    /// A permit came back, or a handle was opened that could be closed for its permit.
    changed: Condvar,
}

pub(super) struct Permits {
    all: usize,
    free: usize,
    /// Permits of handles that are closed only when their caller says so.
    pinned: usize,
}

impl HandleLimit {
    pub(super) fn new(all: usize) -> Arc<HandleLimit> {
        Arc::new(HandleLimit { state: Mutex::new(Permits { all, free: all, pinned: 0 }), changed: Condvar::new() })
    }

    /// Counts only, whole whatever panics.
    pub(super) fn lock(&self) -> MutexGuard<'_, Permits> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait<'a>(&self, permits: MutexGuard<'a, Permits>) -> MutexGuard<'a, Permits> {
        self.changed.wait(permits).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the threads that wait: they look again.
    pub(super) fn announce(&self) {
        // A thread that found nothing and does not wait yet holds this lock.
        drop(self.lock());
        self.changed.notify_all();
    }
}

impl Permits {
    pub(super) fn take(&mut self, limit: &Arc<HandleLimit>) -> Option<Permit> {
        self.free = self.free.checked_sub(1)?;
        Some(Permit { limit: Arc::clone(limit), pinned: false })
    }

    pub(super) fn all_pinned(&self) -> bool {
        self.pinned == self.all
    }
}

/// The right to have a handle. Given back when it is dropped.
pub(super) struct Permit {
    limit: Arc<HandleLimit>,
    pinned: bool,
}

impl Permit {
    /// From now on its handle is not closed to make room.
    pub(super) fn pin(&mut self) {
        if !self.pinned {
            self.pinned = true;
            self.limit.lock().pinned += 1;
            self.limit.announce();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut permits = self.limit.lock();
        permits.free += 1;
        permits.pinned -= usize::from(self.pinned);
        drop(permits);
        self.limit.changed.notify_all();
    }
}
