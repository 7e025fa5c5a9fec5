//! One file of a `Vfs`, with a handle of its own.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::Output;
use super::kept::Fault;
use super::place::Place;
use super::table::Table;
use crate::{Error, Operation, Result};

/// As [`FileWriter`](crate::writer::FileWriter)'s.
const BUFFER: usize = 256 << 10;

/// Writes a file that [`Vfs::create_writer`](super::Vfs::create_writer) has created. Up to 256 KiB are buffered; a
/// [`read`](super::Vfs::read) by the `Vfs` sees what was flushed.
///
/// After a failure every call returns the same error. Dropped without [`close`](VfsWriter::close), it does what `close` does,
/// and leaves an error that nobody has been told to the [`Vfs`](super::Vfs), for its next call that names the file.
///
/// ```
/// use manyfiles::vfs::Vfs;
///
/// let vfs = Vfs::new();
/// let mut writer = vfs.create_writer("mem://tiles", &[("create_new", "true")])?;
/// for tile in 0..100u8 {
///     writer.write_all(&[tile; 4096])?;
/// }
/// assert_eq!(writer.close()?, 409_600);
/// assert_eq!(vfs.size("mem://tiles")?, 409_600);
/// # Ok::<(), manyfiles::Error>(())
/// ```
pub struct VfsWriter {
    /// Away once it is closed.
    output: Option<Box<dyn Output>>,
    buffer: Vec<u8>,
    written: u64,
    failure: Option<Error>,
    place: Place,
    table: Arc<Table>,
}

impl VfsWriter {
    pub(super) fn new(table: Arc<Table>, place: Place, output: Box<dyn Output>) -> VfsWriter {
        VfsWriter { output: Some(output), buffer: Vec::new(), written: 0, failure: None, place, table }
    }

    /// Adds all of `bytes` at the end of the file: they are buffered, or written with what was buffered.
    #[inline]
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        // A failed writer has no buffer.
        if bytes.len() <= self.buffer.capacity() - self.buffer.len() {
            self.buffer.extend_from_slice(bytes);
            if self.failure.is_none() {
                return Ok(());
            }
        }
        self.write_slowly(bytes)
    }

    #[cold]
    #[inline(never)]
    fn write_slowly(&mut self, bytes: &[u8]) -> Result<()> {
        self.attempt(|writer| {
            writer.write_out()?;
            if bytes.len() >= BUFFER {
                return writer.hand_over(bytes);
            }
            if writer.buffer.capacity() == 0 {
                writer.buffer.reserve_exact(BUFFER);
            }
            writer.buffer.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// Hands everything to the operating system, or whatever is behind the backend: other programs can read it.
    pub fn flush(&mut self) -> Result<()> {
        self.attempt(|writer| writer.write_out())
    }

    /// [`flush`](VfsWriter::flush)es and makes it durable, and the file's name.
    pub fn sync(&mut self) -> Result<()> {
        self.attempt(|writer| {
            writer.write_out()?;
            writer.output().sync().map_err(|cause| (Operation::Sync, cause))
        })
    }

    /// Writes what is buffered, closes, and says how many bytes were written. When this returns `Ok` nothing that could be told
    /// was left untold.
    pub fn close(mut self) -> Result<u64> {
        self.finish()?;
        Ok(self.written)
    }

    /// Everything that a close does, once.
    fn finish(&mut self) -> Result<()> {
        self.attempt(|writer| {
            writer.write_out()?;
            let closed = writer.output.take().map_or(Ok(()), |output| output.close());
            closed.map_err(|cause| (Operation::Close, cause))
        })
    }

    /// Does something that may fail, unless it has failed before. After a failure the handle is closed.
    fn attempt(&mut self, work: impl FnOnce(&mut VfsWriter) -> Result<(), Fault>) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        work(self).map_err(|fault| {
            let error = self.table.error(&self.place, fault);
            self.failure = Some(error.clone());
            self.buffer = Vec::new();
            self.output = None;
            error
        })
    }

    fn output(&mut self) -> &mut dyn Output {
        self.output.as_deref_mut().expect("only a failure or the end of the writer takes it")
    }

    fn write_out(&mut self) -> Result<(), Fault> {
        let buffer = std::mem::take(&mut self.buffer);
        self.hand_over(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn hand_over(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.output().write(bytes).map_err(|cause| (Operation::Write, cause))?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// Each error carries the whole [`Error`]. Its kind is never `Interrupted`: callers would try for ever what stays failed.
impl io::Write for VfsWriter {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        VfsWriter::write_all(self, bytes).map(|()| bytes.len()).map_err(crate::writer::io_error)
    }

    fn flush(&mut self) -> io::Result<()> {
        VfsWriter::flush(self).map_err(crate::writer::io_error)
    }
}

impl Drop for VfsWriter {
    fn drop(&mut self) {
        // After a failure that was told there is no output; while a backend's panic unwinds the buffer is away.
        if self.output.is_some()
            && let Err(error) = self.finish()
        {
            self.table.keep(&self.place, error);
        }
    }
}

impl fmt::Debug for VfsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VfsWriter")
            .field("path", &self.place.path)
            .field("written", &self.written)
            .field("buffered", &self.buffer.len())
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}
