//! What the threads, the callers and the observers of a tree share, without its handles: an observer that outlives the
//! tree keeps no folder open.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};

use super::counts::Totals;
use super::lock::lock;
use super::outcome::Outcome;
use super::queue::Queue;
use super::thread_counts::Threads;
use crate::Error;
use crate::origin::Origin;
use crate::tree::{Progress, Report};

#[derive(Debug)]
pub(in crate::tree) struct Control {
    pub(super) state: Mutex<State>,
    /// Where threads wait for work.
    pub(super) work: Condvar,
    /// Where callers wait for room, or for the end.
    pub(super) room: Condvar,
    cancelled: AtomicBool,
    /// Whether the streams that were open at the end of the tree were ended.
    streams_ended: AtomicBool,
    /// Whether the file system makes its callers wait, so that closes are worth showing.
    pub(super) slow: AtomicBool,
    /// Whether nothing is left but to wait for the disk.
    pub(super) syncing: AtomicBool,
    pub(super) totals: Totals,
    pub(super) outcome: Outcome,
    /// A forked child's copy takes no lock: a thread that the child does not have may hold it.
    origin: Origin,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) queue: Queue,
    pub(super) threads: Threads,
    /// Callers that wait in `room`. Every folder that can be worked on is then worth a thread.
    pub(super) waiting_callers: usize,
    /// Callers among these that wait for room. The other callers wait for the end of all work.
    pub(super) waiting_for_room: usize,
}

impl Control {
    pub(super) fn new(queue: Queue, outcome: Outcome) -> Control {
        let state = State { queue, threads: Threads::default(), waiting_callers: 0, waiting_for_room: 0 };
        Control {
            state: Mutex::new(state),
            work: Condvar::new(),
            room: Condvar::new(),
            cancelled: AtomicBool::new(false),
            streams_ended: AtomicBool::new(false),
            slow: AtomicBool::new(false),
            syncing: AtomicBool::new(false),
            totals: Totals::default(),
            outcome,
            origin: Origin::default(),
        }
    }

    pub(super) fn is_slow(&self) -> bool {
        self.slow.load(Relaxed)
    }

    pub(super) fn wrote(&self, bytes: u64) {
        self.totals.wrote(bytes);
    }

    /// Wakes every caller and every thread that waits. A thread holds the lock from its look at the flag until it
    /// sleeps, and this call takes the lock: so no thread misses the cancellation.
    pub(in crate::tree) fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
        if self.is_a_copy() {
            return;
        }
        let mut state = lock(&self.state);
        self.drop_if_cancelled(&mut state);
        self.room.notify_all();
        self.work.notify_all();
    }

    fn is_a_copy(&self) -> bool {
        self.origin.check_call().is_err()
    }

    pub(in crate::tree) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    pub(super) fn end_all_streams(&self) {
        self.streams_ended.store(true, Relaxed);
    }

    /// Whether a stream takes nothing any more: the tree is cancelled or finished.
    pub(in crate::tree) fn takes_no_more(&self) -> bool {
        self.is_cancelled() || self.streams_ended.load(Relaxed)
    }

    pub(in crate::tree) fn fail(&self, error: Error) {
        self.outcome.fail(error);
    }

    pub(in crate::tree) fn failures_from(&self, from: usize) -> Vec<Error> {
        if self.is_a_copy() { Vec::new() } else { self.outcome.failures_from(from) }
    }

    pub(in crate::tree) fn progress(&self) -> Progress {
        if self.is_a_copy() {
            return Progress::default();
        }
        let mut progress = Progress { failures: self.outcome.failure_count(), ..Progress::default() };
        self.totals.fill_progress(&mut progress);
        progress.threads = lock(&self.state).threads.busy;
        progress.syncing = self.syncing.load(Relaxed);
        progress
    }

    /// Throws away the waiting entries, if the writing was cancelled.
    pub(super) fn drop_if_cancelled(&self, state: &mut State) {
        if self.is_cancelled() {
            let dropped = state.queue.drop_waiting();
            self.totals.not_written.fetch_add(dropped as u64, Relaxed);
            self.tell_that_all_is_done(state);
            if dropped > 0 || state.queue.unfinished == 0 {
                self.room.notify_all();
            }
        }
    }

    /// Lets threads that wait for work end when all work is done.
    pub(super) fn tell_that_all_is_done(&self, state: &State) {
        if state.threads.closing && state.queue.unfinished == 0 {
            self.work.notify_all();
        }
    }

    pub(super) fn report(&self) -> Report {
        let peak_threads = lock(&self.state).threads.peak;
        let mut report = Report { cancelled: self.is_cancelled(), peak_threads, ..Report::default() };
        self.totals.fill(&mut report);
        (report.failures, report.renamed) = self.outcome.take();
        report
    }
}
