//! [`ArchiveFile`]: one file of an archive, open to be read.

use std::io::{self, Read, Seek, SeekFrom};

use super::archive::Archive;

/// A file in an archive, open to be read and sought in: what [`std::fs::File`] is for a file in a folder. It keeps the
/// archive open.
///
/// Several positions may be read by turns; what is decoded goes on from the nearest one before.
#[derive(Clone, Debug)]
pub struct ArchiveFile {
    archive: Archive,
    node: u32,
    position: u64,
}

impl ArchiveFile {
    pub(super) fn new(archive: Archive, node: u32) -> ArchiveFile {
        ArchiveFile { archive, node, position: 0 }
    }

    /// How many bytes it has, holes included.
    pub fn size(&self) -> u64 {
        self.archive.index().node(self.node).size
    }

    /// Reads from `offset` on until `buffer` is full or the file ends, and says how much that was. Any number of
    /// threads may do so at once.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.archive.read_node(self.node, buffer, offset)
    }
}

impl Read for ArchiveFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.read_at(buffer, self.position)?;
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for ArchiveFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.size().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a position before the file's beginning"))?;
        Ok(self.position)
    }
}
