//! How far the reading is, for a program that shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much of a trace was read, to be looked at from another thread. Clones look at the same.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add_bytes(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
}
