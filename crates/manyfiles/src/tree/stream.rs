//! A file whose length is not known beforehand.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use super::engine::{BUFFER, FileInHand, Work};
use super::{Content, Metadata, TreeWriter};
use crate::{Error, Operation, Result};

/// A file being written piece by piece, on the caller's thread. Up to 256 KiB it is kept in memory and then handed over like
/// any other; beyond that it is written as it comes.
///
/// [`close`](TreeFile::close) makes it count. Dropped before that, it is removed again and reported as a failure. A file that
/// it was to overwrite stays as it was until the close.
pub struct TreeFile<'a> {
    tree: &'a TreeWriter,
    folder: OsString,
    name: OsString,
    metadata: Metadata,
    buffer: Vec<u8>,
    /// Where the next byte goes, the buffer included.
    position: u64,
    /// Bytes before the buffer that were skipped.
    gap: u64,
    state: State<'a>,
}

enum State<'a> {
    /// All there is, is in the buffer.
    Buffered,
    /// The file is open.
    Open(Box<FileInHand<'a>>),
    /// It failed, or was skipped because its name is taken: what comes is ignored, and the result is known.
    Settled(Result<()>),
}

impl<'a> TreeFile<'a> {
    pub(super) fn new(tree: &'a TreeWriter, folder: OsString, name: OsString, metadata: Metadata) -> TreeFile<'a> {
        let state = State::Buffered;
        TreeFile { tree, folder, name, metadata, buffer: Vec::new(), position: 0, gap: 0, state }
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(&self.folder).join(&self.name)
    }

    /// Leaves `len` bytes out: they read as zero and take no space where the file system has holes.
    pub fn skip(&mut self, len: u64) -> io::Result<()> {
        if len > 0 {
            self.spill()?;
            self.gap = self.gap.saturating_add(len);
            self.position = self.position.saturating_add(len);
        }
        Ok(())
    }

    /// Writes out what is buffered; the file is opened if it isn't yet.
    fn spill(&mut self) -> io::Result<()> {
        if let State::Buffered = self.state {
            let opened = FileInHand::open(self.tree, &self.folder, &self.name, self.metadata);
            self.state = match opened {
                Ok(Some(file)) => State::Open(Box::new(file)),
                Ok(None) => State::Settled(Ok(())),
                Err(error) => State::Settled(Err(error)),
            };
        }
        if let State::Open(file) = &mut self.state {
            let written = file.write(self.gap, &self.buffer);
            if let Err(error) = written {
                let State::Open(file) = std::mem::replace(&mut self.state, State::Settled(Ok(()))) else {
                    unreachable!()
                };
                self.state = State::Settled(Err(file.give_up(error)));
            } else if !self.buffer.is_empty() {
                self.gap = 0;
            }
        }
        self.buffer.clear();
        match &self.state {
            State::Settled(Err(error)) => Err(error.clone().into()),
            _ => Ok(()),
        }
    }

    /// Says that this is all.
    ///
    /// # Errors
    /// What went wrong with this file, if it is known by now; it is in the report too. A file that was small enough to be
    /// handed over is not known by now.
    pub fn close(mut self) -> Result<()> {
        if let State::Buffered = self.state {
            self.state = State::Settled(Ok(()));
            let work = Work::File { content: Content::from(std::mem::take(&mut self.buffer)), metadata: self.metadata };
            return self.tree.submit(&self.folder, &self.name, work);
        }
        // An error of this is in the state.
        drop(self.spill());
        match std::mem::replace(&mut self.state, State::Settled(Ok(()))) {
            State::Open(file) => file.close(self.position),
            State::Settled(result) => result,
            State::Buffered => unreachable!("it was not buffered a moment ago"),
        }
    }

    /// Gives the file up: what was written of it is removed, and it counts as a failure for this reason.
    pub fn abandon(mut self, why: io::Error) {
        self.settle_with(why);
    }

    fn settle_with(&mut self, why: io::Error) {
        match std::mem::replace(&mut self.state, State::Settled(Ok(()))) {
            State::Open(file) => {
                let error = Error::new(Operation::Read, self.path(), why);
                file.give_up(error);
            }
            State::Buffered => self.tree.fail(Error::new(Operation::Read, self.path(), why)),
            State::Settled(_) => {}
        }
    }
}

impl Write for TreeFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() <= BUFFER {
            self.buffer.extend_from_slice(bytes);
        } else {
            self.spill()?;
            self.buffer.extend_from_slice(&bytes[..bytes.len().min(BUFFER)]);
            let taken = bytes.len().min(BUFFER);
            self.position = self.position.saturating_add(taken as u64);
            return Ok(taken);
        }
        self.position = self.position.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    /// Does nothing: what is buffered is with the operating system when [`close`](TreeFile::close) has returned.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for TreeFile<'_> {
    fn drop(&mut self) {
        self.settle_with(io::Error::other("dropped before it was closed"));
    }
}

impl fmt::Debug for TreeFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeFile").field("path", &self.path()).field("position", &self.position).finish_non_exhaustive()
    }
}
