//! Files that callers write piece by piece on their own threads, because their length is not known or too much for memory.
//!
//! A stream never waits for another entry. Where its name is free it holds the name and is written under it. Where the name is in
//! use (by an entry that waits, or by another stream, perhaps of the same thread) it is written beside and gets the name when it
//! is closed. So the place of a stream in the order of entries is its close, or the moment its file was opened.
//!
//! Open files are handles, and a process may have few. When handles run out, streams that nobody writes just now are *parked*:
//! closed, and opened again for the next piece.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::counts::Stopwatch;
use super::fill::{Filled, Unfilled};
use super::folders::Folder;
use super::job::{Job, Unnamed, Work};
use super::lane::Lane;
use super::name::Name;
use super::placement::{Opened, Placement, Target};
use super::queue::Done;
use super::threads::is_of_the_engine;
use super::{Shared, lock};
use crate::sys::{self, Identity};
use crate::tree::Outcome;
use crate::tree::outcome::finish_digest;
use crate::tree::{Content, Digest, Metadata};
use crate::{Error, Operation, Result};

/// Streams that are not closed, so that the end can tell of those that nobody will close.
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

struct Open {
    folder: Arc<Folder>,
    /// Key of the name that it holds. `None`: it is written beside its name.
    claim: Option<u64>,
    file: File,
    watch: Stopwatch,
    position: u64,
    written: u64,
    /// What the close said when it was parked. The next call is told.
    failed: Option<Error>,
    /// The name it was handed over with, if it got another.
    asked: Option<Name>,
    digest: Option<Box<dyn Digest>>,
}

enum File {
    Here(Opened),
    Parked(Parked),
    /// For the moment between two of the others.
    Nowhere,
}

/// What was open, without its handle.
struct Parked {
    name: Name,
    metadata: Metadata,
    placement: Placement,
    mode_at_the_end: Option<u32>,
    touched: bool,
    identity: Identity,
}

impl Stream {
    pub(in crate::tree) fn path(&self) -> PathBuf {
        Path::new(&self.folder).join(&self.name)
    }

    fn error(&self, operation: Operation, cause: io::Error) -> Error {
        Error::new(operation, self.path(), cause)
    }

    /// What a call on a stream says that the end of the tree has ended.
    fn ended(&self) -> Error {
        self.error(Operation::Write, io::Error::other("the tree was finished before this file was closed"))
    }
}

impl Open {
    /// The open file. A parked one is opened again.
    fn file<'a>(&'a mut self, lane: &mut Lane) -> Result<&'a mut Opened> {
        if let File::Parked(_) = &self.file {
            self.open_again(lane)?;
        }
        match &mut self.file {
            File::Here(opened) => Ok(opened),
            File::Parked(_) | File::Nowhere => unreachable!("it was opened just now"),
        }
    }

    fn open_again(&mut self, lane: &mut Lane) -> Result<()> {
        let File::Parked(parked) = &self.file else { return Ok(()) };
        let failed = |cause| Error::new(Operation::Open, self.folder.join(&parked.name), cause);
        let dir = lane.folder(&self.folder)?.dir;
        let own_name = match &parked.placement {
            Placement::New | Placement::InPlace(_) => &*parked.name,
            Placement::Beside { temporary, .. } => temporary,
        };
        let file = lane.retry_without_kept(|_| dir.open_to_write(own_name)).map_err(failed)?;
        if sys::stat(&file).map_err(failed)?.identity != parked.identity {
            let why = "another file took its name while it was not open, because the process had too many files open";
            return Err(failed(io::Error::other(why)));
        }
        sys::seek(&file, self.position).map_err(failed)?;
        let File::Parked(parked) = std::mem::replace(&mut self.file, File::Nowhere) else { unreachable!() };
        let Parked { name, metadata, placement, mode_at_the_end, touched, .. } = parked;
        let target = Target { file, placement, mode_at_the_end, touched };
        let content = Content::from_static(b"");
        self.file = File::Here(Opened { name, content, metadata, target, asked: self.asked.take(), source: None });
        Ok(())
    }

    /// Closes the file until it is needed again. `Ok(false)` if it is not open.
    fn park(&mut self) -> io::Result<bool> {
        let identity = match &self.file {
            File::Here(opened) => sys::stat(&opened.target.file)?.identity,
            _ => return Ok(false),
        };
        let File::Here(opened) = std::mem::replace(&mut self.file, File::Nowhere) else { unreachable!() };
        let Opened { name, metadata, target, asked, .. } = opened;
        self.asked = asked;
        let Target { file, placement, mode_at_the_end, touched } = target;
        self.file = File::Parked(Parked { name, metadata, placement, mode_at_the_end, touched, identity });
        sys::close(file).map(|()| true)
    }
}

