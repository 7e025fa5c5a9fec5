//! The `blocking` crate.

use super::{Executor, blocking_threads};

/// Closes on the threads of the `blocking` crate, which smol and async-std share. They are never shut down.
///
/// For callers that may block. In async code use the runtime's own executor, or [`Policy::Always`](crate::close::Policy).
///
/// ```
/// use manyfiles::close::{Closer, executor::Blocking};
///
/// let closer = Closer::options().executor(Blocking::new()).build();
/// closer.close(std::fs::File::open("Cargo.toml")?);
/// closer.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocking(());

impl Blocking {
    /// The crate's one pool: up to `BLOCKING_MAX_THREADS` threads, 500 unless that is set in the environment.
    pub fn new() -> Blocking {
        Blocking::default()
    }
}

impl Executor for Blocking {
    fn execute(&self, work: Box<dyn FnOnce() + Send>) {
        blocking::unblock(work).detach();
    }

    fn workers(&self) -> usize {
        blocking_threads::workers()
    }
}
