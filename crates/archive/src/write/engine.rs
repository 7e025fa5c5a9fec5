//! The threads that lay batches out, and the order in which the batches are written.
//!
//! A batch is handed over with a number. A thread lays it out and puts it among those that are done. Whichever thread
//! finds the next number there writes it, and all that follow it. One thread writes at a time.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use flate2::Crc;
use manyfiles::{Error, Operation};

use super::compress::{self, Compressor};
use super::destination::Destination;
use super::entry::Item;
use super::report::{Counts, NotWritten, Written};
use super::zip::{self, Directory};
use super::{tar, verify};
use crate::format::Format;

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
    pub counts: Counts,
    state: Mutex<State>,
    /// There is a batch to be laid out, or none will come any more.
    work: Condvar,
    /// A batch was written.
    room: Condvar,
}

struct State {
    waiting: VecDeque<(u64, Vec<Item>)>,
    done: BTreeMap<u64, Laid>,
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
    /// A piece of a tar, compressed, and the checksum and the length that it had before.
    Tar {
        bytes: Vec<u8>,
        crc: Crc,
        raw: u64,
    },
    Zip(Vec<zip::Part>),
    /// Thrown away.
    Nothing,
}

/// Where batches go, in order.
struct Output {
    destination: Destination,
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
    pub name: PathBuf,
}

impl Engine {
    pub(super) fn start(order: Order, destination: Destination) -> Result<Engine, Error> {
        let Order { format, level, utc, verify, threads, name } = order;
        let mut output =
            Output { destination, written: 0, crc: Crc::new(), frames: Vec::new(), directory: Directory::default() };
        if let Format::Tar(compression) = format {
            output.write(compress::begin(compression))?;
        }
        let state = State {
            waiting: VecDeque::new(),
            done: BTreeMap::new(),
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
            counts: Counts::default(),
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
                Err(error) => return Err(Error::without_path(Operation::Create, error)),
            }
        }
        Ok(engine)
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
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
        drop(state);
        shared.work.notify_one();
        Ok(())
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
        let failures = std::mem::take(&mut state.failures);
        drop(state);
        output.expect("nobody writes any more").finish(&shared).map_err(NotWritten::Archive)?;
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
            let mut state = self.shared.lock();
            state
                .failed
                .get_or_insert_with(|| Error::new(Operation::Write, &self.shared.name, io::Error::other("given up")));
            state.waiting.clear();
            drop(state);
            self.end();
        }
    }
}

impl Shared {
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

    /// The file that is written, to know it among those that are packed.
    pub(super) fn own_file(&self) -> Option<std::fs::Metadata> {
        self.lock().output.as_ref()?.destination.metadata()
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
            drop(state);
            let mut failures = Vec::new();
            let laid = match is_wanted {
                true => catch_unwind(AssertUnwindSafe(|| self.lay(&mut layout, items, &mut failures)))
                    .unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))),
                false => Ok(Laid::Nothing),
            };
            state = self.lock();
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
                (Some(output), true) => catch_unwind(AssertUnwindSafe(|| output.add(laid, &self.name)))
                    .unwrap_or_else(|_| Err(self.error(io::Error::other("the stream panicked")))),
                _ => Ok(()),
            };
            if let Some(output) = &output {
                self.counts.archive_bytes.store(output.written, Relaxed);
            }
            state = self.lock();
            state.output = output;
            state.written += 1;
            if let Err(error) = written {
                state.failed.get_or_insert(error);
            }
            self.room.notify_all();
        }
    }

    fn lay(&self, layout: &mut Option<Layout>, items: Vec<Item>, failures: &mut Vec<Error>) -> io::Result<Laid> {
        let layout = match layout {
            Some(layout) => layout,
            None => layout.insert(Layout::new(self)?),
        };
        match layout {
            Layout::Tar(compressor) => {
                let raw = tar::lay(items, &self.counts, failures);
                let mut crc = Crc::new();
                crc.update(&raw);
                let len = raw.len() as u64;
                Ok(Laid::Tar { bytes: compressor.compress(raw)?, crc, raw: len })
            }
            Layout::Zip(layout) => Ok(Laid::Zip(layout.lay(items, &self.counts, failures)?)),
        }
    }
}

/// What each thread has for itself.
enum Layout {
    Tar(Compressor),
    Zip(Box<zip::Layout>),
}

impl Layout {
    fn new(shared: &Shared) -> io::Result<Layout> {
        Ok(match shared.format {
            Format::Tar(compression) => Layout::Tar(Compressor::new(compression, shared.level)?),
            Format::Zip => Layout::Zip(Box::new(zip::Layout::new(shared.level, shared.utc))),
        })
    }
}

impl Output {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.destination.write(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn add(&mut self, laid: Laid, name: &Path) -> Result<(), Error> {
        match laid {
            Laid::Tar { bytes, crc, raw } => {
                self.crc.combine(&crc);
                self.frames.push((bytes.len() as u32, raw as u32));
                self.write(&bytes)
            }
            Laid::Zip(parts) => {
                for part in parts {
                    let bytes = self.directory.add(part, self.written);
                    self.write(&bytes.map_err(|error| Error::new(Operation::Write, name, error))?)?;
                }
                Ok(())
            }
            Laid::Nothing => Ok(()),
        }
    }

    fn finish(mut self, shared: &Shared) -> Result<(), Error> {
        let end = match shared.format {
            Format::Tar(compression) => {
                let error = |error| shared.error(error);
                let mut crc = Crc::new();
                crc.update(&tar::END);
                let mut compressor = Compressor::new(compression, shared.level).map_err(error)?;
                let bytes = compressor.compress(tar::END.to_vec()).map_err(error)?;
                self.add(Laid::Tar { bytes, crc, raw: tar::END.len() as u64 }, &shared.name)?;
                compress::end(compression, &self.crc, &self.frames)
            }
            Format::Zip => std::mem::take(&mut self.directory).end(self.written),
        };
        self.write(&end)?;
        shared.counts.archive_bytes.store(self.written, Relaxed);
        let (format, crc) = (shared.format, self.crc.sum());
        let written = shared.counts.written(format, Vec::new());
        self.destination.finish(|path| match shared.verify {
            true => verify::verify(path, &written, crc).map_err(|why| {
                shared.error(io::Error::new(io::ErrorKind::InvalidData, format!("it was read back, and {why}")))
            }),
            false => Ok(()),
        })
    }
}
