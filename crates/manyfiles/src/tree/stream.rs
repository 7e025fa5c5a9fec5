//! A file whose length is not known beforehand.

use std::io::{self, Write};

use super::TreeWriter;
use crate::Result;

/// A file being written piece by piece, on the caller's thread. Up to 256 KiB it is kept in memory and then handed over like
/// any other; beyond that it is written as it comes.
///
/// [`close`](TreeFile::close) makes it count. Dropped before that, it is removed again and reported as a failure.
pub struct TreeFile<'a> {
    tree: &'a TreeWriter,
}

impl TreeFile<'_> {
    /// Leaves `len` bytes out: they read as zero and take no space where the file system has holes.
    pub fn skip(&mut self, len: u64) -> io::Result<()> {
        todo!()
    }
    /// Says that this is all. An error here is in the report too.
    pub fn close(self) -> Result<()> {
        todo!()
    }
    /// Gives the file up: it is removed and counts as a failure for the given reason.
    pub fn abandon(self, why: io::Error) {
        todo!()
    }
}

impl Write for TreeFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        todo!()
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
