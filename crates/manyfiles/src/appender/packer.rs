//! [`Packer`]: the thread that compresses files.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The thread that compresses, while there is something to do.
pub(super) struct Packer {
    pub(super) is_wanted: bool,
    must_stop: AtomicBool,
    work: Mutex<Work>,
}

#[derive(Default)]
pub(super) struct Work {
    pub(super) thread: Option<JoinHandle<()>>,
    pub(super) is_running: bool,
    /// Files before this one are to be compressed.
    pub(super) newest: u64,
}

impl Packer {
    pub(super) fn new(is_wanted: bool) -> Packer {
        Packer { is_wanted, must_stop: AtomicBool::new(false), work: Mutex::default() }
    }

    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the thread has ended. What it was about to do the next appender does.
    pub(super) fn stop(&self) {
        self.must_stop.store(true, Ordering::Relaxed);
        let thread = self.work().thread.take();
        // A panic there has been printed, and costs nothing but the compression.
        thread.map_or(Ok(()), JoinHandle::join).unwrap_or(());
    }

    #[cfg(test)]
    pub(super) fn is_running(&self) -> bool {
        self.work().is_running
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.must_stop.load(Ordering::Relaxed)
    }
}
