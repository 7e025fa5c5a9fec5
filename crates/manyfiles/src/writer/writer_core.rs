//! [`Core`]: what every writer here is made of.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::Written;
use super::buffer::Buffer;
use super::second::Reached;
use super::sink::Sink;
use super::target::Target;
use crate::{Error, Operation, Result};

/// A buffer, the place in the file where it begins, what is known of its bytes, and the one failure that ends it.
///
/// [`FileWriter`](super::FileWriter) adds a cursor and a policy to it, a kept handle of a [`Vfs`](crate::vfs::Vfs) its
/// names and its share of the memory. Calls that may fail stand between [`begin`](Core::begin) and [`end`](Core::end):
/// then an error stays, and a panic of foreign code in between is noticed by the next call.
pub(crate) struct Core {
    /// Taken and not handed to the sink. Closed unless a record can go into it without another thought.
    pub(super) buffer: Buffer,
    /// Where in the file the buffer begins; counted from where the writer began, in what has no offsets.
    pub(super) start: u64,
    pub(super) sink: Sink,
    /// Bytes handed to the sink.
    pub(super) given: u64,
    pub(super) reached: Reached,
    path: Option<Arc<Path>>,
    failure: Option<Failure>,
    /// Set while foreign code runs. If that code panics, the number of bytes written is not known, and they are not
    /// written again.
    interrupted: bool,
}

struct Failure {
    error: Error,
    /// Whether a caller has been told.
    told: bool,
}

impl Core {
    pub(crate) fn new(target: Target, start: u64, capacity: usize) -> Core {
        Core {
            buffer: Buffer::new(capacity),
            start,
            path: target.path().cloned(),
            sink: Sink::Here(target),
            given: 0,
            reached: Reached::default(),
            failure: None,
            interrupted: false,
        }
    }

    /// Takes a record if that needs no thought.
    #[inline(always)]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        self.buffer.push(bytes)
    }

    /// Has to come before anything that may fail, with [`end`](Core::end) behind it.
    ///
    /// # Errors
    /// the one that the writer failed with, and from now on every call.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if self.interrupted {
            self.interrupted = false;
            let cause = io::Error::other("a call before this one panicked, and what it wrote is not known");
            let error = super::error(Operation::Write, self.path.as_deref(), cause);
            self.failure.get_or_insert(Failure { error, told: false });
        }
        self.buffer.close();
        if let Some(failure) = &mut self.failure {
            failure.told = true;
            return Err(failure.error.clone());
        }
        self.interrupted = true;
        Ok(())
    }

    /// Ends what [`begin`](Core::begin) began. An error stays.
    pub(crate) fn end<T>(&mut self, result: Result<T>) -> Result<T> {
        self.interrupted = false;
        if let Err(error) = &result {
            self.failure = Some(Failure { error: error.clone(), told: true });
        }
        result
    }

    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref().map(|failure| &failure.error)
    }

    /// Whether a call has failed, and its caller knows.
    pub(super) fn has_told_failure(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.told)
    }

    /// The future that carried the last call's result was dropped.
    #[cfg(feature = "tokio")]
    pub(super) fn take_back_told(&mut self) {
        if let Some(failure) = &mut self.failure {
            failure.told = false;
        }
    }

    /// Where the byte behind the buffer goes.
    pub(super) fn behind_buffer(&self) -> u64 {
        self.start + self.buffer.len() as u64
    }

    /// How many bytes are taken, and not with the operating system.
    pub(crate) fn buffered(&self) -> u64 {
        (self.given + self.buffer.len() as u64).saturating_sub(self.reached.written)
    }

    pub(crate) fn so_far(&self) -> Written {
        Written { bytes: self.reached.written, durable: self.reached.durable }
    }

    // Between `begin` and `end`.

    /// Writes past the buffer, which is empty. False if these bytes have to go through a buffer.
    pub(crate) fn write_through(&mut self, bytes: &[u8]) -> Result<bool> {
        debug_assert!(self.buffer.len() == 0);
        let Some(result) = self.sink.write_through(bytes, self.start, &mut self.reached) else { return Ok(false) };
        self.given += bytes.len() as u64;
        self.start += bytes.len() as u64;
        result.map(|()| true)
    }

    /// Hands the buffer to the sink.
    pub(crate) fn write_block(&mut self) -> Result<()> {
        let len = self.buffer.len() as u64;
        if len > 0 {
            self.sink.write_block(&mut self.buffer, self.start, &mut self.reached)?;
            self.given += len;
            self.start += len;
        }
        Ok(())
    }

    /// Everything is with the operating system when this returns.
    pub(crate) fn write_out(&mut self) -> Result<()> {
        self.write_block()?;
        self.sink.flush(&mut self.reached)
    }

    /// Makes durable what was handed to the sink. On a second thread that is done some time after this returns.
    pub(super) fn start_sync(&mut self) -> Result<()> {
        self.sink.start_sync(&mut self.reached, self.given)
    }

    /// Everything is durable when this returns.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.write_out()?;
        self.start_sync()?;
        self.sink.finish_pending(&mut self.reached)
    }

    /// Does something with the target itself, when nothing is on its way to it.
    pub(super) fn with_target<T>(&mut self, work: impl FnOnce(&mut Target) -> Result<T>) -> Result<Option<T>> {
        // A second thread has the target: it ends, and starts again when the next buffer is full.
        let Some(mut target) = self.sink.take() else { return Ok(None) };
        let result = work(&mut target);
        self.sink = Sink::Here(target);
        result.map(Some)
    }

    /// Whether the thread that writes is another process's: this one was forked from it.
    pub(super) fn is_a_copy(&self) -> bool {
        matches!(&self.sink, Sink::Second(second) if second.is_a_copy())
    }

    /// Whether it has been closed, or taken.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.sink, Sink::Gone)
    }

    /// What is written to, when the writer needs it no more.
    pub(crate) fn take_target(&mut self) -> Option<Target> {
        self.sink.take()
    }

    // A kept handle's buffer, which grows.

    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.len() == 0
    }

    /// How many names the file has now. `None`: that cannot be told.
    pub(crate) fn names(&self) -> Option<u64> {
        match &self.sink {
            Sink::Here(target) => target.names(),
            _ => None,
        }
    }

    pub(crate) fn path(&self) -> Option<&Arc<Path>> {
        self.path.as_ref()
    }

    /// What is buffered, to be written elsewhere.
    pub(crate) fn take_buffered(&mut self) -> Vec<u8> {
        let bytes = self.buffer.as_slice().to_vec();
        self.buffer.clear();
        bytes
    }

    /// Gives the empty buffer other memory.
    pub(crate) fn resize(&mut self, capacity: usize) {
        debug_assert!(self.is_empty());
        self.buffer = Buffer::new(capacity);
    }

    /// Takes bytes for which there is room.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        self.buffer.fill(bytes);
    }

    /// From now on records go in as long as no more than this many bytes are buffered.
    pub(crate) fn open_to(&mut self, len: usize) {
        self.buffer.open_to(len);
    }

    pub(crate) fn close_buffer(&mut self) {
        self.buffer.close();
    }
}
