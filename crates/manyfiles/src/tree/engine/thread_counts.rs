//! How many threads there are, and what each is at.

use std::thread::JoinHandle;

/// Counts of threads. A thread is beginning, busy or idle.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Threads that exist.
    pub(super) count: usize,
    /// Threads that were started and have not looked for work yet.
    pub(super) beginning: usize,
    /// Threads that have a batch.
    pub(super) busy: usize,
    /// Threads that wait for work.
    pub(super) idle: usize,
    /// Of the idle threads, those that look again soon by themselves.
    pub(super) lingering: usize,
    /// Of the idle threads, those that were woken and have not looked yet.
    pub(super) told: usize,
    /// The most threads that were busy at the same time.
    pub(super) peak: usize,
    /// Nothing more comes: threads that find nothing to do end.
    pub(super) closing: bool,
    pub(super) handles: Vec<JoinHandle<()>>,
}
