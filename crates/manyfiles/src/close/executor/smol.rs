//! smol.

use super::{Executor, blocking_threads};

/// Closes on the threads that smol keeps for blocking work, never on one that runs futures.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use manyfiles::close::{Closer, executor::Smol};
///
/// let closer = Closer::options().executor(Smol::new()).build();
/// smol::block_on(async {
///     closer.close(smol::fs::File::open("Cargo.toml").await?);
///     smol::unblock(move || closer.wait()).await?;
///     Ok(())
/// })
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Smol(());

impl Smol {
    /// smol's one pool: up to `BLOCKING_MAX_THREADS` threads, 500 unless that is set in the environment.
    pub fn new() -> Smol {
        Smol::default()
    }
}

impl Executor for Smol {
    fn execute(&self, work: Box<dyn FnOnce() + Send>) {
        smol::unblock(work).detach();
    }

    fn workers(&self) -> usize {
        blocking_threads::workers()
    }

    fn callers_may_block(&self) -> bool {
        false
    }
}
