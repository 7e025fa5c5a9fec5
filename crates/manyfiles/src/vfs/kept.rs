//! A handle that is kept between calls, and what is buffered for it.

use std::io;
use std::sync::Arc;

use super::Output;
use super::buffer::{Budget, Buffer};
use super::gate::Permit;
use crate::Operation;

/// How long, in milliseconds, bytes are gathered before a write looks whether the path still leads to the same file, and how
/// old what is buffered gets while more is written. A look costs 0.4 µs on a local file system, a write of 512 B into the buffer
/// 0.1: so rarely it does not count, and on a network it may well take a millisecond.
pub(super) const INTERVAL: u64 = 10;

/// What failed, and how.
pub(super) type Fault = (Operation, io::Error);

/// One open handle. Its file and its permit go with it; it can be neither copied nor used after it is closed.
pub(super) struct Kept {
    /// Away only while another takes its place.
    output: Option<Box<dyn Output>>,
    buffer: Buffer,
    permit: Permit,
    /// Bytes that were handed to the output.
    written: u64,
    /// When the next write has to look where the path leads.
    look_at: u64,
}

/// Opens the file that has the path now.
pub(super) type Open<'a> = &'a dyn Fn() -> Result<Box<dyn Output>, Fault>;

impl Kept {
    pub(super) fn new(output: Box<dyn Output>, permit: Permit, budget: &Arc<Budget>) -> Kept {
        Kept { output: Some(output), buffer: Buffer::new(budget), permit, written: 0, look_at: 0 }
    }

    /// Takes bytes that need nothing but a place in the buffer.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8], now: u64) -> bool {
        !self.buffer.is_empty() && now < self.look_at && self.buffer.push(bytes)
    }

    pub(super) fn write(&mut self, bytes: &[u8], now: u64, open: Open<'_>) -> Result<(), Fault> {
        if self.push(bytes, now) {
            return Ok(());
        }
        self.follow_path(open)?;
        self.write_buffer()?;
        self.look_at = now + INTERVAL;
        self.buffer.grow(self.written);
        if self.buffer.is_small_for(bytes.len()) || !self.buffer.push(bytes) { self.hand_over(bytes) } else { Ok(()) }
    }

    /// Bytes that go to the output in one piece, and at once.
    pub(super) fn append(&mut self, bytes: &[u8], open: Open<'_>) -> Result<(), Fault> {
        self.follow_path(open)?;
        self.write_buffer()?;
        self.hand_over(bytes)
    }

    /// Hands over what is buffered: to the file that has the path now.
    pub(super) fn write_out(&mut self, open: Open<'_>) -> Result<(), Fault> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.follow_path(open)?;
        self.write_buffer()
    }

    /// Whether it has taken bytes that are not in the file.
    pub(super) fn owes(&self) -> bool {
        !self.buffer.is_empty()
    }

    pub(super) fn sync(&mut self, open: Open<'_>) -> Result<(), Fault> {
        self.write_out(open)?;
        self.output().sync().map_err(|cause| (Operation::Sync, cause))
    }

    /// Writes out and closes. The permit comes back even if that fails.
    pub(super) fn close(mut self, open: Open<'_>) -> (Permit, Result<(), Fault>) {
        let written = self.write_out(open);
        let closed = self.output.take().map_or(Ok(()), |output| output.close());
        (self.permit, written.and(closed.map_err(|cause| (Operation::Close, cause))))
    }

    fn output(&mut self) -> &mut dyn Output {
        self.output.as_deref_mut().expect("a failure to replace it ended this handle")
    }

    /// If the path leads to another file now, or to none, opens that. The old one is closed first: there is one permit.
    fn follow_path(&mut self, open: Open<'_>) -> Result<(), Fault> {
        if self.output().is_current() {
            return Ok(());
        }
        let closed = self.output.take().map_or(Ok(()), |output| output.close());
        closed.map_err(|cause| (Operation::Close, cause))?;
        self.output = Some(open()?);
        Ok(())
    }

    fn write_buffer(&mut self) -> Result<(), Fault> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let output = self.output.as_deref_mut().expect("a failure to replace it ended this handle");
        output.write(self.buffer.as_slice()).map_err(|cause| (Operation::Write, cause))?;
        self.written += self.buffer.as_slice().len() as u64;
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
