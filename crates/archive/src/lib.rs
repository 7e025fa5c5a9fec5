//! Unpacks tar, cpio, ar and zip archives, compressed or not, packages of Debian and rpm, and single compressed files into a [`manyfiles::tree::TreeWriter`], reads them an entry at a
//! time, and writes them.
//!
//! - [`Unpacker::unpack`] reads an archive from a file or a stream and hands every entry to a tree, which writes them
//!   on many threads; [`Unpacker::list`] only shows the entries, and [`Unpacker::test`] tells what is damaged.
//! - [`Archive`] reads files of an archive by their names, without unpacking it; [`Archives`] are those of all
//!   archives, for a [`Vfs`](manyfiles::vfs::Vfs). With the feature `mount`, on Linux, `Archive::mount` shows one as a
//!   folder.
//! - [`ArchiveWriter`] writes an archive: one file in place of many. The rest of this page is about unpacking.
//! - tar (v7, ustar, GNU, pax, sparse files of every version) and cpio (newc, crc, odc, binary), alone or in gzip, zstd,
//!   xz, bzip2, lz4, lzma, lzip or compress(1); zip (zip64; stored, deflate, deflate64, bzip2, lzma, zstd, xz; encrypted
//!   with AES or the old cipher; split into parts); 7z with the feature `sevenz`; images of CDs (ISO 9660, Rock Ridge,
//!   Joliet); ar (GNU, BSD); the files of `.deb` and `.rpm`. Recognised by content, never by name. What was cut into
//!   pieces (`NAME.001`) is read by its first one.
//! - A single compressed file (`notes.txt.gz`): it has the name, the permissions and the time of the compressed one
//!   without its ending, the time that gzip stores going first. Where that name says nothing, the one that gzip stores
//!   counts. Without a name, and where the name says that a tar is inside, it is an error.
//! - An uncompressed tar costs no copy in this process: the tree writes from windows of the mapped file. A compressed
//!   tar is decoded on a thread of its own, the entries of a zip on several.
//!
//! # What an archive may try, and what stops it
//! An archive is taken to be written by an enemy, and to be changed by another process while it is read.
//!
//! - *Leave the root*, by `..`, absolute paths, symbolic links and files "through" them, hard links to outside: the
//!   tree refuses it, and its report names the entry. This crate never repairs such a path into another one,
//!   [`strip_components`] included.
//! - *Fill the disk or never end*: [`Limits`] on entries, bytes and ratio, on by default. An entry of a zip yields at
//!   most the size that the directory says. The limits are checked with that size before anything is written.
//! - *Fill memory*: no allocation follows a size that is only claimed. Headers before an entry may take 16 MiB, a
//!   sparse file's map as much, the hard links of a cpio archive 256 MiB, an ar archive's table of names 16 MiB, an xz dictionary 1 GiB, a zstd window 128 MiB; a zip's directory takes what it takes in
//!   the file.
//! - *Crash the reader*: all numbers are checked; content is never read through the mapping in user space, so that
//!   cutting the archive short is an error and no signal.
//! - *Give rights away*: set-id bits, owners, devices and FIFOs are dropped or refused unless asked for. An entry
//!   without a mode in the archive gets none here, so that the tree makes it as any program would.
//! - *Show different content to different programs*: a zip's directory is believed, not what precedes entries; pax
//!   sizes are believed over header sizes, as GNU tar and libarchive do.
//!
//! **Not in scope**: whether content is harmless, signatures, hiding the content from other processes.
//!
//! # What is kept, and what is told
//! - *Order*: entries are handed over in the archive's order, those of a zip too, so that the tree knows which of
//!   several entries of one path is the last.
//! - *Modes*: as the archive gives them, without set-id bits unless [asked for](Options::set_id); the sticky bit stays.
//!   A tar's blank field gives none, nor does a zip of MS-DOS or Windows; DOS's read-only bit counts on Windows only.
//! - *Times*: a zip's without a better field is DOS's, also where that is all zeros: 31 December 1979, as unzip has it.
//! - *Pipes in zips*: an entry that `zip archive.zip -` read from its standard input is a file, and so is every entry
//!   with content, whatever its mode says.
//! - *Hard links* to entries that were not selected, stripped away or refused are errors, which name the target. They
//!   are never made to another file of that name.
//! - *What follows*: zeros behind a tar or behind compressed data are padding. Anything else is not read, and named in
//!   [`Summary::trailing`]: other bytes behind compressed data, by one rule for all compressions; a tar behind a tar,
//!   which [`ignore_zeros`](Options::ignore_zeros) reads; more zeros than tars are filled up with.
//! - *Zeros alone* are an empty tar up to 1 MiB. More are space that was reserved, and zeros before other bytes are an
//!   image.
//! - *What entries keep*: extended attributes and access control lists of tars are unpacked if they are [asked
//!   for](Options::keep); entries that lose some are [counted](Summary::with_attributes). The
//!   [attributes](Entry::attributes) of a tar are told, and a mount shows them. Owners are found [by
//!   name](Options::ownership), then by number.
//!
//! [`strip_components`]: Options::strip_components
#![forbid(unsafe_code)]

mod acl;
mod ar;
mod cancel;
mod cpio;
mod decode;
mod entry;
mod entry_filter;
mod error;
mod format;
mod give;
mod iso;
mod joined;
mod limit;
mod limits;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod mount;
mod number;
mod options;
mod owners;
mod parts;
mod password;
mod progress;
mod read_at;
mod reader;
#[cfg(feature = "sevenz")]
mod sevenz;
mod single;
mod stamp;
mod summary;
mod sys;
mod tar;
mod tar_header;
mod target;
mod test;
mod unpacker;
mod write;
mod zip;

pub use entry::{Attribute, Entry, Kind};
pub use error::{Error, ErrorKind, Position, Result};
pub use format::{Compression, Format};
pub use limit::Limit;
pub use limits::Limits;
#[cfg(all(feature = "mount", target_os = "linux"))]
pub use mount::{Mount, MountOptions};
pub use options::Options;
pub use password::Password;
pub use progress::InputProgress;
pub use reader::{Archive, ArchiveFile, ArchiveOptions, Archives, ReadDir};
pub use summary::{Summary, Trailing};
pub use test::{Finding, Tested};
pub use unpacker::{Input, Unpacker};
pub use write::{ArchiveWriter, NotWritten, SourceFile, WriterCanceller, WriterOptions, WriterProgress, Written};
