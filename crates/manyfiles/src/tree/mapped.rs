//! A file as content without a copy: windows of it are mapped, written from, and unmapped.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::Content;

/// A file whose ranges can be the content of others: an archive that is not compressed.
pub struct MappedFile {
    pub(super) file: File,
}

pub(super) struct Window {}
impl Window {
    pub(super) fn as_raw(&self) -> *const [u8] {
        todo!()
    }
}

impl MappedFile {
    /// Takes an open file. Fails where it cannot be mapped (a pipe, a device).
    pub fn new(file: File) -> io::Result<MappedFile> {
        Ok(MappedFile { file })
    }
    /// The length when it was opened.
    pub fn len(&self) -> u64 {
        todo!()
    }
    /// Whether it was empty when it was opened.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// `len` bytes from `offset` on, as content. At most [`MAX_SLICE`](Self::MAX_SLICE) bytes.
    pub fn slice(&self, offset: u64, len: usize) -> io::Result<Content> {
        todo!()
    }
    /// The longest slice: longer content is written piece by piece through [`create`](super::TreeWriter::create).
    pub const MAX_SLICE: usize = 4 << 20;
    /// An error if the file was cut short or changed since it was opened: what was written from it may be wrong.
    pub fn check(&self) -> io::Result<()> {
        todo!()
    }
}
