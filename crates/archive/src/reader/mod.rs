//! An archive to read from, an entry at a time: nothing is unpacked.
//!
//! [`Archive::open`] makes an index: which entries there are, and where the content of each is. A read then takes what
//! a read of a file takes, or the decoding of what is compressed around it:
//!
//! | archive | a read decodes | what `open` does |
//! |---|---|---|
//! | tar | nothing | goes from header to header |
//! | zip | the entry, from its beginning | reads the directory |
//! | tar.zst of frames (as [`ArchiveWriter`](crate::ArchiveWriter), `pzstd`, `t2sz` write) | the frame | decodes once |
//! | tar.gz | some MiB | decodes once |
//! | other compressed tars | nothing | decodes once, into a temporary file |
//!
//! What `open` decoded is remembered in an index in the [cache](ArchiveOptions::cache), so that the next `open` of the
//! same file decodes nothing. (A temporary file is not kept.)
//!
//! The entries are those that [`Unpacker::unpack`](crate::Unpacker::unpack) would write into an empty folder: of
//! several entries of one path the last one, hard links as names of one file, nothing that leads out of the root.
//! Symbolic links are followed, and lead to nothing outside of the archive.

mod archive;
mod backend;
mod builder;
mod chunks;
mod content;
mod file;
mod frames;
mod gzip;
mod index;
mod kept;
mod range;
mod recent;

pub use archive::{Archive, ArchiveOptions, ReadDir};
pub use backend::Archives;
pub(crate) use builder::{Builder, Place};
pub use file::ArchiveFile;
#[cfg(all(feature = "mount", target_os = "linux"))]
pub(crate) use index::{Child, Node, Type};
