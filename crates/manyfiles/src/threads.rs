//! Threads for the other crates of this project: no promise to anybody else.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread that no signal handler of the program ever runs on.
pub fn spawn_quiet<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    crate::sys::spawn_quiet(builder, work)
}
