//! The one global closer, for handles that are closed by a drop and can carry nothing along.

use std::sync::OnceLock;

use super::closer::Closer;
use super::metrics::Metrics;
use crate::Errors;
use crate::origin::get_or_make;

static GLOBAL: OnceLock<Closer> = OnceLock::new();

#[inline]
pub(crate) fn global() -> &'static Closer {
    get_or_make(&GLOBAL, unless_set)
}

/// The closer of programs that call no [`set_global`].
fn unless_set() -> Closer {
    let options = Closer::options();
    // Programs that come by way of the drop-in for close_already know nothing of this crate. They say by a feature that
    // handles are dropped in async code.
    #[cfg(feature = "global-always")]
    let options = options.policy(super::Policy::Always);
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
/// with every failure that no earlier call has returned.
///
/// There is one global closer for the whole process: the first call that waits takes its errors. Where several
/// components, threads or tasks want to know what became of their own files, each takes a [`Closer`].
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
pub fn wait() -> Result<(), Errors> {
    // If no file was ever closed, no global closer needs to be made for this.
    GLOBAL.get().map_or(Ok(()), Closer::wait)
}

/// [`Closer::metrics`] of the global closer: what every [`FastClose`](super::FastClose) dropped so far cost and gained.
pub fn metrics() -> Metrics {
    GLOBAL.get().map(Closer::metrics).unwrap_or_default()
}

/// A guard for the end of `main`: keeps the process from ending before every [`FastClose`](super::FastClose) is closed.
///
/// Call [`finish`](Guard::finish) to get the errors; dropping the guard prints them to standard error. Without a guard
/// the end of the process does the same, after a panic in `main` too and by `std::process::exit` (which on Windows ends
/// the process at once: finish first). What `abort` or a signal ends is lost.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// use manyfiles::close::{self, FastCloseable};
/// use std::fs::File;
///
/// let guard = close::guard();
/// drop(File::create(temp.path().join("a"))?.fast_close());
/// guard.finish()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn guard() -> Guard {
    Guard(())
}

/// What [`guard`] returns.
#[derive(Debug)]
#[must_use = "it waits when it is dropped: keep it until the end of main"]
pub struct Guard(());

impl Guard {
    /// Waits as [`wait`] does, and returns what the global closer has done so far.
    ///
    /// # Errors
    /// The failures that no earlier wait has returned.
    pub fn finish(self) -> Result<Metrics, Errors> {
        // The drop that follows waits again, for closes that were handed over meanwhile, and prints their errors.
        wait().map(|()| metrics())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(errors) = wait() {
            errors.print();
        }
    }
}
