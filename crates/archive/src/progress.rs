//! How far the reading of archives is, for a progress bar.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// How much of the input has been read. Cheap to clone: keep one and give one to
/// [`Options::progress`](crate::Options::progress). The figures of several archives add up.
#[derive(Clone, Debug, Default)]
pub struct InputProgress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    read: AtomicU64,
    total: AtomicU64,
    unknown: AtomicBool,
}

impl InputProgress {
    /// At zero.
    pub fn new() -> InputProgress {
        InputProgress::default()
    }

    /// Bytes of the archives read or passed over so far.
    pub fn read(&self) -> u64 {
        self.0.read.load(Relaxed)
    }

    /// Bytes that the archives opened so far have together. `None` if one of them is a stream.
    pub fn total(&self) -> Option<u64> {
        (!self.0.unknown.load(Relaxed)).then(|| self.0.total.load(Relaxed))
    }

    pub(crate) fn opened(&self, len: Option<u64>) {
        match len {
            Some(len) => {
                self.0.total.fetch_add(len, Relaxed);
            }
            None => self.0.unknown.store(true, Relaxed),
        }
    }

    pub(crate) fn advance(&self, bytes: u64) {
        self.0.read.fetch_add(bytes, Relaxed);
    }
}
