//! [`FileWriter`].

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::target::Target;
use super::writer_core::Core;
use super::{Options, SyncPolicy, Written};
use crate::close::Closer;
use crate::{Error, Operation, Result};

mod blocks;
mod ending;
mod places;
mod traits;

/// One file, opened once, to be written in pieces of any size. See the [module](super) for what it promises.
///
/// Every call that fails for the file's sake makes the writer *failed*, and all that follow return the same error
/// again. What is wrong with the call itself ([`Unsupported`](io::ErrorKind::Unsupported),
/// [`InvalidInput`](io::ErrorKind::InvalidInput)) changes nothing.
///
/// Dropped without [`close`](FileWriter::close), it does what `close` does as far as that goes, syncs included. Then it
/// hands the file to a [`Closer`], where errors that no call has returned are kept: [`close::wait`](crate::close::wait)
/// tells them.
///
/// A forked child has a copy of what is buffered, as it has of std's `BufWriter`, and its drop would write that too:
/// [`flush`](FileWriter::flush) before a fork. With a [second thread](Options::second_thread), which stays with the
/// parent, the copy's calls fail, and its drop does nothing.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("numbers");
/// use manyfiles::writer::FileWriter;
///
/// let mut file = FileWriter::create(&path)?;
/// for n in 0..1_000_000u32 {
///     file.write_all(&n.to_le_bytes())?; // 16 system calls, all in all
/// }
/// let written = file.close()?; // an error of any of the calls would be here at the latest
/// assert_eq!(written.bytes, 4_000_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FileWriter {
    core: Core,
    /// Where the next write goes, if not behind the buffer.
    elsewhere: Option<u64>,
    path: Option<Arc<Path>>,
    capacity: usize,
    second_thread: bool,
    policy: SyncPolicy,
    last_sync: Instant,
    /// Bytes that had been handed over at the last sync.
    given_at_sync: u64,
    /// Opened when something is read back.
    reader: Option<File>,
    has_places: bool,
    keeps_records_whole: bool,
    can_sync: bool,
    closer: Option<Arc<Closer>>,
}

impl FileWriter {
    /// The choices, to be followed by a call that opens.
    pub fn options() -> Options {
        Options::default()
    }

    /// [`Options::create`] with default options.
    pub fn create(path: impl AsRef<Path>) -> Result<FileWriter> {
        FileWriter::options().create(path)
    }

    /// [`Options::append`] with default options.
    pub fn append(path: impl AsRef<Path>) -> Result<FileWriter> {
        FileWriter::options().append(path)
    }

    /// [`Options::open_at`] with default options.
    pub fn open_at(path: impl AsRef<Path>, offset: u64) -> Result<FileWriter> {
        FileWriter::options().open_at(path, offset)
    }

    /// [`Options::from_file`] with default options.
    pub fn from_file(file: File, path: impl AsRef<Path>) -> Result<FileWriter> {
        FileWriter::options().from_file(file, path)
    }

    /// The same buffer over anything that takes bytes: standard output, a socket, a compressor.
    /// [`flush`](FileWriter::flush) and [`close`](FileWriter::close) flush `writer` too. There is no seeking, no
    /// `write_at` and no sync, and what `writer` itself does when it is dropped cannot be told.
    ///
    /// Standard output by itself ([`Stdout`](io::Stdout)) keeps a line at most: each `println!` is a system call, into
    /// a pipe or a file as well, and locking it first changes nothing about that. A million short lines are a million
    /// calls, and 56 through this buffer: 0.04 s in place of 1.3. In turn no reader sees a line before `flush`: flush
    /// before waiting for an answer, and close before the end, for what a `static` owns is never dropped. Other
    /// `println!`s go past this buffer.
    ///
    /// ```
    /// use manyfiles::writer::FileWriter;
    /// use std::io::Write;
    ///
    /// let mut out = FileWriter::from_writer(std::io::stdout());
    /// for n in 0..1000 {
    ///     writeln!(out, "{n}")?;
    /// }
    /// out.close()?; // a closed pipe, a full disk behind `>`: an error, not a panic
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_writer(writer: impl Write + Send + 'static) -> FileWriter {
        FileWriter::options().from_writer(writer).expect("default options ask for no sync")
    }

    pub(crate) fn new(
        target: Target,
        start: u64,
        capacity: usize,
        second_thread: bool,
        policy: SyncPolicy,
        closer: Option<Arc<Closer>>,
    ) -> FileWriter {
        let mut writer = FileWriter {
            elsewhere: None,
            has_places: target.has_places(),
            keeps_records_whole: target.keeps_records_whole(),
            can_sync: target.can_sync(),
            path: target.path().cloned(),
            core: Core::new(target, start, capacity),
            capacity,
            second_thread,
            policy,
            last_sync: Instant::now(),
            given_at_sync: 0,
            reader: None,
            closer,
        };
        writer.open_buffer();
        writer
    }

