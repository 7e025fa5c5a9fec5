//! The threads that lay batches out, and the order in which the batches are written.
//!
//! A batch is handed over with a number. A thread lays it out and puts it among those that are done. Whichever thread
//! finds the next number there writes it, and all that follow it. One thread writes at a time.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use flate2::Crc;
use manyfiles::{Error, Operation};

use super::compress::{self, Compressor};
use super::destination::Destination;
use super::entry::Item;
use super::report::{Counts, NotWritten, WriterProgress, Written};
use super::zip::{self, Directory};
use super::{tar, verify};
use crate::format::{Compression, Format};

/// How many batches may be on their way for each thread.
const AHEAD: u64 = 2;

pub(super) struct Engine {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads and the writer share.
pub(super) struct Shared {
    format: Format,
    level: i32,
    /// Whether dates are those of UTC, not those of the user's zone.
    utc: bool,
    verify: bool,
    most_ahead: u64,
    name: PathBuf,
    counts: Counts,
    state: Mutex<State>,
    /// There is a batch to be laid out, or none will come any more.
    work: Condvar,
    /// A batch was written.
    room: Condvar,
}

struct State {
    waiting: VecDeque<(u64, Vec<Item>)>,
    done: BTreeMap<u64, Laid>,
    /// Batches that are laid out, to be freed by the thread that made them: threads that free what others have
    /// allocated wait for each other in the allocator.
    used: Vec<Vec<Item>>,
    /// Memory to be used again.
    buffers: Vec<Vec<u8>>,
    /// How many were handed over.
    handed: u64,
    /// How many were written.
    written: u64,
    /// Taken by the thread that writes.
    output: Option<Output>,
    /// Why the archive cannot be written. What is laid out is thrown away then.
    failed: Option<Error>,
    failures: Vec<Error>,
    ended: bool,
}

/// A batch that is laid out.
enum Laid {
    /// A piece of a tar, compressed, and the checksum that it had before, if one is needed. The frames in it, where
    /// there are any: their sizes, compressed and not.
    Tar {
        bytes: Vec<u8>,
        crc: Option<Crc>,
        frames: Vec<(u32, u32)>,
    },
    Zip(Vec<zip::Part>),
    /// Thrown away.
    Nothing,
}

/// Where batches go, in order.
struct Output {
    destination: Destination,
    /// What stands before the first batch, until it is written.
    begin: &'static [u8],
    written: u64,
    /// Of the tar before it was compressed.
    crc: Crc,
    frames: Vec<(u32, u32)>,
    directory: Directory,
}

/// What is asked of an engine.
pub(super) struct Order {
    pub format: Format,
    pub level: i32,
    pub utc: bool,
    pub verify: bool,
    pub threads: usize,
    pub progress: WriterProgress,
    pub name: PathBuf,
}

impl Engine {
    pub(super) fn start(order: Order, destination: Destination) -> Result<Engine, Error> {
        let Order { format, level, utc, verify, threads, progress, name } = order;
        let begin = if let Format::Tar(compression) = format { compress::begin(compression) } else { &[] };
        let directory = Directory::default();
        let output = Output { destination, begin, written: 0, crc: Crc::new(), frames: Vec::new(), directory };
        let state = State {
            waiting: VecDeque::new(),
            done: BTreeMap::new(),
            used: Vec::new(),
            buffers: Vec::new(),
            handed: 0,
            written: 0,
            output: Some(output),
            failed: None,
            failures: Vec::new(),
            ended: false,
        };
        let shared = Arc::new(Shared {
            format,
            level,
            utc,
            verify,
            most_ahead: AHEAD * threads as u64,
            name,
            counts: Counts { progress, ..Counts::default() },
            state: Mutex::new(state),
            work: Condvar::new(),
            room: Condvar::new(),
        });
        let mut engine = Engine { shared, threads: Vec::new() };
        for number in 0..threads {
            let shared = Arc::clone(&engine.shared);
            let thread = thread::Builder::new().name(format!("pack {number}")).spawn(move || shared.work());
            match thread {
                Ok(thread) => engine.threads.push(thread),
                // Fewer threads do the same, but one is needed.
                Err(_) if number > 0 => break,
                Err(error) => {
                    let why = io::Error::new(error.kind(), format!("no thread can be started: {error}"));
                    return Err(engine.shared.error(why));
                }
            }
        }
        Ok(engine)
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(super) fn shared_handle(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Hands a batch over. Waits while many are on their way. Fails if the archive cannot be written any more.
    pub(super) fn hand(&self, items: Vec<Item>) -> Result<(), Error> {
        let shared = &*self.shared;
        let mut state = shared.lock();
        while state.failed.is_none() && state.handed - state.written >= shared.most_ahead {
            state = shared.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        let number = state.handed;
        state.handed += 1;
        state.waiting.push_back((number, items));
        let used = std::mem::take(&mut state.used);
        drop(state);
        drop(used);
        shared.work.notify_one();
        Ok(())
    }

    /// Waits until nothing is on its way.
    pub(super) fn settle(&self) {
        let shared = &*self.shared;
        let mut state = shared.lock();
        while state.failed.is_none() && state.written < state.handed {
            state = shared.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for all batches, and ends the archive.
    pub(super) fn finish(mut self) -> Result<Written, NotWritten> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        while state.written < state.handed {
            state = shared.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        self.end();
        let mut state = shared.lock();
        let output = state.output.take();
        if let Some(error) = state.failed.take() {
            return Err(NotWritten::Archive(error));
        }
        let mut failures = std::mem::take(&mut state.failures);
        drop(state);
        let late = output.expect("nobody writes any more").finish(&shared).map_err(NotWritten::Archive)?;
        failures.extend(late);
        let written = shared.counts.written(shared.format, failures);
        if written.failures.is_empty() { Ok(written) } else { Err(NotWritten::Entries(Box::new(written))) }
    }

    /// Lets the threads end. Batches that were not begun are thrown away.
    fn end(&mut self) {
        self.shared.lock().ended = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A panic is in `failed`.
            drop(thread.join());
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.shared.cancel();
            self.end();
            // A canceller may keep what is shared; the file that is not complete goes now.
            drop(self.shared.lock().output.take());
        }
    }
}

impl Shared {
    pub(super) fn progress(&self) -> &WriterProgress {
        &self.counts.progress
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the archive's own errors name.
    fn error(&self, cause: io::Error) -> Error {
        Error::new(Operation::Write, &self.name, cause)
    }

    pub(super) fn fail(&self, error: Error) {
        self.lock().failures.push(error);
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.lock().failed.clone().map_or(Ok(()), Err)
    }

    /// Throws away what is not written yet.
    pub(super) fn cancel(&self) {
        let mut state = self.lock();
        let cancelled = || self.error(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
        state.failed.get_or_insert_with(cancelled);
        drop(state);
        self.room.notify_all();
    }

    /// Whether the checksum of a whole tar is written, or compared.
    fn needs_crc(&self) -> bool {
        self.verify || self.format == Format::Tar(Some(Compression::Gzip))
    }

    /// What a thread does.
    fn work(&self) {
        let mut layout = None;
        let mut state = self.lock();
        loop {
            let Some((number, items)) = state.waiting.pop_front() else {
                if state.ended {
                    return;
                }
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let is_wanted = state.failed.is_none();
            let buffer = state.buffers.pop().unwrap_or_default();
            drop(state);
            let mut failures = Vec::new();
            let laid = match is_wanted {
                true => catch_unwind(AssertUnwindSafe(|| self.lay(&mut layout, &items, buffer, &mut failures)))
                    .unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))),
                false => Ok(Laid::Nothing),
            };
            state = self.lock();
            state.used.push(items);
            state.failures.append(&mut failures);
            let laid = laid.unwrap_or_else(|error| {
                state.failed.get_or_insert(self.error(error));
                Laid::Nothing
            });
            state.done.insert(number, laid);
            state = self.write(state);
        }
    }

    /// Writes what comes next, as long as it is there and nobody else writes.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        loop {
            let next = state.written;
            if state.output.is_none() || !state.done.contains_key(&next) {
                return state;
            }
            let laid = state.done.remove(&next).unwrap_or(Laid::Nothing);
            let mut output = state.output.take();
            let is_wanted = state.failed.is_none();
            drop(state);
            let written = match (&mut output, is_wanted) {
                (Some(output), true) => catch_unwind(AssertUnwindSafe(|| output.add(laid, self)))
                    .unwrap_or_else(|_| Err(self.error(io::Error::other("the stream panicked")))),
                _ => Ok(None),
            };
            if let Some(output) = &output {
                let before = self.counts.archive_bytes.swap(output.written, Relaxed);
                self.counts.progress.wrote(output.written - before);
            }
            state = self.lock();
            match written {
                Ok(buffer) => state.buffers.extend(buffer.map(|mut buffer| {
                    buffer.clear();
                    buffer
                })),
                Err(error) => drop(state.failed.get_or_insert(error)),
            }
            state.output = output;
            state.written += 1;
            self.room.notify_all();
        }
    }

    fn lay(
        &self,
        layout: &mut Option<Layout>,
        items: &[Item],
        buffer: Vec<u8>,
        failures: &mut Vec<Error>,
    ) -> io::Result<Laid> {
        let layout = match layout {
            Some(layout) => layout,
            None => layout.insert(Layout::new(self)?),
        };
        let is_wanted = &|| self.check().is_ok();
        match layout {
            Layout::Tar(compressor, raw) => {
                raw.clear();
                let (mut ends, mut frames) = (Vec::new(), Vec::new());
                tar::lay(items, raw, &mut ends, &self.counts, failures, is_wanted);
                let crc = self.needs_crc().then(|| {
                    let mut crc = Crc::new();
                    crc.update(raw);
                    crc
                });
                let bytes = compressor.compress(raw, &ends, buffer, &mut frames)?;
                Ok(Laid::Tar { bytes, crc, frames })
            }
            Layout::Zip(layout) => Ok(Laid::Zip(layout.lay(items, &self.counts, failures, is_wanted)?)),
        }
    }
}

/// What each thread has for itself.
enum Layout {
    /// With the memory that a batch is laid out in.
    Tar(Compressor, Vec<u8>),
    Zip(Box<zip::Layout>),
}

impl Layout {
    fn new(shared: &Shared) -> io::Result<Layout> {
        Ok(match shared.format {
            Format::Tar(compression) => Layout::Tar(Compressor::new(compression, shared.level)?, Vec::new()),
            Format::Zip => Layout::Zip(Box::new(zip::Layout::new(shared.level, shared.utc))),
            Format::SevenZ | Format::Iso => return Err(io::ErrorKind::Unsupported.into()),
        })
    }
}

impl Output {
    fn write(&mut self, bytes: &[u8], shared: &Shared) -> Result<(), Error> {
        self.destination.write(bytes, &|| shared.check().is_ok())?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Gives the memory of what was written back.
    fn add(&mut self, laid: Laid, shared: &Shared) -> Result<Option<Vec<u8>>, Error> {
        if !self.begin.is_empty() {
            let begin = std::mem::take(&mut self.begin);
            self.write(begin, shared)?;
        }
        match laid {
            Laid::Tar { bytes, crc, frames } => {
                if let Some(crc) = crc {
                    self.crc.combine(&crc);
                }
                self.frames.extend(frames);
                self.write(&bytes, shared)?;
                Ok(Some(bytes))
            }
            Laid::Zip(parts) => {
                for part in parts {
                    let bytes = self.directory.add(part, self.written);
                    self.write(&bytes.map_err(|error| shared.error(error))?, shared)?;
                }
                Ok(None)
            }
            Laid::Nothing => Ok(None),
        }
    }

    fn finish(mut self, shared: &Shared) -> Result<Option<Error>, Error> {
        let end = match shared.format {
            Format::Tar(compression) => {
                let error = |error| shared.error(error);
                let mut crc = Crc::new();
                crc.update(&tar::END);
                let mut compressor = Compressor::new(compression, shared.level).map_err(error)?;
                let mut frames = Vec::new();
                let bytes = compressor
                    .compress(&mut tar::END.to_vec(), &[tar::END.len()], Vec::new(), &mut frames)
                    .map_err(error)?;
                self.add(Laid::Tar { bytes, crc: Some(crc), frames }, shared)?;
                compress::end(compression, &self.crc, &self.frames)
            }
            _ => std::mem::take(&mut self.directory).end(self.written),
        };
        self.write(&end, shared)?;
        let before = shared.counts.archive_bytes.swap(self.written, Relaxed);
        shared.counts.progress.wrote(self.written - before);
        let (format, crc) = (shared.format, self.crc.sum());
        let written = shared.counts.written(format, Vec::new());
        let link_bytes = shared.counts.link_bytes.load(Relaxed);
        self.destination.finish(|path| match shared.verify {
            true => verify::verify(path, &written, link_bytes, crc).map_err(|why| {
                shared.error(io::Error::new(io::ErrorKind::InvalidData, format!("it was read back, and {why}")))
            }),
            false => Ok(()),
        })
    }
}
