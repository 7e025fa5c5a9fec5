//! One file, many writes.
//!
//! [`FileWriter`] opens a file once and writes it in blocks: 256 KiB by default, twice as fast as the standard
//! library's 8 KiB. It is for one owner: no global state, no lock, no clone. Its bytes are in one of four states:
//!
//! | state | where the bytes are | what can lose them | how they get there |
//! |---|---|---|---|
//! | *buffered* | this process | a crash of the process | `write_all`, `write_at` returned `Ok` |
//! | *written* | the operating system | a crash of the machine | `flush` or `close` returned `Ok`, or a block was full |
//! | *durable* | the disk | a broken disk | `sync` returned `Ok`, or `close` under a [`SyncPolicy`] other than `Never` |
//! | *failed* | not known | – | a write or a sync failed |
//!
//! **Failure is sticky.** After it every call reports it, and nothing more is written: a repeated fsync never turns a
//! loss into a success. (A write that was only interrupted took nothing and is made again; an interrupted sync is a
//! failure.)
//!
//! With the feature `tokio` there is an `AsyncFileWriter` too, whose calls wait in place of blocking.
//!
//! Nothing is swallowed: a dropped writer's errors are kept by a [`Closer`](crate::close::Closer).

#![deny(unsafe_code)]

#[cfg(feature = "tokio")]
mod async_options;
#[cfg(feature = "tokio")]
mod async_writer;
mod buffer;
mod file_writer;
mod opening;
mod options;
pub(crate) mod output;
mod policy;
mod second;
mod sink;
mod target;
mod writer_core;

use std::io;
use std::path::Path;

use crate::{Error, Operation};

pub use crate::Written;
#[cfg(feature = "tokio")]
pub use async_writer::AsyncFileWriter;
pub use file_writer::FileWriter;
pub use options::Options;
pub use policy::SyncPolicy;
pub(crate) use target::{Kind, Target};
pub(crate) use writer_core::Core;

/// Systems count offsets with a sign.
fn check_offset(offset: u64) -> io::Result<()> {
    if i64::try_from(offset).is_ok() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "no file has an offset of 2^63 or more"))
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "what is not a file cannot be synced")
}

fn error(operation: Operation, path: Option<&Path>, cause: io::Error) -> Error {
    match path {
        Some(path) => Error::new(operation, path, cause),
        None => Error::without_path(operation, cause),
    }
}

/// For `std`'s traits. Their users try again whatever is `Interrupted`, and what has failed stays so.
pub(crate) fn io_error(error: Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Interrupted => io::Error::other(error),
        _ => error.into(),
    }
}
