//! [`MirrorProgress`].

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::tree::{Observer, RemovalProgress, Report};

/// Tells how far a mirror is, while it goes on. Cheap to clone.
#[derive(Clone, Default)]
pub struct MirrorProgress(Arc<Counts>);

#[derive(Default)]
struct Counts {
    compared: AtomicU64,
    written: Mutex<Written>,
    removal: RemovalProgress,
}

#[derive(Default)]
struct Written {
    entries: u64,
    bytes: u64,
    /// What is being written.
    now: Option<Observer>,
}

impl MirrorProgress {
    /// Of no mirror yet: for [`Mirror::progress`](super::Mirror::progress).
    pub fn new() -> MirrorProgress {
        MirrorProgress::default()
    }

    /// How many names of the source were compared so far.
    pub fn compared(&self) -> u64 {
        self.0.compared.load(Relaxed)
    }

    /// How many entries were written so far, and how many bytes.
    pub fn written(&self) -> (u64, u64) {
        let written = self.lock();
        let now = written.now.as_ref().map(|now| now.progress()).unwrap_or_default();
        (written.entries + now.entries_done, written.bytes + now.bytes_written)
    }

    /// How many names were removed so far.
    pub fn removed(&self) -> u64 {
        self.0.removal.removed()
    }

    pub(super) fn add_compared(&self) {
        self.0.compared.fetch_add(1, Relaxed);
    }

    pub(super) fn begin_writing(&self, now: Observer) {
        self.lock().now = Some(now);
    }

    pub(super) fn end_writing(&self, report: &Report) {
        let mut written = self.lock();
        written.now = None;
        written.entries += report.files + report.folders + report.symlinks + report.hard_links + report.nodes;
        written.bytes += report.bytes;
    }

    pub(super) fn of_removal(&self) -> RemovalProgress {
        self.0.removal.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MirrorProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (compared, written, removed) = (self.compared(), self.written().0, self.removed());
        write!(f, "MirrorProgress {{ compared: {compared}, written: {written}, removed: {removed} }}")
    }
}
