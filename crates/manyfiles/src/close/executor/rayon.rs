//! Rayon.

use std::cell::Cell;
use std::sync::Arc;

use super::Executor;

/// Closes on rayon's threads: as many closes at once as it has threads, and between two closes each does a piece of other
/// work if there is any.
///
/// A rayon thread that closes does not compute. Where closes are slow and rayon has as many threads as the machine has
/// cores, the built-in threads gain more; this is for programs that must not start threads of their own.
///
/// [`wait`](crate::close::Closer::wait) may be called on rayon's threads, on all of them at once too.
///
/// ```
/// use manyfiles::close::{Closer, executor::Rayon};
///
/// let closer = Closer::options().executor(Rayon::new()).build();
/// rayon::scope(|scope| {
///     for _ in 0..100 {
///         scope.spawn(|_| closer.close(std::fs::File::open("Cargo.toml").unwrap()));
///     }
/// });
/// closer.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Rayon {
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl Rayon {
    /// The pool that the handing thread belongs to, or else the global one. That one is started by the first slow close if
    /// nothing else did.
    pub fn new() -> Rayon {
        Rayon::default()
    }

    /// A pool of its own.
    pub fn with_pool(pool: Arc<rayon::ThreadPool>) -> Rayon {
        Rayon { pool: Some(pool) }
    }
}

thread_local! {
    /// Whether this thread is doing other work between two closes.
    static YIELDS: Cell<bool> = const { Cell::new(false) };
}

impl Executor for Rayon {
    fn execute(&self, work: Box<dyn FnOnce() + Send>) {
        match &self.pool {
            Some(pool) => pool.spawn(work),
            None => rayon::spawn(work),
        }
    }

    fn workers(&self) -> usize {
        self.pool.as_ref().map_or_else(rayon::current_num_threads, |pool| pool.current_num_threads())
    }

    fn yield_now(&self) {
        // That work may itself be closing: not deeper, or the stack would grow with the number of workers.
        if !YIELDS.replace(true) {
            rayon::yield_now();
            YIELDS.set(false);
        }
    }
}
