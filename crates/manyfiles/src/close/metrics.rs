//! What a closer did, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a [`Closer`](super::Closer) has done so far: what a program gains by it, or whether it gains at all. From
/// [`Closer::metrics`](super::Closer::metrics), and of the global closer from [`metrics`](super::metrics()).
///
/// Taken while closes go on, the numbers may be some closes apart from each other.
///
/// ```
/// use manyfiles::close::{Closer, Policy};
/// use std::time::Duration;
///
/// struct Slow;
/// impl Drop for Slow {
///     fn drop(&mut self) {
///         std::thread::sleep(Duration::from_millis(2));
///     }
/// }
///
/// let closer = Closer::options().policy(Policy::Always).build();
/// (0..10).for_each(|_| closer.close(Slow));
/// let metrics = closer.finish()?;
/// assert_eq!((metrics.handed_over, metrics.closed_inline, metrics.failures), (10, 0, 0));
/// // What this thread would have waited for, had it closed all by itself:
/// assert!(metrics.time_in_pool + metrics.time_in_callers >= Duration::from_millis(20));
/// # Ok::<(), manyfiles::Errors>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// How many handles were handed over to be closed elsewhere.
    pub handed_over: u64,
    /// How many were closed on the spot, by the thread that dropped them: because closes were fast, by policy, or
    /// because as many were pending as the capacity allows.
    pub closed_inline: u64,
    /// The most that were pending at once: waiting or being closed.
    pub peak_pending: usize,
    /// How long the program's own threads were closing, all of them together: on the spot, and where a
    /// [`wait`](super::Closer::wait) or a function of [`fs`](crate::fs) helped. Every close is timed.
    pub time_in_callers: Duration,
    /// How long the pool's or the executor's threads were closing, all of them together.
    pub time_in_pool: Duration,
    /// How many closes failed, or panicked.
    pub failures: u64,
}

/// Which side closes: the caller's thread, or a thread of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Caller,
    Pool,
}

/// The counts that are made without the queue's lock.
///
/// Relaxed: nothing depends on them, and none is lost.
#[derive(Default)]
pub(super) struct Meter {
    inline: [Lane; LANES],
    time_in_pool: AtomicU64,
    failures: AtomicU64,
}

/// Threads that close at once would fight for one counter, so each counts in a lane of its own, mostly. One count then
/// takes 5 ns, a thousandth of what writing a small file does.
const LANES: usize = 16;

/// On most processors a cache line, or two that are fetched together.
#[derive(Default)]
#[repr(align(128))]
struct Lane {
    closed: AtomicU64,
    nanos: AtomicU64,
}

impl Meter {
    #[inline]
    pub(super) fn closed_inline(&self) {
        self.inline[lane()].closed.fetch_add(1, Ordering::Relaxed);
    }

    /// A close took so long.
    #[inline]
    pub(super) fn took(&self, side: Side, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        match side {
            Side::Caller => &self.inline[lane()].nanos,
            Side::Pool => &self.time_in_pool,
        }
        .fetch_add(nanos, Ordering::Relaxed);
    }

    #[cold]
    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// The metrics: these counts, and the ones that the queue keeps.
    pub(super) fn read(&self, handed_over: u64, peak_pending: usize) -> Metrics {
        let sum = |of: fn(&Lane) -> &AtomicU64| self.inline.iter().map(|lane| of(lane).load(Ordering::Relaxed)).sum();
        Metrics {
            handed_over,
            closed_inline: sum(|lane| &lane.closed),
            peak_pending,
            time_in_callers: Duration::from_nanos(sum(|lane| &lane.nanos)),
            time_in_pool: Duration::from_nanos(self.time_in_pool.load(Ordering::Relaxed)),
            failures: self.failures.load(Ordering::Relaxed),
        }
    }
}

/// This thread's lane.
#[cfg(not(loom))]
#[inline]
fn lane() -> usize {
    use std::cell::Cell;
    use std::sync::atomic::AtomicUsize;

    static THREADS: AtomicUsize = AtomicUsize::new(0);
    const NONE: usize = usize::MAX;
    thread_local! {
        static LANE: Cell<usize> = const { Cell::new(NONE) };
    }
    // A cell without a destructor is there as long as its thread.
    LANE.with(|lane| {
        if lane.get() == NONE {
            lane.set(THREADS.fetch_add(1, Ordering::Relaxed) % LANES);
        }
        lane.get()
    })
}

/// A model has to run the same way each time.
#[cfg(loom)]
fn lane() -> usize {
    0
}
