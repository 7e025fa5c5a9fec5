//! What can be chosen when a closer is made.

use std::fmt;

use super::pool::{IDLE, OnError, Pool, Threads};
use super::{Closer, Policy};
use crate::{Error, sys};

/// Options of a [`Closer`]; [`build`](Options::build) makes it.
///
/// ```
/// # use manyfiles::close::{Closer, Policy};
/// let closer = Closer::options()
///     .policy(Policy::Always)
///     .capacity(32)
///     .on_error(|error| eprintln!("{error}"))
///     .build();
/// closer.close(std::fs::File::open("Cargo.toml")?);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Options {
    policy: Policy,
    capacity: usize,
    threads: usize,
    on_error: Option<OnError>,
}

/// More would only move the wait: 64 threads are busy with far fewer.
const MAX_CAPACITY: usize = 512;

/// A close that sleeps costs no CPU; against closes of 2 ms, 64 threads gain 25 times, 16 gain 16.8 and 4 gain 4.2
/// (docs/measurements.md, "Mounts whose close is slow").
const THREADS: usize = 64;

impl Default for Options {
    fn default() -> Options {
        // Half of what the process may have open: the rest is for files that are still in use.
        let capacity = (sys::handle_limit() / 2).clamp(1, MAX_CAPACITY);
        Options { policy: Policy::default(), capacity, threads: THREADS, on_error: None }
    }
}

impl Options {
    /// When closes are handed over. Default: [`Policy::Adaptive`].
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Options {
        self.policy = policy;
        self
    }

    /// How many handles may be pending, those included that are being closed just now. Whoever comes with one more
    /// closes it himself. Default: half of the process's limit on open files (the soft limit, read when the options are
    /// made), and at most 512. At least 1.
    #[must_use]
    pub fn capacity(mut self, handles: usize) -> Options {
        self.capacity = handles.max(1);
        self
    }

    /// How many threads may close at once. They come as closes pile up and leave when there is nothing to do. Default:
    /// 64. At least 1.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Options {
        self.threads = threads.max(1);
        self
    }

    /// Called with each failure in place of keeping it for [`wait`](Closer::wait), on the thread that closed and before
    /// the close counts as done. If it panics, the failure is kept for `wait` after all.
    #[must_use]
    pub fn on_error(mut self, on_error: impl Fn(Error) + Send + Sync + 'static) -> Options {
        self.on_error = Some(Box::new(on_error));
        self
    }

    /// Makes the closer.
    pub fn build(self) -> Closer {
        let Options { policy, capacity, threads, on_error } = self;
        Closer { pool: Pool::new(policy, capacity, threads, on_error, Box::new(Threads), IDLE) }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { policy, capacity, threads, on_error } = self;
        f.debug_struct("Options")
            .field("policy", policy)
            .field("capacity", capacity)
            .field("threads", threads)
            .field("on_error", &on_error.is_some())
            .finish()
    }
}
