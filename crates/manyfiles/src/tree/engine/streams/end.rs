//! How a stream ends: complete, or given up.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::open::{File, Open};
use super::{State, Stream};
use crate::sys;
use crate::tree::Outcome;
use crate::tree::Shares;
use crate::tree::digest::RunningDigest;
use crate::tree::engine::fill::{Filled, Unfilled};
use crate::tree::engine::folders::Folder;
use crate::tree::engine::job::{Job, Unnamed, Work};
use crate::tree::engine::lane::Lane;
use crate::tree::engine::lock::lock;
use crate::tree::engine::name::Name;
use crate::tree::engine::placement::Opened;
use crate::tree::engine::queue::Done;
use crate::tree::engine::shared::Shared;
use crate::tree::engine::stopwatch::Stopwatch;
use crate::{Error, Operation, Result};

impl Shared {
    /// Ends a stream whose content is complete, `len` bytes with what is left out. Returns how many bytes of it were
    /// written or handed over. `hand_over` is called where nothing was written yet, with the folder and the name: it
    /// hands the content over as that of any other file.
    pub(in crate::tree) fn close_stream(
        self: &Arc<Shared>,
        stream: &Stream,
        len: u64,
        hand_over: impl FnOnce(&OsStr, &OsStr) -> Result<u64>,
    ) -> Result<u64> {
        let mut state = lock(&stream.state);
        match std::mem::replace(&mut *state, State::Ended) {
            State::Begun => {
                // Under the stream's lock: the end of the tree sees either the stream or its entry.
                let handed_over = hand_over(&stream.folder, &stream.name);
                self.streams.forget(stream);
                handed_over
            }
            State::Open(mut open) => {
                let mut lane = self.streams.lane(self);
                let ready = match open.failed.take() {
                    Some(error) => Err(error),
                    None => open.file(&mut lane).map(|_| ()),
                };
                let digested = ready.and_then(|()| extend(stream, &mut open, len)).and_then(|()| {
                    let digested = open.digest.take().map(RunningDigest::finish).transpose();
                    digested.map_err(|cause| stream.error(Operation::Read, cause))
                });
                let digest = match digested {
                    Ok(digest) => digest,
                    Err(error) => {
                        self.streams.give(lane);
                        *state = State::Open(open);
                        self.end_unfinished(stream, &mut state, error.clone());
                        return Err(error);
                    }
                };
                let result = self.complete_stream(stream, &mut lane, *open, digest);
                self.streams.give(lane);
                self.streams.forget(stream);
                result
            }
            State::Ended => Err(stream.ended()),
        }
    }

    pub(super) fn complete_stream(
        self: &Arc<Shared>,
        stream: &Stream,
        lane: &mut Lane,
        open: Open,
        digest: Option<Vec<u8>>,
    ) -> Result<u64> {
        let Open { folder, claim, file, mut watch, written, .. } = open;
        let File::Here(opened) = file else { unreachable!("it was opened just now") };
        watch.lap();
        if claim.is_none() {
            self.close_beside(stream, lane, &folder, opened, (written, digest), &mut watch)?;
            return Ok(written);
        }
        let renamed = opened.asked.is_some().then(|| folder.join(&opened.name));
        let name = Name::from(&*opened.name);
        let result = match lane.folder(&folder) {
            Ok(at) => lane.complete(&at, opened, &mut watch),
            Err(error) => Err(Unfilled::Failed(error)),
        };
        let stat = lane.stat.take();
        let result = match result {
            Ok(filled) => {
                lane.counts.bytes += if filled == Filled::Written { written } else { 0 };
                // The stream's final name, which may differ from the requested one. The file at the requested name may
                // be from another program.
                self.outcome.is_there(&folder, &name);
                Ok(filled)
            }
            Err(Unfilled::Failed(error)) => Err(error),
            Err(Unfilled::Cancelled) => unreachable!("only writing can be cancelled"),
        };
        self.release_stream(&folder, claim);
        match result {
            Ok(Filled::Skipped) => {
                self.tell(&stream.path(), Outcome::Skipped);
                Ok(0)
            }
            Ok(Filled::Written) => {
                let (renamed, digest) = (renamed.as_deref(), digest.as_deref());
                let shares = Shares::Nothing;
                self.tell(&stream.path(), Outcome::Written { renamed, stat, digest, shares });
                Ok(written)
            }
            Err(error) => {
                self.fail_entry(&folder, &stream.name, error.clone());
                Err(error)
            }
        }
    }