impl Streams {
    fn lane(&self, shared: &Arc<Shared>) -> Lane {
        let mut lane = lock(&self.lanes).pop().unwrap_or_else(|| Lane::new(shared.clone()));
        // Its whole content is not known before.
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

    /// Closes the file of the stream that was used longest ago, of those that nobody uses now. False if there is none.
    pub(super) fn park_one(&self) -> bool {
        let mut all: Vec<_> = lock(&self.all).values().cloned().collect();
        all.sort_by_key(|stream| stream.used.load(Relaxed));
        all.iter().any(|stream| {
            let Ok(mut state) = stream.state.try_lock() else { return false };
            let State::Open(open) = &mut *state else { return false };
            match open.park() {
                Ok(parked) => parked,
                Err(cause) => {
                    // What the close says is the stream's own: its next call is told.
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
    pub(in crate::tree) fn begin_stream(&self, folder: &OsStr, name: &OsStr, metadata: Metadata) -> Arc<Stream> {
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
        stream
    }

    /// Writes `bytes` after leaving `gap` bytes out; the file is opened if it isn't yet. `Ok(false)` if it is skipped, because
    /// its name is taken. An error has been reported, and ends the stream.
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

    fn open_stream(self: &Arc<Shared>, stream: &Stream) -> Result<Option<Open>> {
        let (folder, claim) = {
            let mut state = lock(&self.state);
            if self.is_cancelled() {
                drop(state);
                return Err(self.cancelled(&stream.path()));
            }
            let id = state.queue.folder(&stream.folder);
            // An entry of the folder's own name comes before, unless that waits for a stream itself.
            state.waiting_callers += 1;
            let waits = !is_of_the_engine();
            while waits && state.queue.is_blocked(id) && !state.queue.waits_for_streams() && !self.is_cancelled() {
                state = self.wait_in_room(state);
            }
            state.waiting_callers -= 1;
            let claim = state.queue.claim(id, &stream.name);
            (state.queue.folders.get(id).clone(), claim)
        };
        self.totals.accepted.fetch_add(1, Relaxed);
        let mut lane = self.streams.lane(self);
        let mut watch = Stopwatch::start();
        let metadata = stream.metadata;
        let opened =
            lane.folder(&folder).map_err(|cause| cause.of(Operation::Create, stream.path())).and_then(
                |at| match claim {
                    Some(_) => {
                        let work = Work::File { content: Content::from_static(b""), metadata };
                        // One that comes later takes the place that an earlier one of its path got.
                        let renamed = self.outcome.renamed_before(&folder, &stream.name);
                        lane.begin(&at, Job::new(renamed.as_deref().unwrap_or(&stream.name), work))
                    }
                    None => lane.open_beside(&at, &stream.name, metadata).map(Some),
                },
            );
        lane.counts.times.open += watch.lap();
        self.streams.give(lane);
        match opened {
            Ok(Some(opened)) => {
                let file = File::Here(opened);
                let digest = self.new_digest();
                Ok(Some(Open {
                    folder,
                    claim,
                    file,
                    watch,
                    position: 0,
                    written: 0,
                    failed: None,
                    asked: None,
                    digest,
                }))
            }
            other => {
                self.release_stream(&folder, claim);
                match &other {
                    Ok(_) => self.tell(&stream.path(), Outcome::Skipped),
                    Err(error) => self.fail_entry(&folder, &stream.name, error.clone()),
                }
                other.map(|_| None)
            }
        }
    }

    fn write_piece(self: &Arc<Shared>, stream: &Stream, open: &mut Open, gap: u64, bytes: &[u8]) -> Result<()> {
        if self.is_cancelled() {
            return Err(stream.error(Operation::Write, io::Error::other(crate::error::Cancelled)));
        }
        if let Some(failed) = open.failed.take() {
            return Err(failed);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let mut lane = self.streams.lane(self);
        open.watch.lap();
        let result = self.write_all(&mut lane, open, gap, bytes);
        lane.counts.times.write += open.watch.lap();
        self.streams.give(lane);
        result.map_err(|error| error.on(stream.path()))
    }

    fn write_all(&self, lane: &mut Lane, open: &mut Open, gap: u64, mut bytes: &[u8]) -> Result<()> {
        open.file(lane)?;
        let File::Here(opened) = &open.file else { unreachable!("it was opened just now") };
        let file = &opened.target.file;
        let failed = |cause| Error::without_path(Operation::Write, cause);
        if let Some(digest) = &mut open.digest {
            zeros(&mut **digest, gap);
            digest.update(bytes);
        }
        if gap > 0 {
            open.position = open.position.saturating_add(gap);
            sys::seek(file, open.position).map_err(failed)?;
        }
        while !bytes.is_empty() {
            match sys::write(file, bytes).map_err(failed)? {
                0 => return Err(failed(io::ErrorKind::WriteZero.into())),
                written => {
                    bytes = &bytes[written..];
                    open.position += written as u64;
                    open.written += written as u64;
                    self.wrote(written as u64);
                }
            }
        }
        Ok(())
    }

    /// Ends a stream whose content is complete, `len` bytes with what is left out. `hand_over` is called where nothing was
    /// written yet, with the folder and the name: it hands the content over as that of any other file.
    pub(in crate::tree) fn close_stream(
        self: &Arc<Shared>,
        stream: &Stream,
        len: u64,
        hand_over: impl FnOnce(&OsStr, &OsStr) -> Result<()>,
    ) -> Result<()> {
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
                    let digested = open.digest.take().map(finish_digest).transpose();
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

    fn complete_stream(
        self: &Arc<Shared>,
        stream: &Stream,
        lane: &mut Lane,
        open: Open,
        digest: Option<Vec<u8>>,
    ) -> Result<()> {
        let Open { folder, claim, file, mut watch, written, .. } = open;
        let File::Here(opened) = file else { unreachable!("it was opened just now") };
        watch.lap();
        if claim.is_none() {
            return self.close_beside(stream, lane, &folder, opened, (written, digest), &mut watch);
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
                // Not the name that was asked for: what has that may be somebody else's.
                self.outcome.is_there(&folder, &name);
                Ok(filled)
            }
            Err(Unfilled::Failed(error)) => Err(error),
            Err(Unfilled::Cancelled) => unreachable!("only writing can be cancelled"),
        };
        self.release_stream(&folder, claim);
        match result {
            Ok(Filled::Skipped) => self.tell(&stream.path(), Outcome::Skipped),
            Ok(Filled::Written) => {
                let (renamed, digest) = (renamed.as_deref(), digest.as_deref());
                self.tell(&stream.path(), Outcome::Written { renamed, stat, digest });
            }
            Err(error) => {
                self.fail_entry(&folder, &stream.name, error.clone());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Completes a file that has a temporary name, and hands it over to get its own.
    fn close_beside(
        self: &Arc<Shared>,
        stream: &Stream,
        lane: &mut Lane,
        folder: &Arc<Folder>,
        opened: Opened,
        (bytes, digest): (u64, Option<Vec<u8>>),
        watch: &mut Stopwatch,
    ) -> Result<()> {
        let (temporary, metadata) = (OsString::from(&*opened.name), opened.metadata);
        let completed = lane.folder(folder).and_then(|at| match lane.complete(&at, opened, watch) {
            Ok(_) => Ok(()),
            Err(Unfilled::Failed(error)) => Err(error.on(stream.path())),
            Err(Unfilled::Cancelled) => unreachable!("only writing can be cancelled"),
        });
        if let Err(error) = completed {
            self.release_stream(folder, None);
            self.fail_entry(folder, &stream.name, error.clone());
            return Err(error);
        }
        lane.counts.files -= 1; // It counts when it has its name.
        let unnamed = Work::GiveName(Box::new(Unnamed { temporary: temporary.clone(), metadata, bytes, digest }));
        self.submit(&stream.folder, Job::new(&stream.name, unnamed)).inspect_err(|_| {
            // Cancelled. What was to get a name is removed as all that is incomplete.
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
    fn end_unfinished(self: &Arc<Shared>, stream: &Stream, state: &mut State, error: Error) {
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
                    self.fail_entry(&open.folder, &stream.name, error);
                }
                self.release_stream(&open.folder, open.claim);
            }
        }
        self.streams.forget(stream);
    }

    /// Counts a stream as done with, and gives its name back.
    fn release_stream(self: &Arc<Shared>, folder: &Folder, claim: Option<u64>) {
        let done = Done { names: claim.into_iter().collect(), entries: 1, ..Done::default() };
        self.done_aside(&mut lock(&self.state), folder.id, &done);
    }

    /// Ends the streams that nobody has closed. What another thread is writing at this moment is waited for.
    pub(super) fn end_streams(self: &Arc<Shared>) {
        let left: Vec<_> = lock(&self.streams.all).values().cloned().collect();
        for stream in left {
            let mut state = lock(&stream.state);
            let why = "it was not closed before the tree was finished";
            self.end_unfinished(&stream, &mut state, stream.error(Operation::Write, io::Error::other(why)));
        }
    }
}

/// What is left out reads as zeros.
pub(super) fn zeros(digest: &mut dyn Digest, mut len: u64) {
    const ZEROS: [u8; 4096] = [0; 4096];
    while len > 0 {
        let some = len.min(ZEROS.len() as u64);
        digest.update(&ZEROS[..some as usize]);
        len -= some;
    }
}

/// The file ends at `len`: there may be a hole behind the last byte.
fn extend(stream: &Stream, open: &mut Open, len: u64) -> Result<()> {
    let File::Here(opened) = &open.file else { return Ok(()) };
    if len > open.position {
        if let Some(digest) = &mut open.digest {
            zeros(&mut **digest, len - open.position);
        }
        sys::set_len(&opened.target.file, len).map_err(|cause| stream.error(Operation::Write, cause))?;
    }
    Ok(())
}
