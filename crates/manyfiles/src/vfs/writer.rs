//! One file of a `Vfs`, with a handle of its own.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::Output;
use super::file_key::FileKey;
use super::table::Table;
use crate::origin::leave;
use crate::writer::{FileWriter, SyncPolicy, Written};
use crate::{Error, Operation, Result};

/// Writes a file that [`Vfs::create_writer`](super::Vfs::create_writer) has created: a [`FileWriter`], for a file of
/// any backend. Up to 256 KiB are buffered; a [`read`](super::Vfs::read) by the `Vfs` sees what was flushed.
///
/// After a failure every call returns the same error. Dropped without [`close`](VfsWriter::close), it does what `close`
/// does, and leaves an error that no call has returned to the [`Vfs`](super::Vfs), for its next call that names the
/// file.
///
/// ```
/// use manyfiles::vfs::Vfs;
///
/// let vfs = Vfs::new();
/// let mut writer = vfs.create_writer("mem://tiles")?;
/// for tile in 0..100u8 {
///     writer.write_all(&[tile; 4096])?;
/// }
/// assert_eq!(writer.close()?.bytes, 409_600);
/// assert_eq!(vfs.size("mem://tiles")?, 409_600);
/// # Ok::<(), manyfiles::Error>(())
/// ```
pub struct VfsWriter {
    writer: FileWriter,
    key: FileKey,
    table: Arc<Table>,
}

impl VfsWriter {
    pub(super) fn new(table: Arc<Table>, key: FileKey, output: Box<dyn Output>, sync: SyncPolicy) -> Result<VfsWriter> {
        let shown = super::uri::shown(table.backends(), &key);
        Ok(VfsWriter { writer: FileWriter::options().sync(sync).output(output, &shown)?, key, table })
    }

    /// Adds all of `bytes` at the end of the file: they are buffered, or written with what was buffered.
    #[inline]
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.check_call()?;
        self.writer.write_all(bytes)
    }

    /// Hands everything to the operating system, or whatever is behind the backend: other programs can read it.
    pub fn flush(&mut self) -> Result<()> {
        self.check_call()?;
        self.writer.flush()
    }

    /// [`flush`](VfsWriter::flush)es and makes it durable, and the file's name.
    pub fn sync(&mut self) -> Result<()> {
        self.check_call()?;
        self.writer.sync()
    }

    /// Writes what is buffered, syncs if that was chosen, closes, and says how many bytes were written. When this
    /// returns `Ok` nothing that could be told was left untold.
    pub fn close(mut self) -> Result<Written> {
        self.check_call()?;
        self.writer.close_now()
    }

    /// In a forked child it is a copy: what is buffered is the other process's.
    #[inline]
    fn check_call(&self) -> Result<()> {
        self.table.origin.check_call().map_err(|cause| Error::new(Operation::Write, &*self.key.path, cause))
    }
}

/// Each error carries the whole [`Error`](crate::Error). Its kind is never `Interrupted`: callers would try for ever
/// what stays failed.
impl io::Write for VfsWriter {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check_call()?;
        io::Write::write(&mut self.writer, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.check_call()?;
        io::Write::flush(&mut self.writer)
    }
}

impl Drop for VfsWriter {
    fn drop(&mut self) {
        if self.table.origin.is_a_parent() {
            self.writer.leave();
            return leave(&self.table);
        }
        if let Some(error) = self.writer.close_untold() {
            self.table.keep(&self.key, error, false);
        }
    }
}

impl fmt::Debug for VfsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VfsWriter").field("path", &self.key.path).field("writer", &self.writer).finish()
    }
}
