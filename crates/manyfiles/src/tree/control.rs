//! What acts on a tree from other threads while it writes: [`Observer`] looks, [`Canceller`] stops.

use std::fmt;
use std::sync::Arc;

use super::engine::Control;
use super::report::Progress;
use crate::Error;

/// Tells how far a tree is and what failed so far, while the writing goes on. Cheap to clone, and outlives the tree. In a
/// forked child, which has no part in the writing, it tells of nothing.
#[derive(Clone)]
pub struct Observer {
    control: Arc<Control>,
}

impl Observer {
    pub(super) fn new(control: Arc<Control>) -> Observer {
        Observer { control }
    }

    /// What has been done so far.
    pub fn progress(&self) -> Progress {
        self.control.progress()
    }

    /// The failures from number `from` on, so that each can be shown when it happens.
    pub fn failures(&self, from: usize) -> Vec<Error> {
        self.control.failures_from(from)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.progress()).finish()
    }
}

/// Stops the writing, from any thread. Cheap to clone. (Not from within a signal handler: it takes a lock. A thread
/// that waits for signals may call it.) In a forked child it stops nothing.
#[derive(Clone)]
pub struct Canceller {
    control: Arc<Control>,
}

impl Canceller {
    pub(super) fn new(control: Arc<Control>) -> Canceller {
        Canceller { control }
    }

    /// No entry is begun after this. Entries that are being written are stopped and removed. Calls that hand over
    /// entries or write to a [`TreeFile`](super::TreeFile) return an error at once, also those that wait for room.
    /// [`finish`](super::TreeWriter::finish) reports what is complete.
    pub fn cancel(&self) {
        self.control.cancel();
    }

    /// Whether [`cancel`](Canceller::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.control.is_cancelled()
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Canceller").field(&self.is_cancelled()).finish()
    }
}
