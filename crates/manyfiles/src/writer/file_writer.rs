//! [`FileWriter`].

use std::fmt;
use std::fs::File;
use std::io::{self, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::target::Target;
use super::writer_core::Core;
use super::{Options, SyncPolicy, Written};
use crate::close::{self, Closer};
use crate::{Error, Operation, Result, sys};

mod blocks;
mod traits;

/// One file, opened once, to be written in pieces of any size. See the [module](super) for what it promises.
///
/// Every call that fails for the file's sake makes the writer *failed*, and all that follow return the same error again. What
/// is wrong with the call itself ([`Unsupported`](io::ErrorKind::Unsupported), [`InvalidInput`](io::ErrorKind::InvalidInput))
/// changes nothing.
///
/// Dropped without [`close`](FileWriter::close), it does what `close` does as far as that goes, syncs included. Then it hands the
/// file to a [`Closer`], where all errors that nobody has been told are kept: [`close::wait`] tells them.
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

    /// [`Options::file`] with default options.
    pub fn file(file: File, path: impl AsRef<Path>) -> Result<FileWriter> {
        FileWriter::options().file(file, path)
    }

    /// The same buffer over anything that takes bytes: standard output, a socket, a compressor. [`flush`](FileWriter::flush)
    /// and [`close`](FileWriter::close) flush `writer` too. There is no seeking, no `write_at` and no sync, and what `writer`
    /// itself does when it is dropped cannot be told.
    ///
    /// Standard output by itself ([`Stdout`](io::Stdout)) keeps a line at most: each `println!` is a system call, into a pipe or
    /// a file as well, and locking it first changes nothing about that. A million short lines are a million calls, and 56 through
    /// this buffer: 0.04 s in place of 1.3. In turn nobody sees a line before `flush`: flush before waiting for an answer, and
    /// close before the end, for what a `static` owns is never dropped. Other `println!`s go past this buffer.
    ///
    /// ```
    /// use manyfiles::writer::FileWriter;
    /// use std::io::Write;
    ///
    /// let mut out = FileWriter::over(std::io::stdout());
    /// for n in 0..1000 {
    ///     writeln!(out, "{n}")?;
    /// }
    /// out.close()?; // a closed pipe, a full disk behind `>`: an error, not a panic
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over(writer: impl Write + Send + 'static) -> FileWriter {
        FileWriter::options().over(writer).expect("default options ask for no sync")
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

    /// Takes all of `bytes`, which are then *buffered*; when the buffer is full, or `bytes` is as long as the buffer, it is
    /// written. A short record is copied in place, without a call.
    #[inline]
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        if self.core.push(bytes) { Ok(()) } else { self.write_slowly(bytes) }
    }

    /// Takes all of `bytes`, for `offset`, and leaves the position of the next [`write_all`](FileWriter::write_all) as it is.
    ///
    /// Pieces that follow one another are gathered in the buffer like records, whichever call they came by; a piece elsewhere
    /// first sends the buffer on its way. A piece that lies in the buffer is replaced there.
    ///
    /// # Errors
    /// `Unsupported` in a file that is appended to, in a pipe, a terminal and the like; `InvalidInput` for an offset beyond
    /// what a file can have (2^63 - 1).
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        self.check_places(Operation::Write)?;
        self.check(Operation::Write, super::check_offset(offset))?;
        if bytes.is_empty() {
            return self.attempt(|_| Ok(()));
        }
        if let Some(buffered) = self.buffered_at(offset, bytes.len()) {
            buffered.copy_from_slice(bytes);
            return Ok(());
        }
        let position = self.position();
        self.attempt(|writer| {
            writer.elsewhere = Some(offset);
            let taken = writer.take(bytes);
            writer.elsewhere = (position != writer.behind_buffer()).then_some(position);
            taken
        })
    }

    /// Hands everything to the operating system: it is *written* then, other programs can read it, and a crash of this process
    /// does not take it. A crash of the machine may.
    pub fn flush(&mut self) -> Result<()> {
        self.attempt(|writer| writer.core.write_out())
    }

    /// [`flush`](FileWriter::flush)es and makes it *durable*: a crash of the machine does not take it, as far as
    /// [`sync_data`](crate::sync::sync_data) can promise that on this system. If the writer may have made the file, its name is
    /// made durable as well, the first time.
    ///
    /// # Errors
    /// `Unsupported` [over](FileWriter::over) something that is no file, and nothing happens.
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

    /// Writes what is buffered, syncs if the policy says so, and closes. When this returns `Ok` every byte is *written*, and
    /// nothing that the operating system could tell was left untold.
    pub fn close(mut self) -> Result<Written> {
        self.close_now()
    }

    /// What [`close`](FileWriter::close) does, and all that a drop has to do after it.
    pub(crate) fn close_now(&mut self) -> Result<Written> {
        let finished = self.finish();
        let Some(target) = self.core.take_target() else { return finished.map(|()| self.so_far()) };
        match finished {
            Ok(()) => {
                let closed = self.core.begin().and_then(|()| target.close());
                self.core.end(closed).map(|()| self.so_far())
            }
            Err(error) => {
                // What its close may say on top of that is kept like a dropped writer's.
                target.hand_to(self.closer());
                Err(error)
            }
        }
    }

    /// Closes unless that was done, and returns an error that nobody has been told.
    #[cfg(feature = "vfs")]
    pub(crate) fn close_untold(&mut self) -> Option<Error> {
        if self.core.is_gone() {
            return None;
        }
        let told = self.core.has_told_failure();
        self.close_now().err().filter(|_| !told)
    }

    /// The file, when all that was taken is *written*; synced, if the policy says so at the end. The handle's own position means
    /// nothing. Whoever has it closes it.
    ///
    /// # Errors
    /// of writing and syncing: the file is closed then. `Unsupported` [over](FileWriter::over) something that is no file, which
    /// is then dropped.
    pub fn into_file(mut self) -> Result<File> {
        self.finish()?;
        let file = self.core.take_target().and_then(Target::into_file);
        file.ok_or_else(|| super::error(Operation::Write, self.path.as_deref(), super::not_a_file()))
    }

    /// Cuts the file to this length, or lengthens it by a hole, and leaves the position of the next write as it is. What is
    /// buffered is written before.
    ///
    /// # Errors
    /// as [`write_at`](FileWriter::write_at).
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        self.check_places(Operation::Write)?;
        self.check(Operation::Write, super::check_offset(len))?;
        self.attempt(|writer| {
            writer.core.write_out()?;
            writer.core.with_target(|target| target.set_len(len)).map(drop)
        })
    }

    /// Reads back from `offset` on until `bytes` is full or the file ends, and says how much that was. What is buffered is written
    /// before. The position of the next write stays as it is.
    ///
    /// # Errors
    /// `Unsupported` as [`write_at`](FileWriter::write_at). A read that fails leaves the writer as it is; a failed write before
    /// it does not.
    pub fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        self.check_places(Operation::Read)?;
        self.check(Operation::Read, super::check_offset(offset))?;
        self.flush()?;
        if self.reader.is_none() {
            let mut opened = None;
            self.attempt(|writer| {
                opened = writer.core.with_target(|target| Ok(target.open_again()))?;
                Ok(())
            })?;
            self.reader = opened.transpose()?;
        }
        let Some(reader) = &self.reader else { return Ok(0) };
        let mut done = 0;
        while done < bytes.len() {
            match sys::read_at(reader, &mut bytes[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return self.check(Operation::Read, Err(cause)),
            }
        }
        Ok(done)
    }

    /// Moves to where the next write goes. Nothing is written by that, nor by moving back. Beyond the end it leaves a hole, if
    /// something is written there.
    ///
    /// # Errors
    /// `Unsupported` and `InvalidInput` as with [`write_at`](FileWriter::write_at). [`SeekFrom::End`] flushes first, and fails
    /// as that does.
    pub fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.check_places(Operation::Seek)?;
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.position().checked_add_signed(by),
            SeekFrom::End(by) => self.len()?.checked_add_signed(by),
        };
        let before_start = || io::Error::new(io::ErrorKind::InvalidInput, "a place before the file's beginning");
        let target = self.check(Operation::Seek, target.ok_or_else(before_start))?;
        self.check(Operation::Seek, super::check_offset(target))?;
        self.attempt(|writer| {
            writer.elsewhere = (target != writer.behind_buffer()).then_some(target);
            Ok(())
        })?;
        Ok(target)
    }

    /// Where the next write goes, from the file's beginning; counted from where this writer began, in what has no offsets.
    pub fn position(&self) -> u64 {
        self.elsewhere.unwrap_or(self.behind_buffer())
    }

    /// How many bytes are *buffered*: taken, and not yet with the operating system. A crash of the process takes them.
    pub fn buffered(&self) -> u64 {
        self.core.buffered()
    }

    /// How many bytes are *written*: with the operating system, as far as is known. A crash of the machine may take them,
    /// those excepted that are [`durable`](FileWriter::durable).
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

    /// Does what may fail, for a caller who does not hear of it: the next one does.
    #[cfg(feature = "tokio")]
    pub(super) fn unheard<T>(&mut self, work: impl FnOnce(&mut FileWriter) -> T) -> T {
        let had_told = self.core.has_told_failure();
        let result = work(self);
        if !had_told {
            self.core.take_back_told();
        }
        result
    }

    /// The failure, for somebody who hears of it now.
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

    fn len(&mut self) -> Result<u64> {
        self.flush()?;
        let mut len = None;
        self.attempt(|writer| {
            len = writer.core.with_target(|target| target.len())?;
            Ok(())
        })?;
        Ok(len.unwrap_or(0))
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

    /// All that comes before the close. What was reserved and is not needed is given back even if the writing failed.
    fn finish(&mut self) -> Result<()> {
        let written = self.attempt(|writer| writer.core.write_out());
        let given_back = self.core.with_target(Target::give_back).map(drop);
        written?;
        self.attempt(|writer| {
            given_back?;
            if writer.policy.syncs_at_the_end() {
                writer.core.start_sync()?;
                writer.note_sync();
            }
            Ok(())
        })
    }

    fn closer(&self) -> &Closer {
        self.closer.as_deref().unwrap_or_else(|| close::global())
    }

    fn check_places(&self, operation: Operation) -> Result<()> {
        let unsupported = || io::Error::new(io::ErrorKind::Unsupported, "bytes can only be added at the end here");
        self.check(operation, if self.has_places { Ok(()) } else { Err(unsupported()) })
    }

    /// An error of the call, not of the file.
    fn check<T>(&self, operation: Operation, result: io::Result<T>) -> Result<T> {
        result.map_err(|cause| super::error(operation, self.path.as_deref(), cause))
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if self.core.is_gone() {
            return;
        }
        let told = self.core.has_told_failure();
        if let Err(error) = self.finish()
            && !told
        {
            self.closer().keep(error);
        }
        if let Some(target) = self.core.take_target() {
            target.hand_to(self.closer());
        }
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
