//! What a closer and its threads share.
//!
//! `closing.rs`: how a handle goes from the thread that drops it to the thread that closes it. `waiting.rs`: waiting
//! for all pending closes. `settling.rs`: waiting for the closes that concern one path. `threads.rs`: the threads.

mod closing;
mod settling;
mod threads;
mod waiting;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::executor::Executor;
use super::metrics::{Meter, Metrics};
use super::panics;
use super::policy::{Policy, Switch};
use super::process::{self, Member};
use super::queue::Queue;
use super::spawn::Spawn;
use super::spot::Affected;
use super::sync::{Condvar, Mutex, MutexGuard};
use crate::Error;

/// How long a function waits for closes that only may be in its way: those of a user's type. After this time the
/// function goes on without them, and later functions do not wait for them at all.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// How long a thread waits for the next close before it ends. The slowest closes that we know of take 10 ms, so a
/// program that is busy keeps its threads; starting one again costs some 30 µs.
pub(super) const IDLE: Duration = Duration::from_millis(100);

/// What receives failures in place of [`wait`](super::Closer::wait).
pub(super) type OnError = Box<dyn Fn(Error) + Send + Sync>;

/// What a [`Closer`](super::Closer) and its threads share.
pub(crate) struct Pool {
    switch: Switch,
    capacity: usize,
    /// Whether the pool has handed over or kept anything, and is in the process's list.
    is_known: AtomicBool,
    queue: Mutex<Queue>,
    /// How many jobs wait or are being closed. To be read without the lock.
    unsettled: AtomicUsize,
    /// A job waits, or the threads shall leave.
    pub(super) work: Condvar,
    /// A close was made that a thread may wait for.
    finished: Condvar,
    on_error: Option<OnError>,
    /// What runs the workers, if not threads of the pool's own.
    pub(super) executor: Option<Box<dyn Executor>>,
    pub(super) spawn: Box<dyn Spawn>,
    /// How long a thread of the pool's own stays without work. A worker on an executor leaves at once: its thread has
    /// other things to do.
    pub(super) idle: Duration,
    /// How often the process had forked when this was made.
    forks: usize,
    meter: Meter,
}

impl Pool {
    pub(super) fn new(
        policy: Policy,
        capacity: usize,
        max_threads: usize,
        on_error: Option<OnError>,
        executor: Option<Box<dyn Executor>>,
        spawn: Box<dyn Spawn>,
        idle: Duration,
    ) -> Arc<Pool> {
        // Where std alone closes there is nothing to choose, and perhaps no clock.
        let policy = if process::CAN_HAND_OVER { policy } else { Policy::Never };
        Arc::new(Pool {
            switch: Switch::new(policy),
            capacity,
            is_known: AtomicBool::new(false),
            queue: Mutex::new(Queue::new(capacity, max_threads)),
            unsettled: AtomicUsize::new(0),
            work: Condvar::new(),
            finished: Condvar::new(),
            on_error,
            executor,
            spawn,
            idle,
            forks: process::forks(),
            meter: Meter::default(),
        })
    }

    /// No code of a user runs under this lock, so a panic under it would be a bug here; the counts are whole even then.
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the pool's threads are of no use any more, so that it closes on the spot, prints errors at once and
    /// touches nothing else. Either this process was forked from the one that made the pool: the threads stayed there,
    /// and the lock may be held by one of them for ever. Or the process ends, and has waited for what was pending: it
    /// would not wait for a close that is handed over now.
    pub(super) fn is_left_behind(&self) -> bool {
        self.forks != process::forks() || process::has_ended()
    }

    pub(super) fn pending(&self) -> usize {
        if self.is_left_behind() { 0 } else { self.lock().pending() }
    }

    pub(super) fn metrics(&self) -> Metrics {
        let (handed_over, peak_pending) = if self.is_left_behind() {
            (0, 0)
        } else {
            let queue = self.lock();
            (queue.handed_over(), queue.peak_pending())
        };
        self.meter.read(handed_over, peak_pending)
    }

    // Errors.

    /// Gives a failure to the callback, or keeps it for the next wait.
    #[cold]
    pub(super) fn report(self: &Arc<Pool>, error: Error) {
        self.meter.failed();
        #[cfg(feature = "tracing")]
        super::trace::failed(&error);
        if let Some(on_error) = &self.on_error
            && panics::contain(|| on_error(error.clone()))
        {
            return;
        }
        if self.is_left_behind() {
            return crate::error::print_last_resort([&error]);
        }
        self.make_known();
        self.lock().keep(error);
    }

    /// Prints the errors that no call has taken.
    fn print_kept(&self) {
        if self.forks == process::forks() {
            self.lock().take_errors().print();
        }
    }

    // The process.

    /// Makes the functions of `process.rs` find this pool. When this returns they do, whichever thread has made the
    /// pool known.
    fn make_known(self: &Arc<Pool>) {
        if !self.is_known.load(Ordering::Acquire) {
            let member: Arc<dyn Member> = Arc::<Pool>::clone(self);
            process::add(&member, self.capacity);
            self.is_known.store(true, Ordering::Release);
        }
    }

    fn count_in(&self) {
        self.unsettled.fetch_add(1, Ordering::Relaxed);
        process::count_in();
    }

    fn count_out(&self) {
        self.unsettled.fetch_sub(1, Ordering::Relaxed);
        process::count_out();
    }
}

impl Member for Pool {
    fn settle(self: Arc<Pool>, affected: &Affected) -> bool {
        Pool::settle(&self, affected)
    }

    fn settle_surely(self: Arc<Pool>, affected: &Affected) -> bool {
        Pool::settle_surely(&self, affected)
    }

    fn is_in_the_way(self: Arc<Pool>, affected: &Affected) -> bool {
        Pool::is_in_the_way(&self, affected)
    }

    fn close_one(self: Arc<Pool>) -> bool {
        Pool::close_one(&self)
    }

    fn replace_late_workers(self: Arc<Pool>) {
        Pool::replace_late_workers(&self);
    }

    fn end(self: Arc<Pool>, patience: Duration) {
        Pool::end(&self, patience);
    }

    fn print_errors(&self) {
        self.print_kept();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Empty after `shut_down`, unless a file that knew this pool outlived its closer, and failed afterwards.
        if !self.is_left_behind() {
            self.lock().take_errors().print();
        }
    }
}
