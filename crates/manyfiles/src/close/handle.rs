//! A handle, and how it is closed: with the error number where the type is known, with panics contained where it is
//! not.

use std::any::Any;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::sys;
use crate::{Error, Operation};

/// A handle that waits in the queue.
pub(super) enum Handle {
    /// One that the operating system closes: its error is known, and it needs no allocation.
    System(sys::Handle),
    /// Any other, closed by its drop.
    Other(Box<dyn Close>),
}

/// What [`close`] does, of a type that is forgotten.
pub(super) trait Close: Send {
    fn close(self: Box<Self>) -> io::Result<()>;
}

impl<H: Send + 'static> Close for H {
    fn close(self: Box<H>) -> io::Result<()> {
        close(*self)
    }
}

impl Handle {
    pub(super) fn new<H: Send + 'static>(handle: H) -> Handle {
        match recognise(handle) {
            Ok(handle) => Handle::System(handle),
            Err(handle) => Handle::Other(Box::new(handle)),
        }
    }

    pub(super) fn close(self) -> io::Result<()> {
        match self {
            Handle::System(handle) => sys::close(handle),
            // Another look: what had a write in flight when it was handed over may be a system's handle by now.
            Handle::Other(handle) => handle.close(),
        }
    }
}

/// Closes without a detour over the heap.
#[inline]
pub(super) fn close<H: Send + 'static>(handle: H) -> io::Result<()> {
    match recognise(handle) {
        Ok(handle) => sys::close(handle),
        Err(handle) => drop_contained(handle),
    }
}

/// The system's handle, if `H` is a type that is nothing else, or can be made so without waiting. The optimizer knows `H`
/// and keeps one branch.
#[inline]
fn recognise<H: 'static>(handle: H) -> Result<sys::Handle, H> {
    let mut slot = Some(handle);
    let any: &mut dyn Any = &mut slot;
    if let Some(file) = any.downcast_mut::<Option<File>>().and_then(Option::take) {
        return Ok(file.into());
    }
    if let Some(handle) = any.downcast_mut::<Option<sys::Handle>>().and_then(Option::take) {
        return Ok(handle);
    }
    #[cfg(feature = "tokio")]
    if let Some(slot) = any.downcast_mut::<Option<tokio::fs::File>>()
        && let Some(file) = slot.take()
    {
        match file.try_into_std() {
            Ok(file) => return Ok(file.into()),
            // A read or write is in flight: the thread that makes it closes the file when both are done.
            Err(file) => *slot = Some(file),
        }
    }
    Err(slot.expect("taken only where the type was recognised, which returned"))
}

/// Drops something that may panic, and makes an error of the panic.
fn drop_contained<H>(handle: H) -> io::Result<()> {
    catch_unwind(AssertUnwindSafe(|| drop(handle))).map_err(|panic| {
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

/// The failure of a close.
#[cold]
pub(super) fn failure(path: Option<&Path>, cause: io::Error) -> Error {
    match path {
        Some(path) => Error::new(Operation::Close, path, cause),
        None => Error::without_path(Operation::Close, cause),
    }
}
