//! [`std::fs`] with fast closes: `use manyfiles::fs;` in place of `use std::fs;`.
//!
//! Every function has the signature and the meaning that it has in std. Files that these functions open are closed by the
//! global [`Closer`](crate::close::Closer): while closing is slow, on another thread.
//!
//! - **No error is lost.** What the system says at close, which std throws away, arrives at
//!   [`close::wait`](crate::close::wait) or the [`guard`](crate::close::guard), with the path as it was given here.
//! - **Reopening is safe.** A function that would meet a file whose close is still pending settles it first: a close
//!   that waits is made on the spot, and one that is being made is waited for. Others stay pending.
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
//! # Against `std::fs`, line by line
//!
//! | function | differs | why |
//! |---|---|---|
//! | [`write`](fn@write), [`read`], [`read_to_string`] | the close is handed over; opening is *checked* | |
//! | [`copy`] | settles both paths; except on Windows and Apple's systems, the closes are handed over | there the system copies by path, and closes. Elsewhere the kernel copies too (`copy_file_range`, reflinks), and permissions are std's |
//! | [`File`] | a type of its own, which knows its path; a drop hands over the close; opening is *checked* | derefs to std's; [`into_inner`](File::into_inner) returns that |
//! | [`OpenOptions`] | opens a [`File`]; the methods of the platforms' extension traits are its own | no trait need be imported |
//! | [`rename`], [`hard_link`] | settle both paths | renaming what is open, or replacing it, is denied; a link's entry keeps the size it had |
//! | [`remove_file`] | settles the path | the name would live on until the close |
//! | [`remove_dir`], [`remove_dir_all`] | settle the folder and all below | what is open in it keeps it |
//! | [`metadata`], [`symlink_metadata`] | settle the path | the time of the last write is final when the writer has closed |
//! | [`read_dir`] | settles the folder and all below | an entry's size and times are updated at close |
//! | [`create_dir`], [`create_dir_all`] | tried again when denied | a removed file or folder of that name may live on until it is closed |
//! | `canonicalize`, `exists`, `read_link`, `set_permissions`, `soft_link`, `DirBuilder` | std's own | they neither leave a file open nor mind one that is |
//! | `DirEntry`, `FileTimes`, `FileType`, `Metadata`, `Permissions`, `ReadDir` | std's own | |
//!
//! *Settling* is for Windows, where the names are those the system knows files by, so that it does not matter what
//! path a file was opened by: relative or absolute, in another case, with short names, by another drive or a link. It
//! finds what [`FastClose`](crate::close::FastClose) closes, too. On Unix an open file is in nobody's way, and nothing is
//! settled.
//!
//! *Checked* opening is not held up beforehand: the file is opened, and settled once its name is known, before you get it;
//! if it cannot be opened because it is open elsewhere, it is settled and opened again.
//!
//! On every system a call that fails in a way which a file that is still open explains (sharing violation, access
//! denied, folder not empty, text file busy, too many open files, no space) is made once more, after waiting for all
//! closes that are pending. So are file systems served which behave like Windows (SMB) or which keep removed files until
//! they are closed (NFS, FUSE). While nothing is pending, all this costs a load or two of a counter.
//!
//! # What others see
//!
//! Who does not come through these functions sees the file open until it is closed, some milliseconds later:
//! another process, `std::fs`, a C library, a reader that waits for the end of a FIFO. Call
//! [`close::wait`](crate::close::wait) where it matters, and always before you run a program that you have just written
//! (Linux refuses with "text file busy"). A lock (`std::fs::File::lock`) is held until the close: release it with `unlock`.
//! A closer of your own is not asked; wait for it.

#![deny(unsafe_code)]

mod bound;
mod file;
mod functions;
mod open_options;
mod owner;
mod pending;
#[cfg(any(unix, windows))]
mod raw;

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
