//! async-std.

use super::{Executor, blocking_threads};

/// Closes on the threads that async-std keeps for blocking work, never on one that runs futures.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use manyfiles::close::{Closer, executor::AsyncStd};
///
/// let closer = Closer::options().executor(AsyncStd::new()).build();
/// async_std::task::block_on(async {
///     closer.close(async_std::fs::File::open("Cargo.toml").await?);
///     async_std::task::spawn_blocking(move || closer.wait()).await?;
///     Ok(())
/// })
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AsyncStd(());

impl AsyncStd {
    /// async-std's one pool: up to `BLOCKING_MAX_THREADS` threads, 500 unless that is set in the environment.
    pub fn new() -> AsyncStd {
        AsyncStd::default()
    }
}

impl Executor for AsyncStd {
    fn execute(&self, work: Box<dyn FnOnce() + Send>) {
        // Dropping the handle detaches the task.
        drop(async_std::task::spawn_blocking(work));
    }

    fn workers(&self) -> usize {
        blocking_threads::workers()
    }

    fn callers_may_block(&self) -> bool {
        false
    }
}
