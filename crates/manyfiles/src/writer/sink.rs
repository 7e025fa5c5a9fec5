//! The thread that makes the system calls: the caller's, or a second one.

use super::buffer::Buffer;
use super::second::{Reached, Second};
use super::target::Target;
use crate::Result;

pub(super) enum Sink {
    Here(Target),
    Second(Second),
    /// Closed, or handed over.
    Gone,
}

impl Sink {
    /// Writes the block and leaves an empty one, perhaps another.
    pub(super) fn write_block(&mut self, block: &mut Buffer, offset: u64, reached: &mut Reached) -> Result<()> {
        match self {
            Sink::Here(target) => {
                target.write_all(block.as_slice(), offset, &mut reached.written)?;
                block.clear();
                Ok(())
            }
            Sink::Second(second) => second.write(block, offset, reached),
            Sink::Gone => Ok(()),
        }
    }

    /// Writes what never was in a buffer. False if that cannot be, because another thread is writing.
    pub(super) fn write_through(&mut self, bytes: &[u8], offset: u64, reached: &mut Reached) -> Option<Result<()>> {
        match self {
            Sink::Here(target) => Some(target.write_all(bytes, offset, &mut reached.written)),
            _ => None,
        }
    }

    /// Everything that was given is with the system when this returns.
    pub(super) fn flush(&mut self, reached: &mut Reached) -> Result<()> {
        match self {
            Sink::Here(target) => target.flush(),
            Sink::Second(second) => second.flush(reached),
            Sink::Gone => Ok(()),
        }
    }

    /// Everything that was given is durable when this returns; or, on a second thread, some time after it.
    pub(super) fn start_sync(&mut self, reached: &mut Reached, given: u64) -> Result<()> {
        match self {
            Sink::Here(target) => {
                target.sync()?;
                reached.durable = reached.written;
                Ok(())
            }
            Sink::Second(second) => second.start_sync(given),
            Sink::Gone => Ok(()),
        }
    }

    /// Waits for what was started.
    pub(super) fn finish_pending(&mut self, reached: &mut Reached) -> Result<()> {
        match self {
            Sink::Second(second) => second.finish_pending(reached),
            _ => Ok(()),
        }
    }

    /// From now on a second thread writes, if one can be started.
    pub(super) fn move_to_second_thread(&mut self, capacity: usize) {
        *self = match std::mem::replace(self, Sink::Gone) {
            Sink::Here(target) => match Second::start(target, capacity) {
                Ok(second) => Sink::Second(second),
                Err(target) => Sink::Here(target),
            },
            other => other,
        };
    }

    /// The target itself, when all is done. `None` if it is gone already.
    pub(super) fn take(&mut self) -> Option<Target> {
        match std::mem::replace(self, Sink::Gone) {
            Sink::Here(target) => Some(target),
            Sink::Second(second) => second.end(),
            Sink::Gone => None,
        }
    }
}
