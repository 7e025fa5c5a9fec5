//! Unpacks tar and zip archives into a [`TreeWriter`].

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use manyfiles::tree::TreeWriter;

/// Where an archive comes from.
pub enum Input {
    /// A file, recognised by its content.
    File(PathBuf),
    /// A stream that cannot be sought in: any kind of tar, recognised by its content; not zip, whose directory is at the end.
    Stream(Box<dyn Read + Send>),
}

/// What stops a bomb and not the Linux kernel.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most entries.
    pub entries: u64,
    /// The most bytes of content.
    pub bytes: u64,
    /// The most times larger than its compressed form the content may be.
    pub ratio: u64,
}

/// How archives are unpacked.
pub struct Unpacker {}

impl Unpacker {
    /// Reads `input` to its end and hands every entry to `tree`. Entries that are refused or damaged are in the tree's
    /// report; an `Err` says that the archive could not be read, or not to its end.
    pub fn unpack(&self, input: Input, tree: &TreeWriter) -> Result<Summary, Error> {
        let _ = (input, tree);
        todo!()
    }

    /// Reads `input` to its end and shows every entry that [`unpack`](Unpacker::unpack) would hand over, or refuse.
    pub fn list(&self, input: Input, visit: &mut dyn FnMut(&Entry<'_>)) -> Result<Summary, Error> {
        let _ = (input, visit);
        todo!()
    }
}

/// An entry as [`Unpacker::list`] shows it.
pub struct Entry<'a> {
    /// Its path after stripping.
    pub path: &'a Path,
}

/// What was read.
pub struct Summary {}

/// The archive could not be read.
#[derive(Debug)]
pub struct Error {}

/// How much of the input has been read, for a progress bar. Cheap to clone.
#[derive(Clone, Default)]
pub struct InputProgress(Arc<()>);
