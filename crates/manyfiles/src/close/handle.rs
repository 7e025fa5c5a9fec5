//! A handle, and how it is closed: with the error number where the type is known, with panics contained where it is
//! not.

use std::io;
use std::path::Path;

use super::panics;
use super::policy::Access;
use crate::sys;
use crate::{Error, Operation};

/// A handle that waits in the queue.
pub(crate) enum Handle {
    /// One that the operating system closes: its error is known, and it needs no allocation.
    System(sys::Handle),
    /// A file of tokio's with a read or write in flight.
    #[cfg(feature = "tokio")]
    Busy(Box<tokio::fs::File>),
    /// Any other, closed by its drop.
    Other(Box<dyn Send>),
}

impl Handle {
    /// Whether closing it is one call of the system's, which runs no code of a user's and waits for no other thread.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Handle::System(_))
    }

    /// Whether its close has to wait for a thread of the runtime that it belongs to.
    pub(super) fn is_busy(&self) -> bool {
        #[cfg(feature = "tokio")]
        return matches!(self, Handle::Busy(_));
        #[cfg(not(feature = "tokio"))]
        false
    }

    pub(super) fn access(&self) -> Access {
        match self {
            Handle::System(handle) if sys::is_read_only(handle) => Access::Read,
            _ => Access::Write,
        }
    }

    pub(super) fn leaves_room(&self) -> bool {
        match self {
            Handle::System(handle) => sys::leaves_room(handle),
            _ => true,
        }
    }

    /// Closes the handle, and calls `failed` with each failure.
    pub(super) fn close(self, mut failed: impl FnMut(Operation, io::Error)) {
        let closed = match self {
            Handle::System(handle) => sys::close(handle),
            #[cfg(feature = "tokio")]
            Handle::Busy(file) => super::busy::finish(*file).and_then(|(written, file)| {
                if let Err(error) = written {
                    failed(Operation::Write, error);
                }
                sys::close(file.into())
            }),
            Handle::Other(handle) => panics::as_error(|| drop(handle)),
        };
        if let Err(error) = closed {
            failed(Operation::Close, error);
        }
    }
}

/// The failure of a close.
#[cold]
pub(super) fn failure(operation: Operation, path: Option<&Path>, cause: io::Error) -> Error {
    match path {
        Some(path) => Error::new(operation, path, cause),
        None => Error::without_path(operation, cause),
    }
}
