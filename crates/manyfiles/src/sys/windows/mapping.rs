//! Windows of a file in memory.

use std::fs::File;
use std::io;
use std::os::windows::fs::FileExt;
use std::sync::Arc;

/// Some bytes of a file, read when it was made.
///
/// Not a view of a mapped section, though that would save a copy. While a view lives the file can be neither cut short
/// nor removed by anybody; where it can be (on a server), touching a page that is gone raises a structured exception,
/// for which neither the kernel's writes nor Rust promise an error in place of a crash.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: u64,
    bytes: Box<[u8]>,
}

impl Mapping {
    /// Offsets are multiples of this.
    pub(crate) fn granularity() -> u64 {
        1
    }

    pub(crate) fn new(file: &Arc<File>, start: u64, len: usize) -> io::Result<Mapping> {
        let mut bytes = vec![0; len].into_boxed_slice();
        let mut filled = 0;
        while filled < len {
            match file.seek_read(&mut bytes[filled..], start + filled as u64)? {
                0 => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it was cut short meanwhile")),
                read => filled += read,
            }
        }
        Ok(Mapping { start, bytes })
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    /// Copies what is at `offset` of it.
    pub(crate) fn copy_to(&self, offset: usize, to: &mut [u8]) -> io::Result<()> {
        let from = offset.checked_add(to.len()).and_then(|end| self.bytes.get(offset..end));
        from.map(|from| to.copy_from_slice(from)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    pub(crate) fn covers(&self, offset: u64, len: usize) -> bool {
        offset >= self.start && offset - self.start + len as u64 <= self.bytes.len() as u64
    }
}
