//! [`Receipt`]: how far a record has come.

use std::fmt;
use std::sync::Arc;

use crate::appender::commit::group::Group;
use crate::appender::position::Position;
use crate::{Operation, Result};

/// Stands for one appended record, and for all before it: records become written and durable in their order.
///
/// It may be kept, sent to another thread, cloned or dropped. Dropping it changes nothing: the record goes its way.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("events");
/// use manyfiles::appender::{Appender, State};
///
/// let appender = Appender::open(&path)?;
/// let receipt = appender.append(b"one line\n")?;
/// assert_eq!(receipt.state(), State::Buffered);
/// receipt.wait_written()?; // other programs can read it, and it outlives this one
/// assert_eq!(receipt.state(), State::Written);
/// receipt.wait_durable()?; // it outlives a power cut
/// assert_eq!(receipt.state(), State::Durable);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Receipt {
    pub(super) group: Arc<Group>,
    pub(super) record: u64,
    pub(super) position: Option<Position>,
}

/// How far a record has come. [What each one means](super) after a crash is in the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum State {
    /// In this process's memory. It is written when a thread or a task waits, when a buffer is full, or when the
    /// appender is flushed, synced or closed; by itself only with [`flush_every`](super::Options::flush_every).
    Buffered,
    /// With the operating system.
    Written,
    /// On the disk.
    Durable,
    /// Something failed before the record was durable, and it never will be. Whether it is in the file, only reading
    /// tells; [`wait_written`](Receipt::wait_written) succeeds if the record is known to be with the operating system.
    Failed,
}

impl Receipt {
    /// Returns when the record is with the operating system: other programs see it, and it stays when this process
    /// crashes.
    ///
    /// Writes the record, if it is not written yet, together with all that is buffered. Does not wait for a sync,
    /// unless a new file is begun.
    ///
    /// Fails if it could not be written, or if a sync has failed since that did not cover it before.
    pub fn wait_written(&self) -> Result<()> {
        self.group.check_call(Operation::Write)?;
        self.group.wait_written(self.record)
    }

    /// Returns when the record is durable: a sync that began after it was written has succeeded.
    ///
    /// If no sync is running, this call syncs, for all records up to then. If one is running, this waits for that sync
    /// and, if it began too early, for the next.
    ///
    /// Fails if the record could not be written or synced, or if anything failed before it was. Every receipt then
    /// fails so, every time; see [`State::Failed`].
    pub fn wait_durable(&self) -> Result<()> {
        self.group.check_call(Operation::Sync)?;
        self.group.wait_durable(self.record)
    }

    /// Where the record begins in the log: [`Records::open_at`](super::Records::open_at) reads from there. `None`
    /// without [framing](super::Options::framed).
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// How far the record has come, without waiting. In a forked child, whose copy of the appender can do nothing,
    /// [`Failed`](State::Failed).
    pub fn state(&self) -> State {
        if self.group.check_call(Operation::Write).is_err() {
            return State::Failed;
        }
        let state = self.group.lock();
        match () {
            () if state.progress.is_durable(self.record) => State::Durable,
            // Nothing becomes durable any more, whether it was written or not.
            () if state.progress.has_failed() => State::Failed,
            () if state.progress.is_written(self.record) => State::Written,
            () => State::Buffered,
        }
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt").field("record", &self.record).field("state", &self.state()).finish_non_exhaustive()
    }
}
