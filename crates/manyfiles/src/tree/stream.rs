//! A file whose length is not known beforehand.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::engine::{BUFFER, Job, Shared, Stream, Work};
use super::{Content, Metadata};
use crate::origin::leave;
use crate::{Error, Operation, Result, Written};

/// A file being written piece by piece, on the caller's thread. Up to 256 KiB it is kept in memory and then handed over
/// like any other; beyond that it is written as it comes.
///
/// [`close`](TreeFile::close) makes it count: a file that a panic or an early return ends shall not look complete.
/// Dropped before `close`, it is removed again and is a failure of the report. A file that it was to overwrite stays as
/// it was until the close.
///
/// A `TreeFile` never waits for another entry or stream, whatever else this thread has open. If its name is in use when
/// its file has to be opened, the file is written under a temporary name and gets its name when it is closed; among
/// entries of one path its place in the order is that moment. A `TreeFile` belongs to no thread and borrows nothing.
/// One that is still open when the tree is [finished](super::TreeWriter::finish) is a failure of the report, and each
/// of its later calls returns an error.
pub struct TreeFile {
    shared: Arc<Shared>,
    stream: Arc<Stream>,
    metadata: Metadata,
    buffer: Vec<u8>,
    /// Where the next byte goes, the buffer included.
    position: u64,
    /// Bytes before the buffer that were skipped.
    gap: u64,
    state: State,
}

enum State {
    /// All bytes so far are in the buffer.
    Buffered,
    /// Some bytes were written to the file.
    Spilled,
    /// The file is skipped because its name is taken: further bytes are ignored.
    Skipped,
    /// The file failed, and every later call returns this error.
    Failed(Error),
    Ended,
}

impl TreeFile {
    pub(super) fn new(shared: Arc<Shared>, stream: Arc<Stream>, metadata: Metadata) -> TreeFile {
        TreeFile { shared, stream, metadata, buffer: Vec::new(), position: 0, gap: 0, state: State::Buffered }
    }

    /// The path below the root.
    pub fn path(&self) -> PathBuf {
        self.stream.path()
    }

    /// Leaves `len` bytes out: they read as zero and take no space where the file system has holes.
    ///
    /// # Errors
    /// As [`close`](TreeFile::close).
    pub fn skip(&mut self, len: u64) -> Result<()> {
        if len > 0 {
            self.spill()?;
            self.gap = self.gap.saturating_add(len);
            self.position = self.position.saturating_add(len);
        }
        Ok(())
    }

    /// Writes out what is buffered; the file is opened if it isn't yet.
    fn spill(&mut self) -> Result<()> {
        self.shared.check_call(Operation::Write, || self.path())?;
        match &self.state {
            State::Skipped => {
                self.buffer.clear();
                return Ok(());
            }
            State::Failed(error) => return Err(error.clone()),
            State::Buffered | State::Spilled | State::Ended => {}
        }
        let written = self.shared.write_stream(&self.stream, self.gap, &self.buffer);
        self.state = match &written {
            Ok(true) => State::Spilled,
            Ok(false) => State::Skipped,
            Err(error) => State::Failed(error.clone()),
        };
        if !self.buffer.is_empty() {
            self.gap = 0;
            self.buffer.clear();
        }
        written.map(|_| ())
    }

    /// Says that this is all. Returns how many bytes the file took, without those that were [left out](TreeFile::skip):
    /// they are with the operating system, or, of a file of up to 256 KiB, with the tree's threads. 0 for a file that
    /// was left as it was because its name is taken. [`durable`](Written::durable) is 0 whatever
    /// [`Durability`](super::Durability) was asked for: names are made durable by
    /// [`finish`](super::TreeWriter::finish).
    ///
    /// # Errors
    /// What went wrong with this file, if it is known by now; it is in the report too. What becomes of a file that was
    /// small enough to be handed over, or whose name was in use, is in the report alone.
    pub fn close(mut self) -> Result<Written> {
        self.shared.check_call(Operation::Write, || self.path())?;
        match &self.state {
            State::Skipped => return Ok(Written { bytes: 0, durable: 0 }),
            State::Spilled => self.spill()?,
            State::Failed(error) => return Err(error.clone()),
            State::Buffered | State::Ended => {}
        }
        self.state = State::Ended;
        let buffer = std::mem::take(&mut self.buffer);
        let bytes = self.shared.close_stream(&self.stream, self.position, |folder, name| {
            let bytes = buffer.len() as u64;
            let work = Work::File { content: Content::from(buffer), metadata: self.metadata.clone() };
            self.shared.submit(folder, Job::new(name, work)).map(|()| bytes)
        })?;
        Ok(Written { bytes, durable: 0 })
    }

    /// Gives the file up: what was written of it is removed, and it counts as a failure for this reason.
    pub fn abandon(mut self, why: io::Error) {
        self.give_up(Operation::Read, why);
    }

    fn give_up(&mut self, operation: Operation, why: io::Error) {
        let was = std::mem::replace(&mut self.state, State::Ended);
        if matches!(was, State::Buffered | State::Spilled) && !self.shared.is_a_child_s() {
            self.shared.give_up_stream(&self.stream, operation, why);
        }
    }
}

impl Write for TreeFile {
    /// # Errors
    /// After one that failed every later call returns the same error, and takes nothing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Bytes that still fit into the buffer would be taken else, and never written.
        if let State::Failed(error) = &self.state {
            return Err(error.clone().into());
        }
        self.shared.check_call(Operation::Write, || self.path())?;
        let taken = if self.buffer.len() + bytes.len() <= BUFFER && !self.shared.takes_no_more() {
            bytes.len()
        } else {
            self.spill()?;
            bytes.len().min(BUFFER)
        };
        self.buffer.extend_from_slice(&bytes[..taken]);
        self.position = self.position.saturating_add(taken as u64);
        Ok(taken)
    }

    /// Writes nothing: what is buffered is with the operating system when [`close`](TreeFile::close) has returned. An
    /// error says that the tree is cancelled or finished.
    fn flush(&mut self) -> io::Result<()> {
        if matches!(self.state, State::Failed(_)) || self.shared.takes_no_more() {
            self.spill()?;
        }
        Ok(())
    }
}

impl Drop for TreeFile {
    fn drop(&mut self) {
        if self.shared.is_a_child_s() {
            leave(&self.stream);
            return leave(&self.shared);
        }
        self.give_up(Operation::Write, io::Error::other("dropped before it was closed"));
    }
}

impl fmt::Debug for TreeFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeFile").field("path", &self.path()).field("position", &self.position).finish_non_exhaustive()
    }
}
