//! The one global closer, for handles that are closed by a drop and can carry nothing along.

use std::sync::OnceLock;

use super::pool::print_last_resort;
use super::{CloseErrors, Closer};

static GLOBAL: OnceLock<Closer> = OnceLock::new();

#[inline]
pub(super) fn global() -> &'static Closer {
    GLOBAL.get_or_init(Closer::new)
}

/// Makes `closer` the one that every [`FastClose`](super::FastClose) goes to. Works once, and only before the first of
/// them is dropped; otherwise gives `closer` back.
///
/// ```
/// use manyfiles::close::{self, Closer, Policy};
///
/// let closer = Closer::options().policy(Policy::Never).build();
/// close::set_global(closer).expect("nothing has been closed yet");
/// ```
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
