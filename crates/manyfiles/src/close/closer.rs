//! The closer and its options.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::CloseErrors;
use super::policy::Policy;
use super::pool::{IDLE, OnError, Pool, Threads};
use crate::{Error, sys};

/// Closes files on threads of its own while closing is slow, and brings every error back.
///
/// Use it from any number of threads. What is handed over is closed even if nobody waits: dropping the `Closer` does,
/// and prints errors that nobody took to standard error.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// use manyfiles::close::Closer;
/// use std::fs::File;
/// use std::io::Write;
///
/// let closer = Closer::new();
/// for n in 0..100 {
///     let path = temp.path().join(format!("{n}.txt"));
///     let mut file = File::create(&path)?;
///     file.write_all(b"some text")?;
///     closer.close_at(file, path);
/// }
/// closer.wait()?; // all 100 are closed, and none of them failed
/// # Ok(()) }
/// ```
pub struct Closer {
    pool: Arc<Pool>,
}

impl Closer {
    /// A closer with the default [`Options`]. It starts no thread until one is needed.
    pub fn new() -> Closer {
        Closer::options().build()
    }

    /// What can be chosen.
    pub fn options() -> Options {
        Options::default()
    }

    /// Closes `handle`, here or on another thread, now or soon.
    ///
    /// Of a [`File`](std::fs::File) (and the system's own `OwnedFd` or `OwnedHandle`) the close's error is kept. Of any
    /// other type only a panic in its drop can be seen. Flush what buffers first: a `BufWriter` does not tell what
    /// became of its last bytes.
    ///
    /// This never waits for the pool: when as many handles are pending as the [capacity](Options::capacity) allows,
    /// `handle` is closed on this thread.
    #[inline]
    pub fn close<H: Send + 'static>(&self, handle: H) {
        self.pool.close(handle, None::<PathBuf>);
    }

    /// [`close`](Closer::close) for a file whose path is known, so that an error can name it.
    #[inline]
    pub fn close_at<H: Send + 'static>(&self, handle: H, path: impl Into<PathBuf>) {
        self.pool.close(handle, Some(path));
    }

    /// Waits until everything that was handed over before this call, by any thread, is closed, and returns the failures
    /// that nobody has been told yet: those are taken, and never told again. What is handed over during the call is not
    /// waited for.
    ///
    /// A handle whose own drop waits for its closer counts as closed while it does.
    ///
    /// ```
    /// # use manyfiles::close::{Closer, Policy};
    /// struct Fragile;
    /// impl Drop for Fragile {
    ///     fn drop(&mut self) {
    ///         panic!("the other side is gone");
    ///     }
    /// }
    ///
    /// let closer = Closer::new();
    /// closer.close_at(Fragile, "pipe/to/elsewhere");
    /// let errors = closer.wait().unwrap_err();
    /// assert_eq!(errors.to_string(), "cannot close pipe/to/elsewhere: its drop panicked: the other side is gone");
    /// assert!(closer.wait().is_ok());
    /// ```
    pub fn wait(&self) -> Result<(), CloseErrors> {
        CloseErrors::check(self.pool.wait())
    }

    /// How many handles have been handed over and are not closed yet: what is left of the work when the writing is
    /// done.
    pub fn pending(&self) -> usize {
        self.pool.pending()
    }
}

impl Default for Closer {
    fn default() -> Closer {
        Closer::new()
    }
}

impl Drop for Closer {
    /// Waits as [`wait`](Closer::wait) does, and prints errors that nobody took to standard error.
    fn drop(&mut self) {
        self.pool.shut_down();
    }
}

impl fmt::Debug for Closer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closer").field("pending", &self.pending()).finish_non_exhaustive()
    }
}

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
/// (measurements.md).
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
