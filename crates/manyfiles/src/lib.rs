//! Write many files fast on every file system, and hear about every byte that did not arrive.
//!
//! Use this when a program
//!
//! - writes hundreds of files or more: [`tree::TreeWriter`] spreads them over threads, makes each folder once and reports
//!   what failed, each with its path;
//! - drops [`std::fs::File`]s on a file system whose close is slow (Windows with a virus scanner, NFS, SMB, FUSE):
//!   [`close::FastClose`] moves the close off your thread, and [`close::Closer::wait`] brings its errors back.
//!
//! Pitfalls:
//!
//! - Files are complete when `finish` (or `wait`) has returned, not when the call that handed them over did.
//! - Nothing here syncs: after a power cut the last seconds may be gone, as with [`std::fs::write`].
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let temp = tempfile::tempdir()?;
//! # let root = temp.path().join("site");
//! use manyfiles::tree::TreeWriter;
//!
//! let tree = TreeWriter::new(&root)?;
//! for n in 0..1000 {
//!     tree.file(format!("page/{n}.html"), format!("<p>{n}</p>"))?;
//! }
//! let report = tree.finish()?; // an error here names every file that did not arrive
//! assert_eq!(report.files, 1000);
//! # Ok(()) }
//! ```
#![warn(missing_docs)]

pub mod close;
mod error;
mod sys;
#[cfg(unix)]
pub mod tree;

pub use error::{Error, Operation, Result};

/// The README's examples, compiled.
#[cfg(all(doctest, unix))]
#[doc = include_str!("../../../README.md")]
struct Readme;
