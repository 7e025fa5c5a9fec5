//! The closer.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::metrics::Metrics;
use super::options::Options;
use super::policy::Policy;
use super::pool::{IDLE, Pool};
use super::recognise;
use super::spawn::Threads;
use crate::Errors;

/// Closes files on threads of its own while closing is slow, and brings every error back.
///
/// Use it from any number of threads. What is handed over is closed even if the program does not wait: the drop of the
/// `Closer` waits, and prints errors that no call has taken to standard error. So does the end of the process, for a
/// `Closer` that was never dropped.
///
/// **Its errors are its own.** A component, a thread or an async task that has a `Closer` of its own is told what
/// became of its files, and of no others. A closer opens and writes files, and the closes of these files belong to it:
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let folder = temp.path();
/// use manyfiles::close::Closer;
/// use std::io::Write;
///
/// let files = Closer::new();
/// files.write(folder.join("a.txt"), "some text")?;
/// files.create(folder.join("b.txt"))?.write_all(b"more text")?;
/// files.copy(folder.join("a.txt"), folder.join("c.txt"))?;
/// files.finish()?; // all three are closed, and none of them failed
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Any handle can be given to it:
///
/// ```
/// # fn main() -> std::io::Result<()> {
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
    pub(crate) pool: Arc<Pool>,
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
    /// Of a [`File`](std::fs::File) (and the system's own `OwnedFd` or `OwnedHandle`, and tokio's `File`) the close's
    /// error is kept. Of an [`fs::File`](crate::fs::File) it is told here, with the path that the file was opened by.
    /// Of a value of any other type only a panic in its drop can be seen. Files inside of it that another closer has
    /// opened stay with that closer. Flush buffers first: a `BufWriter` does not tell what became of its last bytes.
    ///
    /// Such a drop may run on a thread with 256 KiB of stack.
    ///
    /// This never waits for the pool: when as many handles are pending as the [capacity](Options::capacity) allows,
    /// `handle` is closed on this thread.
    #[inline]
    pub fn close<H: Send + 'static>(&self, handle: H) {
        let path = recognise::path_of(&handle);
        self.pool.close(handle, path, None);
    }

    /// [`close`](Closer::close) for a file whose path is known, so that an error can name it.
    #[inline]
    pub fn close_at<H: Send + 'static>(&self, handle: H, path: impl Into<PathBuf>) {
        self.pool.close(handle, Some(path), None);
    }

    /// Waits until everything that was handed over before this call, by any thread, is closed. Returns the failures
    /// that no earlier call has returned; no later call returns them again. What is handed over during the call is not
    /// waited for.
    ///
    /// This thread helps: it closes files that wait for a thread. So a wait may be called wherever blocking is allowed,
    /// an executor's own threads included. It runs no drop of a user's type.
    ///
    /// Inside of a drop that this closer is making, a wait is for what was handed over before the handle that is
    /// dropped, so that no drop waits for itself. What such a drop closes is closed on the spot.
    ///
    /// In a process that was forked after the closer was made nothing is waited for: what was pending belongs to the
    /// parent.
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
    pub fn wait(&self) -> Result<(), Errors> {
        self.pool.wait().check()
    }

    /// The end: [`wait`](Closer::wait), and nothing can be handed over any more. Returns what the closer has done in
    /// all.
    ///
    /// Files that the closer has opened and that are still open are closed all the same when they are dropped. Errors
    /// of these closes are printed.
    ///
    /// # Errors
    /// Those of `wait`.
    pub fn finish(self) -> Result<Metrics, Errors> {
        // The drop that follows finds nothing to wait for.
        self.wait().map(|()| self.metrics())
    }

    /// Takes an error of a file that is about to be handed over, to be told like that of its close.
    pub(crate) fn keep(&self, error: crate::Error) {
        self.pool.report(error);
    }

    /// How many handles have been handed over and are not closed yet: what is left of the work when the writing is
    /// done.
    pub fn pending(&self) -> usize {
        self.pool.pending()
    }

    /// What it has done so far.
    pub fn metrics(&self) -> Metrics {
        self.pool.metrics()
    }
}

impl Options {
    /// Makes the closer.
    pub fn build(self) -> Closer {
        let Options { policy, capacity, threads, on_error, executor } = self;
        let policy = policy.unwrap_or_else(|| match &executor {
            Some(executor) if !executor.callers_may_block() => Policy::Always,
            _ => Policy::default(),
        });
        Closer { pool: Pool::new(policy, capacity, threads, on_error, executor, Box::new(Threads), IDLE) }
    }
}

impl Default for Closer {
    fn default() -> Closer {
        Closer::new()
    }
}

impl Drop for Closer {
    /// Waits as [`wait`](Closer::wait) does, and prints the errors to standard error.
    fn drop(&mut self) {
        self.pool.shut_down();
    }
}

impl fmt::Debug for Closer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closer").field("pending", &self.pending()).finish_non_exhaustive()
    }
}