    /// Completes a file that has a temporary name, and hands it over to get its own.
    pub(super) fn close_beside(
        self: &Arc<Shared>,
        stream: &Stream,
        lane: &mut Lane,
        folder: &Arc<Folder>,
        opened: Opened,
        (bytes, digest): (u64, Option<Vec<u8>>),
        watch: &mut Stopwatch,
    ) -> Result<()> {
        let (temporary, metadata) = (OsString::from(&*opened.name), opened.metadata.clone());
        let completed = lane.folder(folder).and_then(|at| match lane.complete(&at, opened, watch) {
            Ok(_) => Ok(()),
            Err(Unfilled::Failed(error)) => Err(error.on(stream.path())),
            Err(Unfilled::Cancelled) => unreachable!("only writing can be cancelled"),
        });
        if let Err(error) = completed {
            self.release_stream(folder, None);
            self.fail_stream(folder, stream, None, error.clone());
            return Err(error);
        }
        lane.counts.files -= 1; // It counts when it has its name.
        let unnamed = Work::GiveName(Box::new(Unnamed { temporary: temporary.clone(), metadata, bytes, digest }));
        self.submit(&stream.folder, Job::new(&stream.name, unnamed)).inspect_err(|_| {
            // Cancelled. What was to get a name is removed as all that is incomplete; if that fails, by a later run.
            if let Ok(at) = lane.folder(folder) {
                drop(at.dir.remove(&temporary));
            }
        })
    }

    /// Gives a stream up: what was written of it is removed, and it counts as a failure for this reason.
    pub(in crate::tree) fn give_up_stream(self: &Arc<Shared>, stream: &Stream, operation: Operation, why: io::Error) {
        let mut state = lock(&stream.state);
        self.end_unfinished(stream, &mut state, stream.error(operation, why));
    }

    /// The end of every stream that is not complete.
    pub(super) fn end_unfinished(self: &Arc<Shared>, stream: &Stream, state: &mut State, error: Error) {
        match std::mem::replace(state, State::Ended) {
            State::Ended => return,
            State::Begun => self.refuse(&error),
            State::Open(mut open) => {
                let mut lane = self.streams.lane(self);
                // Where it cannot be opened again there is nothing that is surely this stream's.
                let opened = open.file(&mut lane).is_ok();
                if let (true, File::Here(opened)) = (opened, std::mem::replace(&mut open.file, File::Nowhere)) {
                    match lane.folder(&open.folder) {
                        Ok(at) => drop(lane.take_away(&at, opened, error.clone())),
                        Err(_) => drop(sys::close(opened.target.file)), // The error to report is the one that led here.
                    }
                }
                self.streams.give(lane);
                if self.is_cancelled() {
                    self.totals.not_written.fetch_add(1, Relaxed);
                    self.tell(&stream.path(), Outcome::Cancelled);
                } else {
                    self.fail_stream(&open.folder, stream, open.claim, error);
                }
                self.release_stream(&open.folder, open.claim);
            }
        }
        self.streams.forget(stream);
    }

    /// A stream failed. One that is written beside its name has its place in the order behind the entries that wait for
    /// the name now: links among them get what they were handed over for.
    pub(super) fn fail_stream(self: &Arc<Shared>, folder: &Folder, stream: &Stream, claim: Option<u64>, error: Error) {
        if claim.is_some() {
            return self.fail_entry(folder, &stream.name, error);
        }
        let mut state = lock(&self.state);
        // A cancelled tree makes no links, and takes no more jobs.
        if !self.is_cancelled() {
            state.queue.push_source(folder.id, Job::new(&stream.name, Work::Stray));
            self.tell_a_thread(&mut state);
        }
        drop(state);
        self.tell_failure(folder, &stream.name, error);
    }

    /// Counts a stream as done with, and gives its name back.
    pub(super) fn release_stream(self: &Arc<Shared>, folder: &Folder, claim: Option<u64>) {
        let done = Done { names: claim.into_iter().collect(), entries: 1, ..Done::default() };
        self.done_aside(&mut lock(&self.state), folder.id, &done);
    }

    /// Ends the streams that are not closed. Waits for a write that another thread makes at this moment.
    pub(in crate::tree::engine) fn end_streams(self: &Arc<Shared>) {
        let left: Vec<_> = lock(&self.streams.all).values().cloned().collect();
        for stream in left {
            let mut state = lock(&stream.state);
            let why = "it was not closed before the tree was finished";
            self.end_unfinished(&stream, &mut state, stream.error(Operation::Write, io::Error::other(why)));
        }
        self.end_all_streams();
    }
}

/// The file ends at `len`: there may be a hole behind the last byte.
fn extend(stream: &Stream, open: &mut Open, len: u64) -> Result<()> {
    let File::Here(opened) = &open.file else { return Ok(()) };
    if len > open.position {
        if let Some(digest) = &mut open.digest {
            digest.zeros(len - open.position);
        }
        sys::set_len(&opened.target.file, len).map_err(|cause| stream.error(Operation::Write, cause))?;
    }
    Ok(())
}
