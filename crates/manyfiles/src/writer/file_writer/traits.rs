//! The standard library's traits.

use std::io::{self, IoSlice, Seek, SeekFrom, Write};

use super::FileWriter;
use crate::writer::io_error;

/// Each error carries the whole [`Error`](crate::Error). Its kind is never `Interrupted`: callers would try for ever
/// what stays failed.
impl Write for FileWriter {
    /// Takes all of `bytes`, or fails.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write_all(self, bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.core.push(bytes) { Ok(()) } else { self.write_slowly(bytes).map_err(io_error) }
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        buffers.iter().try_fold(0, |len, buffer| self.write(buffer).map(|more| len + more))
    }

    fn flush(&mut self) -> io::Result<()> {
        FileWriter::flush(self).map_err(io_error)
    }
}

impl Seek for FileWriter {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        FileWriter::seek(self, to).map_err(io_error)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        Ok(self.position())
    }
}
