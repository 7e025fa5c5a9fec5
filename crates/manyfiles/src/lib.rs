//! Write many files fast on every file system, and hear about every byte that did not arrive.
//!
//! Use this when a program
//!
//! - writes hundreds of files or more: [`tree::TreeWriter`] spreads them over threads, makes each folder once and reports
//!   what failed, each with its path;
//! - drops [`std::fs::File`]s on a file system whose close is slow (Windows with a virus scanner, NFS, SMB, FUSE):
//!   [`close::FastClose`] moves the close off your thread, and [`close::Closer::wait`] brings its errors back;
//! - is written with [`std::fs`]: with `use manyfiles::fs;` its files are closed so, and may be reopened at once;
//! - writes one file in many small pieces: [`writer::FileWriter`] gathers them and says what is written and what is on the disk;
//! - appends records from many threads that no crash may take: [`appender::Appender`] makes them durable together;
//! - needs many files on the disk, whole or not at all: [`sync::SyncBatch`] does that with one sync;
//! - opens, writes and closes a file by its name again and again: [`vfs::Vfs`] keeps it open.
//!
//! Pitfalls:
//!
//! - Files are complete when `finish` (or `wait`) has returned, not when the call that handed them over did.
//! - Nothing here syncs unless it says so: after a power cut the last seconds may be gone, as with [`std::fs::write`].
//!
//! Each of these modules but `close` is a feature of its name (`appender` is part of `writer`), and on by default. Features that are
//! not: `tokio` ([`close::executor`], and twins of files and writers), `smol` and `async-std` (their files in a
//! [`close::FastClose`]), `global-always` and `tracing`. On systems that are neither Unix nor Windows, WebAssembly for one, there
//! are `close` and `fs` alone, and files are closed on the spot.
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
#![cfg_attr(not(any(unix, windows)), allow(dead_code, reason = "what is there needs less"))]

#[cfg(all(feature = "writer", any(unix, windows)))]
pub mod appender;
pub mod close;
mod error;
mod errors;
#[cfg(feature = "fs")]
pub mod fs;
#[cfg(all(feature = "sync", any(unix, windows)))]
pub mod sync;
#[cfg_attr(
    not(all(feature = "tree", any(unix, windows))),
    allow(dead_code, unused_imports, reason = "much of it is for the tree")
)]
mod sys;
#[cfg(all(feature = "sync", any(unix, windows)))]
mod temporary;
#[cfg(all(feature = "tree", any(unix, windows)))]
pub mod tree;
#[cfg(all(feature = "vfs", any(unix, windows)))]
pub mod vfs;
#[cfg(all(feature = "writer", any(unix, windows)))]
pub mod writer;
#[cfg(all(feature = "sync", any(unix, windows)))]
mod written;

// Where close_already has them, so that a program may switch by renaming its dependency.
#[doc(no_inline)]
pub use close::{FastClose, FastCloseable};
pub use error::{Error, Operation, Result};
pub use errors::Errors;
#[cfg(all(feature = "sync", any(unix, windows)))]
pub use written::Written;

/// The README's examples, compiled.
#[cfg(all(doctest, feature = "tree", feature = "fs", feature = "vfs"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
