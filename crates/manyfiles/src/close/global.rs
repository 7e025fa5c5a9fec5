//! The one global closer, for handles that are closed by a drop and can carry nothing along.

#[cfg(feature = "fs")]
use std::fs::File;
#[cfg(feature = "fs")]
use std::path::PathBuf;
use std::sync::OnceLock;

#[cfg(feature = "fs")]
use super::settle::Name;
use super::{CloseErrors, Closer, Metrics};
use crate::error::print_last_resort;

static GLOBAL: OnceLock<Closer> = OnceLock::new();

#[inline]
pub(crate) fn global() -> &'static Closer {
    GLOBAL.get_or_init(unless_set)
}

/// The closer of programs that call no [`set_global`], because they know nothing of this crate: those that come by way of
/// the drop-in for close_already, where a feature says what closes.
fn unless_set() -> Closer {
    let options = Closer::options();
    #[cfg(feature = "global-rayon")]
    let options = options.executor(super::executor::Rayon::new());
    #[cfg(feature = "global-blocking")]
    let options = options.executor(super::executor::Blocking::new());
    #[cfg(feature = "global-async-std")]
    let options = options.executor(super::executor::AsyncStd::new());
    #[cfg(feature = "global-smol")]
    let options = options.executor(super::executor::Smol::new());
    #[cfg(feature = "global-tokio")]
    let options = options.executor(super::executor::Tokio::new());
    options.build()
}

/// Makes `closer` the one that every [`FastClose`](super::FastClose) goes to. Works once, and only before the first of
/// them is dropped; otherwise gives `closer` back.
///
/// ```standalone_crate
/// use manyfiles::close::{self, Closer, Policy};
///
/// let closer = Closer::options().policy(Policy::Never).build();
/// close::set_global(closer).expect("nothing has been closed yet");
/// ```
///
/// It is for programs to choose, not for libraries: those own a [`Closer`].
pub fn set_global(closer: Closer) -> Result<(), Closer> {
    GLOBAL.set(closer)
}

/// [`Closer::wait`] of the global closer: returns when every [`FastClose`](super::FastClose) dropped so far is closed,
/// with every failure that nobody has been told yet.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// use manyfiles::close::{self, FastClose};
/// use std::fs::File;
///
/// for n in 0..100 {
///     FastClose::new(File::create(temp.path().join(n.to_string()))?);
/// }
/// close::wait()?;
/// # Ok(()) }
/// ```
pub fn wait() -> Result<(), CloseErrors> {
    // Where nothing was ever closed there is nothing to make.
    GLOBAL.get().map_or(Ok(()), Closer::wait)
}

/// [`Closer::metrics`] of the global closer: what every [`FastClose`](super::FastClose) dropped so far cost and gained.
pub fn metrics() -> Metrics {
    GLOBAL.get().map(Closer::metrics).unwrap_or_default()
}

/// A guard for the end of `main`: keeps the process from ending before every [`FastClose`](super::FastClose) is closed.
///
/// Call [`finish`](Guard::finish) to get the errors; dropping the guard prints them to standard error.
/// `std::process::exit` runs no drops, so finish first.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// use manyfiles::close::{self, FastCloseable};
/// use std::fs::File;
///
/// let guard = close::guard();
/// drop(File::create(temp.path().join("a"))?.fast_close());
/// guard.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn guard() -> Guard {
    Guard(())
}

/// What [`guard`] returns.
#[derive(Debug)]
#[must_use = "it waits when it is dropped: keep it until the end of main"]
pub struct Guard(());

impl Guard {
    /// Waits, and returns the failures that nobody has been told yet.
    pub fn finish(self) -> Result<(), CloseErrors> {
        // The drop that follows waits again: for what was handed over meanwhile, which is then printed.
        wait()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(errors) = wait() {
            print_last_resort(errors.iter());
        }
    }
}

/// [`Closer::close_at`] of the global closer, if there is a path.
#[cfg(feature = "fs")]
#[inline]
pub(crate) fn close_at(file: File, path: Option<impl Into<PathBuf>>) {
    global().pool.close(file, path);
}

/// Closes on this thread, now; an error is reported as any other.
#[cfg(feature = "fs")]
pub(crate) fn close_here_at(file: File, path: Option<impl Into<PathBuf>>) {
    global().pool.close_here(file, path);
}

/// Whether nothing waits for the global closer, for all that this thread knows. Costs two loads.
#[cfg(feature = "fs")]
#[inline]
pub(crate) fn is_idle() -> bool {
    GLOBAL.get().is_none_or(|closer| closer.pool.is_idle())
}

/// Returns when what has this name, or is in the folder of this name, is closed, if it was handed to the global closer
/// before. Errors stay for [`wait`].
#[cfg(feature = "fs")]
pub(crate) fn settle(name: &Name) {
    if let Some(closer) = GLOBAL.get() {
        closer.pool.settle(name);
    }
}

/// Returns when all that was handed to the global closer before is closed. Errors stay for [`wait`].
#[cfg(feature = "fs")]
pub(crate) fn settle_all() {
    if let Some(closer) = GLOBAL.get() {
        closer.pool.settle_all();
    }
}
