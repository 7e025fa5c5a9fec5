//! A file that a caller writes on its own thread, because its length is not known or too much for memory.

use std::ffi::OsStr;
use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use super::counts::Stopwatch;
use super::fill::Unfilled;
use super::job::{FolderId, Job, Work, name_key};
use super::lane::{Lane, OpenFolder};
use super::lock;
use super::place::Opened;
use super::queue::Done;
use crate::sys;
use crate::tree::{Content, Metadata, TreeWriter};
use crate::{Error, Operation, Result};

/// An open file in the caller's hand. One of `close` and `give_up` ends it.
pub(in crate::tree) struct FileInHand<'a> {
    tree: &'a TreeWriter,
    lane: Lane,
    at: OpenFolder,
    opened: Opened,
    claim: Claim,
    watch: Stopwatch,
    position: u64,
    written: u64,
}

/// The name is this file's until it is given back.
struct Claim {
    folder: FolderId,
    name: u64,
}

impl<'a> FileInHand<'a> {
    /// `None` if the name is taken and the file is to be skipped. An error has been reported.
    pub(in crate::tree) fn open(
        tree: &'a TreeWriter,
        folder: &OsStr,
        name: &OsStr,
        metadata: Metadata,
    ) -> Result<Option<FileInHand<'a>>> {
        let shared = &tree.shared;
        let claim = shared.claim(folder, name)?;
        let folder = lock(&shared.state).queue.get(claim.folder).clone();
        let mut lane = tree.take_lane();
        lane.in_place = false;
        let mut watch = Stopwatch::start();
        let work = Work::File { content: Content::from_static(b""), metadata };
        let job = Job::new(name, work);
        let opened = lane
            .folder(&folder)
            .map_err(|cause| cause.of(Operation::Create, Lane::path_of(&folder, name)))
            .and_then(|at| Ok(lane.begin(&at, job)?.map(|opened| (at, opened))));
        lane.counts.times.open += watch.lap();
        match opened {
            Ok(Some((at, opened))) => {
                Ok(Some(FileInHand { tree, lane, at, opened, claim, watch, position: 0, written: 0 }))
            }
            other => {
                tree.give_lane(lane);
                shared.give_back(&claim);
                other.map(|_| None).inspect_err(|error| shared.fail(error.clone()))
            }
        }
    }

    /// Writes `bytes` after leaving `gap` bytes out.
    pub(in crate::tree) fn write(&mut self, gap: u64, bytes: &[u8]) -> Result<()> {
        if self.tree.shared.is_cancelled() {
            return Err(self.opened.error(&self.at, Operation::Write, io::Error::other(crate::error::Cancelled)));
        }
        self.watch.lap();
        let result = self.write_all(gap, bytes);
        self.lane.counts.times.write += self.watch.lap();
        result.map_err(|cause| self.opened.error(&self.at, Operation::Write, cause))
    }

    fn write_all(&mut self, gap: u64, mut bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let file = &self.opened.target.file;
        if gap > 0 {
            self.position = self.position.saturating_add(gap);
            sys::seek(file, self.position)?;
        }
        while !bytes.is_empty() {
            match sys::write(file, bytes)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => {
                    bytes = &bytes[written..];
                    self.position += written as u64;
                    self.written += written as u64;
                    self.tree.shared.wrote(written as u64);
                }
            }
        }
        Ok(())
    }

    /// The file ends at `len`: there may be a hole behind the last byte.
    pub(in crate::tree) fn close(self, len: u64) -> Result<()> {
        if len > self.position
            && let Err(cause) = sys::set_len(&self.opened.target.file, len)
        {
            let error = self.opened.error(&self.at, Operation::Write, cause);
            return Err(self.give_up(error));
        }
        let FileInHand { tree, mut lane, at, opened, claim, mut watch, written, .. } = self;
        watch.lap();
        let result = match lane.complete(&at, opened, &mut watch) {
            Ok(()) => {
                lane.counts.bytes += written;
                Ok(())
            }
            Err(Unfilled::Failed(error)) => Err(error),
            Err(Unfilled::Cancelled) => unreachable!("only writing can be cancelled"),
        };
        tree.give_lane(lane);
        tree.shared.give_back(&claim);
        result.inspect_err(|error| tree.shared.fail(error.clone()))
    }

    /// Removes the file and reports why.
    pub(in crate::tree) fn give_up(self, error: Error) -> Error {
        let FileInHand { tree, mut lane, at, opened, claim, .. } = self;
        lane.take_away(&at, opened, error.clone());
        tree.give_lane(lane);
        if tree.shared.is_cancelled() {
            tree.shared.totals.not_written.fetch_add(1, Relaxed);
        } else {
            tree.shared.fail(error.clone());
        }
        tree.shared.give_back(&claim);
        error
    }
}

impl super::Shared {
    /// Waits until no earlier entry of this name is unfinished, and takes the name.
    fn claim(self: &std::sync::Arc<Self>, folder: &OsStr, name: &OsStr) -> Result<Claim> {
        let key = name_key(name);
        let mut state = lock(&self.state);
        if self.is_cancelled() {
            return Err(self.cancelled(&std::path::Path::new(folder).join(name)));
        }
        let id = state.queue.folder(folder);
        while state.queue.is_unfinished(id, key) {
            state.waiting_for_names += 1;
            state.waiting_callers += 1;
            while self.tell(&mut state) {}
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting_callers -= 1;
            state.waiting_for_names -= 1;
        }
        state.queue.claim(id, key);
        self.totals.accepted.fetch_add(1, Relaxed);
        Ok(Claim { folder: id, name: key })
    }

    fn give_back(self: &std::sync::Arc<Self>, claim: &Claim) {
        let done = Done { names: vec![claim.name], jobs: 1, entries: 1, ..Done::noted() };
        self.done_aside(&mut lock(&self.state), claim.folder, &done);
    }
}
