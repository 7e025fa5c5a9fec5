//! Threads and processors.

use std::io;
use std::thread::{Builder, JoinHandle};

use windows_sys::Win32::System::Threading::GetCurrentProcessorNumber;

/// Starts a thread. Windows has no signals.
pub(crate) fn spawn_quiet<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    builder.spawn(work)
}

/// The processor that the calling thread runs on.
pub(crate) fn processor() -> usize {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { GetCurrentProcessorNumber() as usize }
}

/// Windows wakes a thread where a processor is idle.
pub(crate) fn leave_processor(_processor: usize) {}

/// Tells whether the calling thread has slept in a system call since the last time it asked.
#[derive(Debug, Default)]
pub(crate) struct Sleeps(());

impl Sleeps {
    /// Windows doesn't say it for one thread: a slow call is taken for a waiting one.
    pub(crate) fn since_last(&mut self) -> bool {
        true
    }
}
