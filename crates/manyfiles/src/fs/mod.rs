//! [`std::fs`] with fast closes: `use manyfiles::fs;` in place of `use std::fs;`.
//!
//! Every function has the signature and the meaning that it has in std. Files that these functions open are closed by
//! the global [`Closer`](crate::close::Closer): while closing is slow, on another thread.
//!
//! - **No error is lost.** What the system says at close, which std throws away, arrives at
//!   [`close::wait`](crate::close::wait) or the [`guard`](crate::close::guard), with the path as it was given here.
//! - **Errors have an owner.** A component that wants to hear of its own files alone opens them by a
//!   [`Closer`](crate::close::Closer) of its own: `closer.write(path, contents)`.
//! - **The order is std's.** What was dropped is closed for all these functions.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let temp = tempfile::tempdir()?;
//! # let folder = temp.path().join("font.ufo");
//! use manyfiles::{close, fs};
//!
//! fs::create_dir_all(&folder)?;
//! for n in 0..100 {
//!     fs::write(folder.join(format!("{n}.glif")), "<glyph/>")?;
//! }
//! close::wait()?; // all 100 are closed, without an error
//! fs::remove_dir_all(&folder)?;
//! # Ok(()) }
//! ```
//!
//! # The order that std has
//!
//! On every system, these functions see files closed that were dropped before, whichever closer closes them: a file is
//! known by its identity, so that links and other spellings lead to it, and by the folders above it.
//!
//! | function | differs from std's |
//! |---|---|
//! | [`write`](fn@write), [`read`], [`read_to_string`] | the close is handed over; opening is *checked* |
//! | [`copy`] | the same for both files; where the system copies by path (Windows, Apple's) both are settled and closed |
//! | [`File`] | a type of its own, which knows its path and its closer; a drop hands over the close; opening is *checked* |
//! | [`OpenOptions`] | opens a [`File`] |
//! | [`rename`], [`hard_link`], [`set_permissions`] | settle the paths, and all below a folder |
//! | [`remove_file`] | settles the path: the name is free, and nothing stands in for the file |
//! | [`remove_dir`] | tried at once, and again if only removed files that are open keep it from being empty |
//! | [`remove_dir_all`], [`read_dir`] | settle all below |
//! | [`metadata`], [`symlink_metadata`] | settle the file |
//! | [`create_dir`], [`create_dir_all`] | on Windows tried again where a removed name may live on |
//! | [`canonicalize`] | std's |
//! | `exists`, `read_link`, `soft_link`, `DirBuilder`, `DirEntry`, `FileTimes`, `FileType`, `Metadata`, `Permissions`, `ReadDir`, `TryLockError` | std's own |
//!
//! *Settling*: a close that waits for a thread is made on the spot, one that is being made is waited for, others stay
//! pending. *Checked* opening settles the file before it returns it.
//!
//! - **Ordinary errors return at once**, whatever is pending: of files and folders that are missing, there already, of
//!   the wrong kind, not empty, or on another volume; of options that std refuses; on Unix of permissions. Some errors
//!   are known by the call alone and come after the closes of the very file: no space, a quota, an access control list
//!   on Windows.
//! - **Nothing waits for closes of other files.** Only a user's type, which may have any file inside, is waited for:
//!   for a second at most, and once.
//! - **Out of descriptors**, a function closes what is pending and tries again. It waits for one close, for a second at
//!   most.
//! - **A lock ends with its file**: a file that holds one, or may, is closed on the spot. So is what is no regular
//!   file: a FIFO.
//!
//! While nothing is pending, all this costs a load of a counter. docs/closing.md in the repository has more.
//!
//! # What others see
//!
//! Code that does not come through these functions sees the file open until it is closed, some milliseconds later:
//! another process, `std::fs`, a C library, a reader that waits for the end of a FIFO. Call
//! [`close::wait`](crate::close::wait) where it matters: always before you run a program that you have just written
//! (Linux refuses with "text file busy"), and before others lock the file as SQLite does (`fcntl`: any close of the
//! file by this process ends the lock).
//!
//! The other way round, these functions do not see what such code renames while a close is being made: if it renames a
//! folder in that time, or moves the file elsewhere, then [`read_dir`], [`rename`], [`remove_dir`] and
//! [`remove_dir_all`] of the folder's new path do not wait for that close. Functions that are about the file itself do.

#![deny(unsafe_code)]

mod bound;
mod file;
mod functions;
mod open_options;
mod owner;
mod pending;
mod refused;

pub use std::fs::{
    DirBuilder, DirEntry, FileTimes, FileType, Metadata, Permissions, ReadDir, TryLockError, exists, read_link,
};

pub use file::File;
pub use functions::{
    canonicalize, copy, create_dir, create_dir_all, hard_link, metadata, read, read_dir, read_to_string, remove_dir,
    remove_dir_all, remove_file, rename, set_permissions, symlink_metadata, write,
};
pub use open_options::OpenOptions;
#[allow(deprecated, reason = "std has it")]
pub use std::fs::soft_link;
