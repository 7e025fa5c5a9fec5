//! Unpacks tar and zip archives, compressed or not, into a [`manyfiles::tree::TreeWriter`].
//!
//! - [`Unpacker::unpack`] reads an archive from a file or a stream and hands every entry to a tree, which writes them on many
//!   threads; [`Unpacker::list`] shows what that would do.
//! - tar (v7, ustar, GNU, pax, sparse files of every version), alone or in gzip, zstd, xz, bzip2 or lz4; zip (zip64; stored,
//!   deflate, deflate64, bzip2, lzma, zstd, xz). Recognised by content, never by name.
//! - An uncompressed tar costs no copy in this process: the tree writes from windows of the mapped file. A compressed tar is
//!   decoded on a thread of its own, the entries of a zip on several.
//!
//! # What an archive may try, and what stops it
//! An archive is taken to be written by an enemy, and to be changed by another process while it is read.
//!
//! - *Leave the root*, by `..`, absolute paths, symbolic links and files "through" them, hard links to outside: the tree refuses
//!   it, and its report names the entry. This crate never repairs such a path into another one, [`strip_components`]
//!   included.
//! - *Fill the disk or never end*: [`Limits`] on entries, bytes and ratio, on by default. An entry of a zip yields at most the
//!   size that its directory says, and that is what the limits are asked about before anything is written.
//! - *Fill memory*: no allocation follows a size that is only claimed. Headers before an entry may take 16 MiB, a sparse file's
//!   map as much, an xz dictionary 1 GiB, a zstd window 128 MiB; a zip's directory takes what it takes in the file.
//! - *Crash the reader*: all numbers are checked; content is never read through the mapping in user space, so that cutting the
//!   archive short is an error and no signal.
//! - *Give rights away*: set-id bits, owners, devices and FIFOs are dropped or refused unless asked for.
//! - *Show different content to different programs*: a zip's directory is believed, not what precedes entries; pax sizes are
//!   believed over header sizes, as GNU tar and libarchive do.
//!
//! **Not in scope**: whether content is harmless, signatures, hiding from other processes what is being unpacked.
//!
//! Extended attributes, access control lists and names of users are not unpacked.
//!
//! [`strip_components`]: Unpacker::strip_components
#![forbid(unsafe_code)]

mod decode;
mod entry;
mod error;
mod format;
mod gate;
mod limits;
mod progress;
mod stamp;
mod sys;
mod tar;
mod unpacker;
mod zip;

pub use entry::{Entry, Kind};
pub use error::{Error, ErrorKind, Position};
pub use format::{Compression, Format};
pub use limits::{Limit, Limits};
pub use progress::InputProgress;
pub use unpacker::{Input, Summary, Unpacker};