    /// Takes all of `bytes`, which are then *buffered*; when the buffer is full, or `bytes` is as long as the buffer,
    /// it is written. A short record is copied in place, without a call.
    #[inline]
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        if self.core.push(bytes) { Ok(()) } else { self.write_slowly(bytes) }
    }

    /// Hands everything to the operating system: it is *written* then, other programs can read it, and a crash of this
    /// process does not take it. A crash of the machine may.
    pub fn flush(&mut self) -> Result<()> {
        self.attempt(|writer| writer.core.write_out())
    }

    /// [`flush`](FileWriter::flush)es and makes it *durable*: a crash of the machine does not take it, as far as
    /// [`sync_data`](crate::sync::sync_data) can promise that on this system. If the writer may have made the file, its
    /// name is made durable as well, the first time.
    ///
    /// # Errors
    /// `Unsupported` in a writer [over something that is no file](FileWriter::from_writer), and nothing happens.
    pub fn sync(&mut self) -> Result<()> {
        if !self.can_sync {
            return Err(Error::without_path(Operation::Sync, super::not_a_file()));
        }
        self.attempt(|writer| {
            writer.core.sync()?;
            writer.note_sync();
            Ok(())
        })
    }

    /// How many bytes are *buffered*: taken, and not yet with the operating system. A crash of the process takes them.
    pub fn buffered(&self) -> u64 {
        self.core.buffered()
    }

    /// How many bytes are *written*: with the operating system, as far as is known. A crash of the machine may take
    /// them, those excepted that are [`durable`](FileWriter::durable).
    pub fn written(&self) -> u64 {
        self.core.so_far().bytes
    }

    /// How many of the written bytes, in the order of their writing, are *durable*.
    pub fn durable(&self) -> u64 {
        self.core.so_far().durable
    }

    /// Why the writer has *failed*, if it has: every call returns this.
    pub fn failure(&self) -> Option<&Error> {
        self.core.failure()
    }

    /// Takes a record if that needs no thought. (For the async twin.)
    #[cfg(feature = "tokio")]
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.core.push(bytes)
    }

    /// The closer that was chosen for it.
    #[cfg(feature = "tokio")]
    pub(super) fn own_closer(&self) -> Option<&Arc<Closer>> {
        self.closer.as_ref()
    }

    #[cfg(feature = "tokio")]
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    #[cfg(feature = "tokio")]
    pub(super) fn path(&self) -> Option<&Arc<Path>> {
        self.path.as_ref()
    }

    /// Does something that may fail, for a caller that cannot be told. The next call returns the error.
    #[cfg(feature = "tokio")]
    pub(super) fn unheard<T>(&mut self, work: impl FnOnce(&mut FileWriter) -> T) -> T {
        let had_told = self.core.has_told_failure();
        let result = work(self);
        if !had_told {
            self.core.take_back_told();
        }
        result
    }

    /// The failure, for a caller that is told now.
    #[cfg(feature = "tokio")]
    pub(super) fn tell_failure(&mut self) -> Result<()> {
        if self.failure().is_some() { self.attempt(|_| Ok(())) } else { Ok(()) }
    }

    fn so_far(&self) -> Written {
        self.core.so_far()
    }

    fn behind_buffer(&self) -> u64 {
        self.core.behind_buffer()
    }

    /// Everything that is not a short record with room for it.
    #[cold]
    #[inline(never)]
    fn write_slowly(&mut self, bytes: &[u8]) -> Result<()> {
        self.attempt(|writer| writer.take(bytes))
    }

    /// Does something that may fail, unless the writer has failed already.
    fn attempt(&mut self, work: impl FnOnce(&mut FileWriter) -> Result<()>) -> Result<()> {
        self.core.begin()?;
        let result = work(self);
        let result = self.core.end(result);
        self.open_buffer();
        result
    }

    /// An error of the call, not of the file.
    fn check<T>(&self, operation: Operation, result: io::Result<T>) -> Result<T> {
        result.map_err(|cause| super::error(operation, self.path.as_deref(), cause))
    }
}

impl fmt::Debug for FileWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWriter")
            .field("position", &self.position())
            .field("buffered", &self.buffered())
            .field("written", &self.written())
            .field("durable", &self.durable())
            .field("failure", &self.failure())
            .finish_non_exhaustive()
    }
}
