//! [`Packer`]: the thread that compresses files.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The thread that compresses, while there is something to do.
pub(in crate::appender) struct Packer {
    pub(in crate::appender) is_wanted: bool,
    must_stop: AtomicBool,
    work: Mutex<Work>,
}

#[derive(Default)]
pub(in crate::appender) struct Work {
    pub(in crate::appender) thread: Option<JoinHandle<()>>,
    pub(in crate::appender) is_running: bool,
    /// Files before this one are to be compressed.
    pub(in crate::appender) newest: u64,
}

impl Packer {
    pub(in crate::appender) fn new(is_wanted: bool) -> Packer {
        Packer { is_wanted, must_stop: AtomicBool::new(false), work: Mutex::default() }
    }

    pub(in crate::appender) fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the thread has ended. What it was about to do the next appender does.
    pub(in crate::appender) fn stop(&self) {
        self.must_stop.store(true, Ordering::Relaxed);
        let thread = self.work().thread.take();
        // A panic there has been printed, and costs nothing but the compression.
        thread.map_or(Ok(()), JoinHandle::join).unwrap_or(());
    }

    #[cfg(test)]
    pub(in crate::appender) fn is_running(&self) -> bool {
        self.work().is_running
    }

    pub(in crate::appender) fn is_stopped(&self) -> bool {
        self.must_stop.load(Ordering::Relaxed)
    }
}
