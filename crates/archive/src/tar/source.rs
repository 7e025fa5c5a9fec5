//! Where the bytes of a tar come from: a file, read by position, or a stream of blocks from another thread.

use manyfiles::tree::Content;

use crate::error::{ErrorKind, Result};

/// The bytes of a tar from front to back.
pub(crate) trait Source {
    /// How many bytes have been read or passed over.
    fn position(&self) -> u64;

    /// Fills `buffer`. Returns how many bytes there were: fewer only at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind>;

    /// Passes over `len` bytes. Returns how many there were: fewer only at the end.
    fn skip(&mut self, len: u64) -> Result<u64, ErrorKind>;

    /// The next bytes: at least one and at most `max`, or none at the end.
    fn chunk(&mut self, max: u64) -> Result<&[u8], ErrorKind>;

    /// Reads the next bytes, at most `len`, only to know whether they can be read. Returns how many there were: none at
    /// the end.
    fn read_over(&mut self, len: u64) -> Result<u64, ErrorKind> {
        self.chunk(len).map(|chunk| chunk.len() as u64)
    }

    /// The next `len` bytes as content, without a copy where that can be. `None` if the end comes before.
    fn content(&mut self, len: usize) -> Result<Option<Content>, ErrorKind>;

    /// The longest content that is to be had in one piece.
    fn longest_content(&self) -> usize;

    /// Called at the end of the tar: reads on to the end of the source, and checks it.
    fn finish(&mut self) -> Result<(), ErrorKind>;

    /// The position of damage at byte `position` of the tar, as an error names it.
    fn damage(&self, position: u64, cause: &str) -> ErrorKind;
}
