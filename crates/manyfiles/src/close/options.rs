//! What can be chosen when a closer is made.

use std::fmt;

use super::executor::{Executor, THREADS};
use super::policy::Policy;
use super::pool::OnError;
use crate::{Error, sys};

/// Options of a [`Closer`](super::Closer); [`build`](Options::build) makes it.
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
    pub(super) policy: Option<Policy>,
    pub(super) capacity: usize,
    pub(super) threads: usize,
    pub(super) on_error: Option<OnError>,
    pub(super) executor: Option<Box<dyn Executor>>,
}

/// More would only move the wait: 64 threads are busy with far fewer.
const MAX_CAPACITY: usize = 512;

impl Default for Options {
    fn default() -> Options {
        // Half of what the process may have open, because handles of unknown types may be files.
        let capacity = (sys::handle_limit() / 2).clamp(1, MAX_CAPACITY);
        Options { policy: None, capacity, threads: THREADS, on_error: None, executor: None }
    }
}

impl Options {
    /// When closes are handed over. Default: [`Policy::Adaptive`], or with an executor for async code
    /// [`Policy::Always`].
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Options {
        self.policy = Some(policy);
        self
    }

    /// How many handles may be pending, those included that are being closed just now. A thread that hands over one
    /// more closes that one itself. Default: 512, and at most half of the process's limit on open files (the soft
    /// limit, read when the options are made). At least 1.
    ///
    /// On Unix fewer files are pending where the process may open few: a quarter of its limit is left free at any time,
    /// for what the program opens elsewhere. What is pending counts as used, and so does what the program has open
    /// itself.
    #[must_use]
    pub fn capacity(mut self, handles: usize) -> Options {
        self.capacity = handles.max(1);
        self
    }

    /// How many threads may close files of one volume at once, be they the closer's own or an executor's. They come as
    /// closes pile up and leave when there is nothing to do. Each volume has as many threads of its own: a volume that
    /// hangs, because its server does not answer, holds up no other volume. Default: 64. At least 1.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Options {
        self.threads = threads.max(1);
        self
    }

    /// Called with each failure in place of keeping it for [`wait`](super::Closer::wait), on the thread that closed and
    /// before the close counts as done: it must not wait for this closer, drop it, or open the failed file by way of
    /// `manyfiles::fs`, since that would wait for the callback itself. If it panics, the failure is kept for `wait`
    /// after all.
    #[must_use]
    pub fn on_error(mut self, on_error: impl Fn(Error) + Send + Sync + 'static) -> Options {
        self.on_error = Some(Box::new(on_error));
        self
    }

    /// What closes run on. Default: threads of the closer's own. See [`executor`](super::executor) for the executors
    /// that there are.
    #[must_use]
    pub fn executor(mut self, executor: impl Executor + 'static) -> Options {
        self.executor = Some(Box::new(executor));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { policy, capacity, threads, on_error, executor } = self;
        f.debug_struct("Options")
            .field("policy", policy)
            .field("capacity", capacity)
            .field("threads", threads)
            .field("on_error", &on_error.is_some())
            .field("executor", &executor.is_some())
            .finish()
    }
}
