//! Files that callers write piece by piece on their own threads, because their length is not known or too much for
//! memory.
//!
//! A stream never waits for another entry. Where its name is free it holds the name and is written under it. Where the
//! name is in use (by an entry that waits, or by another stream, perhaps of the same thread) it is written beside and
//! gets the name when it is closed. So the place of a stream in the order of entries is its close, or the moment its
//! file was opened.
//!
//! Open files are handles, and a process may have few. When handles run out, streams that are not being written just
//! now are *parked*: closed, and opened again for the next piece ([`open`]). How a stream ends is [`end`].

mod end;
mod open;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::lane::Lane;
use super::lock::lock;
use super::shared::Shared;
use crate::tree::Metadata;
use crate::{Error, Operation, Result};
use open::Open;

/// Streams that are not closed: those left at the end are failures of the report.
#[derive(Default)]
pub(super) struct Streams {
    all: Mutex<HashMap<u64, Arc<Stream>>>,
    count: AtomicU64,
    /// Counts uses: the stream with the lowest number was used longest ago.
    clock: AtomicU64,
    lanes: Mutex<Vec<Lane>>,
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Streams").field(&lock(&self.all).len()).finish()
    }
}

/// One file in a caller's hand.
pub(in crate::tree) struct Stream {
    number: u64,
    folder: OsString,
    name: OsString,
    metadata: Metadata,
    used: AtomicU64,
    state: Mutex<State>,
}

enum State {
    /// Nothing of it is on the disk.
    Begun,
    Open(Box<Open>),
    /// Closed, skipped or given up, by the caller or by the end of the tree.
    Ended,
}

impl Stream {
    pub(in crate::tree) fn path(&self) -> PathBuf {
        Path::new(&self.folder).join(&self.name)
    }

    fn error(&self, operation: Operation, cause: io::Error) -> Error {
        Error::new(operation, self.path(), cause)
    }

    /// The error of a call on a stream that the end of the tree has ended.
    fn ended(&self) -> Error {
        self.error(Operation::Write, io::Error::other("the tree was finished before this file was closed"))
    }
}

impl Streams {
    fn lane(&self, shared: &Arc<Shared>) -> Lane {
        let mut lane = lock(&self.lanes).pop().unwrap_or_else(|| Lane::new(shared.clone()));
        // The whole content of a stream is not known before.
        lane.in_place = false;
        lane
    }

    /// Folders' handles are not kept: as many callers as there are would keep as many times those of a thread.
    fn give(&self, mut lane: Lane) {
        lane.flush_counts();
        lane.forget_folders();
        lock(&self.lanes).push(lane);
    }

    pub(super) fn let_go(&self) {
        lock(&self.lanes).clear();
    }

    /// Of the streams that no call is at work on, closes the file of the one that was used longest ago. False if there
    /// is none.
    pub(super) fn park_one(&self) -> bool {
        let mut all: Vec<_> = lock(&self.all).values().cloned().collect();
        all.sort_by_key(|stream| stream.used.load(Relaxed));
        all.iter().any(|stream| {
            let Ok(mut state) = stream.state.try_lock() else { return false };
            let State::Open(open) = &mut *state else { return false };
            match open.park() {
                Ok(parked) => parked,
                Err(cause) => {
                    // The error of this close belongs to that stream: its next call returns it.
                    open.failed = Some(stream.error(Operation::Close, cause));
                    true
                }
            }
        })
    }

    fn forget(&self, stream: &Stream) {
        lock(&self.all).remove(&stream.number);
    }
}

impl Shared {
    pub(in crate::tree) fn begin_stream(
        &self,
        folder: &OsStr,
        name: &OsStr,
        metadata: Metadata,
    ) -> Result<Arc<Stream>> {
        if self.is_cancelled() {
            return Err(self.cancelled(&Path::new(folder).join(name)));
        }
        let number = self.streams.count.fetch_add(1, Relaxed);
        let stream = Arc::new(Stream {
            number,
            folder: folder.into(),
            name: name.into(),
            metadata,
            used: AtomicU64::new(0),
            state: Mutex::new(State::Begun),
        });
        lock(&self.streams.all).insert(number, stream.clone());
        Ok(stream)
    }

    /// Writes `bytes` after leaving `gap` bytes out; the file is opened if it isn't yet. `Ok(false)` if it is skipped,
    /// because its name is taken. An error has been reported, and ends the stream.
    pub(in crate::tree) fn write_stream(self: &Arc<Shared>, stream: &Stream, gap: u64, bytes: &[u8]) -> Result<bool> {
        let mut state = lock(&stream.state);
        stream.used.store(self.streams.clock.fetch_add(1, Relaxed) + 1, Relaxed);
        if let State::Begun = *state {
            match self.open_stream(stream) {
                Ok(Some(open)) => *state = State::Open(Box::new(open)),
                other => {
                    *state = State::Ended;
                    self.streams.forget(stream);
                    return other.map(|_| false);
                }
            }
        }
        let State::Open(open) = &mut *state else { return Err(stream.ended()) };
        match self.write_piece(stream, open, gap, bytes) {
            Ok(()) => Ok(true),
            Err(error) => {
                self.end_unfinished(stream, &mut state, error.clone());
                Err(error)
            }
        }
    }
}
