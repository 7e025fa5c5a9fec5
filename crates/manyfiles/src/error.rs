//! The one error type: which operation, on which path, and what the operating system said.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `std`'s result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What was being done when an [`Error`] happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operation {
    /// Opening something that exists.
    Open,
    /// Creating a file.
    Create,
    /// Reading content that was to be written.
    Read,
    /// Writing to a file.
    Write,
    /// Moving to another position in a file.
    Seek,
    /// Reserving room for a file.
    Preallocate,
    /// Making a file, or the names in a folder, durable.
    Sync,
    /// Closing a file: where NFS, quotas and full disks report what an earlier write could not.
    Close,
    /// Creating a folder.
    CreateFolder,
    /// Making a symbolic link.
    Symlink,
    /// Making a hard link.
    HardLink,
    /// Making a device node or a FIFO.
    CreateNode,
    /// Setting permissions, times or ownership.
    SetMetadata,
    /// Renaming.
    Rename,
    /// Removing.
    Remove,
    /// Asking what a path is, or how long a file.
    Metadata,
    /// Reading the names in a folder.
    List,
}

impl Operation {
    /// The operation as a verb: "cannot *open* …".
    pub fn verb(self) -> &'static str {
        match self {
            Operation::Open => "open",
            Operation::Create => "create",
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Seek => "seek in",
            Operation::Preallocate => "reserve room for",
            Operation::Sync => "sync",
            Operation::Close => "close",
            Operation::CreateFolder => "create the folder",
            Operation::Symlink => "make the symbolic link",
            Operation::HardLink => "make the hard link",
            Operation::CreateNode => "make the device or FIFO",
            Operation::SetMetadata => "set permissions, times or owner of",
            Operation::Rename => "rename",
            Operation::Remove => "remove",
            Operation::Metadata => "look up",
            Operation::List => "list",
        }
    }
}

/// The cause of what did not happen because the caller cancelled it. (Not `ErrorKind::Interrupted`: `write_all` and its
/// like would try again for ever.)
#[derive(Debug)]
pub(crate) struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// What the operating system said, and what that means or what to do about it.
#[derive(Debug)]
struct Explained {
    cause: io::Error,
    meaning: Cow<'static, str>,
}

/// The same error with an explanation. Its kind and its number stay.
pub(crate) fn explained(cause: io::Error, meaning: impl Into<Cow<'static, str>>) -> io::Error {
    explained_as(cause.kind(), cause, meaning)
}

/// The same where the kind says less than is known.
pub(crate) fn explained_as(kind: io::ErrorKind, cause: io::Error, meaning: impl Into<Cow<'static, str>>) -> io::Error {
    io::Error::new(kind, Explained { cause, meaning: meaning.into() })
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause, self.meaning)
    }
}

impl std::error::Error for Explained {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Something that did not happen: the operation, the path, and the cause.
///
/// [`raw_os_error`](Error::raw_os_error) is what the operating system said, however often the error was wrapped or
/// cloned.
#[derive(Clone, Debug)]
pub struct Error {
    operation: Operation,
    path: Option<Arc<Path>>,
    cause: Arc<io::Error>,
}

impl Error {
    /// An error of `operation` on `path`.
    pub fn new(operation: Operation, path: impl Into<PathBuf>, cause: io::Error) -> Error {
        let path: PathBuf = path.into();
        Error { operation, path: Some(path.into()), cause: Arc::new(cause) }
    }

    /// An error of `operation` on a file whose path is not known.
    pub fn without_path(operation: Operation, cause: io::Error) -> Error {
        Error { operation, path: None, cause: Arc::new(cause) }
    }

    /// The same cause, as the reason why `operation` on `path` did not happen either.
    pub(crate) fn of(self, operation: Operation, path: PathBuf) -> Error {
        let kind = self.kind();
        Error::new(operation, path, io::Error::new(kind, self))
    }

    /// The same error, told of this path: where it was noticed the path was not known, or another name's.
    pub(crate) fn on(self, path: PathBuf) -> Error {
        Error { path: Some(path.into()), ..self }
    }

    /// What was being done.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The path it was done on, where it is known.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The operating system's error number (`errno`, `GetLastError`), if that is where it came from.
    pub fn raw_os_error(&self) -> Option<i32> {
        self.cause.raw_os_error().or_else(|| self.inner()?.raw_os_error()).or_else(|| {
            let explained: &Explained = self.cause.get_ref()?.downcast_ref()?;
            let inner = || explained.cause.get_ref()?.downcast_ref::<Error>()?.raw_os_error();
            explained.cause.raw_os_error().or_else(inner)
        })
    }

    /// The error of another path that led to this one.
    pub(crate) fn inner(&self) -> Option<&Error> {
        self.cause.get_ref()?.downcast_ref()
    }

    /// Whether it did not happen because the caller cancelled it.
    pub fn is_cancelled(&self) -> bool {
        self.cause.get_ref().is_some_and(|cause| cause.is::<Cancelled>())
    }

    /// The kind of the cause.
    pub fn kind(&self) -> io::ErrorKind {
        self.cause.kind()
    }

    /// The cause as it came.
    pub fn io_error(&self) -> &io::Error {
        &self.cause
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "cannot {} {}: {}", self.operation.verb(), path.display(), self.cause),
            None => write!(f, "cannot {} a file: {}", self.operation.verb(), self.cause),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.cause)
    }
}

/// Prints errors that no call has returned: better on standard error than nowhere.
pub(crate) fn print_last_resort<'a>(errors: impl IntoIterator<Item = &'a Error>) {
    for error in errors {
        print_last_resort_line(format_args!("{error}"));
    }
}

/// One line on standard error.
pub(crate) fn print_last_resort_line(line: fmt::Arguments<'_>) {
    // One write, so that lines of other threads and processes stay whole. Where standard error is closed too nothing is
    // left to try, and a drop must not panic.
    drop(io::stderr().write_all(format!("manyfiles: {line}\n").as_bytes()));
}

impl From<Error> for io::Error {
    /// Keeps the kind and carries the whole error as the payload: [`io::Error::get_ref`] finds it, and its raw error
    /// number.
    fn from(error: Error) -> io::Error {
        io::Error::new(error.kind(), error)
    }
}
