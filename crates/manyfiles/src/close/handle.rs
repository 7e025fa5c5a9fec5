//! A handle, and how it is closed: with the error number where the type is known, with panics contained where it is
//! not.

use std::any::Any;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

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
    pub(super) fn new<H: Send + 'static>(handle: H) -> Handle {
        match recognise(handle) {
            Ok(handle) => Handle::System(handle),
            Err(handle) => Handle::not_recognised(handle),
        }
    }

    /// A handle that [`recognise`] gave back.
    pub(super) fn not_recognised<H: Send + 'static>(handle: H) -> Handle {
        #[cfg(feature = "tokio")]
        let handle = {
            let mut slot = Some(handle);
            let any: &mut dyn Any = &mut slot;
            if let Some(file) = any.downcast_mut::<Option<tokio::fs::File>>().and_then(Option::take) {
                return Handle::Busy(Box::new(file));
            }
            if let Some(file) = any.downcast_mut::<Option<super::FastClose<tokio::fs::File>>>().and_then(Option::take) {
                return Handle::Busy(Box::new(file.into_inner()));
            }
            slot.expect("taken only where the type was recognised, which returned")
        };
        Handle::Other(Box::new(handle))
    }

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

    /// Closes it, and tells what failed.
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
            Handle::Other(handle) => drop_contained(handle),
        };
        if let Err(error) = closed {
            failed(Operation::Close, error);
        }
    }
}

/// Whether `H` may turn out to be [busy](Handle::is_busy).
#[cfg_attr(not(feature = "tokio"), allow(clippy::extra_unused_type_parameters, reason = "without tokio none is"))]
pub(super) fn may_be_busy<H: 'static>() -> bool {
    #[cfg(feature = "tokio")]
    {
        use std::any::TypeId;
        let own = TypeId::of::<H>();
        own == TypeId::of::<tokio::fs::File>() || own == TypeId::of::<super::FastClose<tokio::fs::File>>()
    }
    #[cfg(not(feature = "tokio"))]
    false
}

/// The path of a handle that knows it.
#[inline]
pub(super) fn path_of<H: 'static>(handle: &H) -> Option<std::path::PathBuf> {
    if let Some(file) = (handle as &dyn Any).downcast_ref::<crate::fs::File>() {
        return file.path().map(Path::to_owned);
    }
    let _ = handle;
    None
}

/// The system's handle, if `H` is a type that is nothing else, or can be made so without waiting. The optimizer knows `H`
/// and keeps one branch.
#[inline]
pub(super) fn recognise<H: 'static>(handle: H) -> Result<sys::Handle, H> {
    let mut slot = Some(handle);
    let any: &mut dyn Any = &mut slot;
    #[allow(clippy::useless_conversion, reason = "on some systems it is none")]
    if let Some(file) = any.downcast_mut::<Option<File>>().and_then(Option::take) {
        return Ok(file.into());
    }
    if let Some(handle) = any.downcast_mut::<Option<sys::Handle>>().and_then(Option::take) {
        return Ok(handle);
    }
    #[allow(clippy::useless_conversion, reason = "on some systems it is none")]
    if let Some(file) = any.downcast_mut::<Option<super::FastClose<File>>>().and_then(Option::take) {
        return Ok(file.into_inner().into());
    }
    if let Some(file) = any.downcast_mut::<Option<crate::fs::File>>().and_then(Option::take) {
        return Ok(file.into_inner().into());
    }
    #[cfg(feature = "tokio")]
    {
        if let Some(file) = any.downcast_mut::<Option<super::FastClose<tokio::fs::File>>>().and_then(Option::take) {
            let file = file.into_inner();
            match file.try_into_std() {
                Ok(file) => return Ok(file.into()),
                Err(file) => {
                    *any.downcast_mut().expect("of this type a moment ago") = Some(super::FastClose::new(file))
                }
            }
        } else if let Some(slot) = any.downcast_mut::<Option<tokio::fs::File>>()
            && let Some(file) = slot.take()
        {
            match file.try_into_std() {
                Ok(file) => return Ok(file.into()),
                // A read or write is in flight: the thread that makes it has the file, too.
                Err(file) => *slot = Some(file),
            }
        }
    }
    Err(slot.expect("taken only where the type was recognised, which returned"))
}

/// Drops something that may panic, and makes an error of the panic.
pub(super) fn drop_contained<H>(handle: H) -> io::Result<()> {
    or_panicked(|| drop(handle))
}

/// What `work` returns, or an error with the message that it panicked with.
pub(super) fn or_panicked<R>(work: impl FnOnce() -> R) -> io::Result<R> {
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

/// The failure of a close.
#[cold]
pub(super) fn failure(operation: Operation, path: Option<&Path>, cause: io::Error) -> Error {
    match path {
        Some(path) => Error::new(operation, path, cause),
        None => Error::without_path(operation, cause),
    }
}
