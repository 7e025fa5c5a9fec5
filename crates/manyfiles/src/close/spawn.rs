//! How a thread is started that closes.

use std::io;

use super::sync::Builder;

/// Closing takes little stack; a user type's drop, an `on_error` or the printing of a panic's backtrace take some.
/// Untouched stack costs address space only.
pub(super) const STACK: usize = 256 << 10;

/// Starts threads of the pool's own.
pub(super) trait Spawn: Send + Sync {
    fn spawn(&self, worker: Box<dyn FnOnce() + Send>) -> io::Result<()>;
}

/// The built-in pool's threads.
pub(super) struct Threads;

impl Spawn for Threads {
    fn spawn(&self, worker: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        let thread = Builder::new().name("manyfiles-close".into()).stack_size(STACK);
        // Not joined: a thread without a job has nothing to lose, and a thread with a job is waited for.
        #[cfg(not(loom))]
        return crate::sys::spawn_quiet(thread, worker).map(drop);
        #[cfg(loom)]
        thread.spawn(worker).map(drop)
    }
}
