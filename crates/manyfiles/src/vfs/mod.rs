//! Files named by URI: local paths and `file://`, `mem://`, and what else a [`Backend`] brings.
//!
//! A [`Vfs`] is for programs that name a file in every call, as array stores and databases do that grew around
//! `VFS::write(uri, bytes)`, and open, write and close for each of their small writes. It keeps the handles that such
//! calls would open again and again.
//!
//! - [`Vfs::write`] adds at the end of a file and creates it if need be, as TileDB's `VFS::write` does. Nothing it does
//!   has an offset: handles are opened to append, so that two threads, two `Vfs` or two processes that write one local
//!   file never overwrite each other, and a failed write leaves no offset that could be wrong.
//! - **Bounded.** So many handles are kept, and so much memory for what is buffered. The one used longest ago is closed
//!   to make room. There is a lock for each file, and none across files is held while anything is written, opened or
//!   closed.
//! - **No error is lost.** What fails later (a buffer written out to make room, a close) stays with its file: every
//!   call for that file returns it until [`Vfs::flush`] has, [`Vfs::wait`] or [`Vfs::finish`].
//! - **Files change.** A kept handle notices that its file was removed, renamed or replaced; see [`Vfs`] for when.
//! - **It takes nothing away from others.** Before something is removed or renamed, the handles that are kept below it
//!   and idle are closed, as if each call had closed its own. A writer in use is left alone, and the operating system
//!   says what it says.
//!
//! [`Vfs::create_writer`] is the other way, and the better one where the program has a place to keep the writer: one
//! object with a handle of its own.

#![deny(unsafe_code)]

mod backend;
mod buffer;
mod create_options;
mod file_key;
mod files;
mod handle_limit;
mod index;
mod kept;
mod memory;
mod options;
mod readers;
mod sync;
mod table;
mod uri;
#[expect(clippy::module_inception, reason = "a type's file has its name")]
mod vfs;
mod within;
mod writer;

#[cfg(test)]
mod tests;

pub use crate::writer::output::Output;
pub use backend::{Backend, Choices, Identity, Input, Metadata};
pub use create_options::CreateOptions;
pub use options::Options;
pub use vfs::{Entry, Vfs};
pub use writer::VfsWriter;
