//! Writing what has been buffered for long enough: a thread that is there while something is.

use std::sync::{Arc, PoisonError};

use crate::appender::commit::group::{Group, Guard};
use crate::appender::sync::Builder;

/// A flusher waits and writes.
const STACK: usize = 128 << 10;

impl Group {
    /// What was just buffered is to be written after a while, if that was asked for.
    pub(in crate::appender) fn plan_flush(self: &Arc<Group>, mut state: Guard<'_>) {
        let Some(every) = self.options.flush_every else { return };
        if state.batch.is_empty() || state.flush_at.is_some() {
            return; // written already, or behind what is planned
        }
        state.flush_at = Some(self.storage.now().saturating_add(every));
        if std::mem::replace(&mut state.has_flusher, true) {
            return; // it looks again when it is awake
        }
        let newest = state.progress.appended();
        drop(state);
        let flusher = Arc::clone(self);
        let builder = Builder::new().name("manyfiles-flush".into()).stack_size(STACK);
        if builder.spawn(move || flusher.flush_in_time()).is_err() {
            // No thread: then at once. A failure is told to the next caller.
            self.try_write(newest).has_flusher = false;
        }
    }

    /// The flusher's work. It ends when nothing is planned.
    fn flush_in_time(&self) {
        let mut state = self.lock();
        while let Some(at) = state.flush_at.filter(|_| !state.is_closing && !state.progress.has_failed()) {
            let left = at.saturating_sub(self.storage.now());
            // Loom knows no timeouts: there it is always time.
            if left.is_zero() || cfg!(loom) {
                let newest = state.progress.appended();
                drop(state);
                state = self.try_write(newest);
            } else {
                state = self.timer.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        state.has_flusher = false;
    }
}
