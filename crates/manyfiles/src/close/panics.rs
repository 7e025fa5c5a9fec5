//! Panics of code that a user wrote: they are kept from the threads, and become errors.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `work` returns, or an error with the message that it panicked with.
pub(super) fn as_error<R>(work: impl FnOnce() -> R) -> io::Result<R> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(message), _) => message,
            (_, Some(message)) => message.as_str(),
            _ => "a value that is not text",
        };
        let error = io::Error::other(format!("its drop panicked: {message}"));
        contain(|| drop(panic));
        error
    })
}

/// Runs what a user wrote and keeps its panic from the thread. `false` if it panicked.
pub(super) fn contain(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => true,
        Err(panic) => {
            // What it panicked with may panic again when it is dropped; a leak is the lesser evil.
            std::mem::forget(panic);
            false
        }
    }
}
