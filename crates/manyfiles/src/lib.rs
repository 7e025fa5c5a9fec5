//! Write many files fast on every file system, and hear about every byte that did not arrive.
//!
//! Use this when a program
//!
//! - writes hundreds of files or more: [`tree::TreeWriter`] spreads them over threads, makes each folder once and
//!   reports what failed, each with its path;
//! - drops [`std::fs::File`]s on a file system whose close is slow (Windows with a virus scanner, NFS, SMB, FUSE):
//!   [`close::FastClose`] moves the close off your thread, and [`close::Closer::wait`] brings its errors back;
//! - is written with [`std::fs`]: with `use manyfiles::fs;` its files are closed so, and may be reopened at once;
//! - writes one file in many small pieces: [`writer::FileWriter`] gathers them and says what is written and what is on
//!   the disk;
//! - appends records from many threads that no crash may take: [`appender::Appender`] makes them durable together;
//! - needs many files on the disk, whole or not at all: [`sync::SyncBatch`] does that with one sync;
//! - opens, writes and closes a file by its name again and again: [`vfs::Vfs`] keeps it open.
//!
//! Pitfalls:
//!
//! - Files are complete when `finish` (or `wait`) has returned, not when the call that handed them over did.
//! - Nothing here syncs unless it says so: after a power cut the last seconds may be gone, as with [`std::fs::write`].
//!
//! Features: `full`, on by default, is all of it; without it there are `close` and `fs` alone, for programs that only
//! switch their closes and want a short build. Not on by default: `tokio` ([`close::executor`], and twins of files and
//! writers), `smol` and `async-std` (their files in a [`close::FastClose`]), `zstd` (closed files of a log are
//! compressed), `global-always` ([`close::set_global`]) and `tracing` (an event for each close that fails). Systems
//! that are neither Unix nor Windows, WebAssembly for one, have `close` and `fs` alone, and files are closed on the
//! spot.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let temp = tempfile::tempdir()?;
//! # let root = temp.path().join("site");
//! use manyfiles::tree::TreeWriter;
//!
//! let tree = TreeWriter::open(&root)?;
//! for n in 0..1000 {
//!     tree.file(format!("page/{n}.html"), format!("<p>{n}</p>"))?;
//! }
//! let report = tree.finish()?; // an error here names every file that did not arrive
//! assert_eq!(report.files, 1000);
//! # Ok(()) }
//! ```
#![warn(missing_docs)]
#![cfg_attr(
    not(all(feature = "full", any(unix, windows))),
    allow(dead_code, unused_imports, reason = "the modules that are left out use the rest of `sys`")
)]

#[cfg(all(feature = "full", any(unix, windows)))]
pub mod appender;
pub mod close;
mod error;
mod errors;
#[cfg(all(feature = "full", any(unix, windows)))]
mod folders;
pub mod fs;
mod origin;
#[cfg(all(feature = "full", any(unix, windows)))]
pub mod sync;
mod sys;
#[cfg(all(feature = "full", any(unix, windows)))]
mod temporary;
#[cfg(all(feature = "full", any(unix, windows)))]
#[doc(hidden)]
pub mod threads;
#[cfg(all(feature = "full", any(unix, windows)))]
pub mod tree;
#[cfg(all(feature = "full", any(unix, windows)))]
pub mod vfs;
#[cfg(all(feature = "full", any(unix, windows)))]
pub mod writer;
#[cfg(all(feature = "full", any(unix, windows)))]
mod written;

// Where close_already has them, so that a program may switch by renaming its dependency.
#[doc(no_inline)]
pub use close::{FastClose, FastCloseable};
pub use error::{Error, Operation, Result};
pub use errors::Errors;
#[cfg(all(feature = "full", any(unix, windows)))]
pub use written::Written;

/// The README's examples, compiled.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
