//! A batch's files on one file system.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::method::prefers_file_system;
use super::{BatchMethod, doubt};
use crate::{Error, Operation, sys};

/// A file that is written and waits to be synced.
pub(super) struct Waiting {
    pub(super) file: File,
    pub(super) path: Arc<Path>,
    /// Nothing was in it before this batch wrote it.
    pub(super) was_empty: bool,
    /// Which file it is, if this batch has made it.
    pub(super) key: Option<doubt::Key>,
}

/// What is known of one file system.
pub(super) struct Volume {
    /// Open since before the first of the files was written, so that the system tells it of a lost byte.
    anchor: Arc<Waiting>,
    can_sync_whole: bool,
    /// Some files were closed without a sync of their own: one sync for the file system has to come.
    whole: bool,
    /// A sync that was started while files still come, and how many files there were then.
    early: Option<JoinHandle<Result<(), Error>>>,
    /// The first error of a sync of the whole file system: the system tells it once, and does not say of which files.
    whole_error: Option<Error>,
    files_at_early: u64,
    waiting: Vec<Waiting>,
    files: u64,
    bytes: u64,
}

/// So many files wait with their handles open at most: as many as 64 threads sync in a moment, and few beside the usual
/// limit.
const MOST_WAITING: usize = 256;

pub(super) fn most_waiting() -> usize {
    MOST_WAITING.min(sys::handle_limit() / 4).max(1)
}

/// Whenever so many files have come, a sync is started. 2,300 files take 36 ms so, 50 with one sync at the end; 10,000
/// take 134 and 198 (two cores, ext4).
const EARLY: u64 = 512;

/// 16 threads of fsync are 5.3 times as fast as one, 64 threads 5.5 to 7.8 times (docs/measurements.md, "Durable").
const THREADS: usize = 64;

impl Volume {
    pub(super) fn new(anchor: Waiting) -> Volume {
        let can_sync_whole = sys::can_sync_file_system(&anchor.file);
        Volume {
            anchor: Arc::new(anchor),
            can_sync_whole,
            whole: false,
            early: None,
            whole_error: None,
            files_at_early: 0,
            waiting: Vec::new(),
            files: 0,
            bytes: 0,
        }
    }

    /// Takes a file of so many bytes. When too many wait, what is to be done with them: not here, where others wait
    /// too.
    pub(super) fn add(&mut self, file: Waiting, bytes: u64, method: BatchMethod) -> Option<Relief> {
        self.waiting.push(file);
        self.files += 1;
        self.bytes += bytes;
        (self.whole || self.waiting.len() >= most_waiting()).then(|| self.relief(method, true))
    }

    /// What is to be done with those that wait. `more_to_come`: the batch is not at its end.
    pub(super) fn relief(&mut self, method: BatchMethod, more_to_come: bool) -> Relief {
        self.whole = self.can_sync_whole
            && match method {
                BatchMethod::EachFile => false,
                BatchMethod::FileSystem => true,
                // Once the batch has chosen one sync for the file system, it keeps that choice.
                BatchMethod::Automatic => {
                    let others = || sys::unwritten(&self.anchor.file).saturating_sub(self.bytes);
                    self.whole || prefers_file_system(self.files, others(), more_to_come)
                }
            };
        let files = std::mem::take(&mut self.waiting);
        if self.whole { Relief::Close(files) } else { Relief::Sync(files) }
    }

    /// Starts on what the last sync will have to do, beside the writing of more files. What it says is asked for by
    /// [`sync_whole`](Volume::sync_whole), or an error of it by the next call.
    pub(super) fn sync_early(&mut self, errors: &mut Vec<Error>) {
        let due = self.whole && self.files - self.files_at_early >= EARLY;
        if !due || self.early.as_ref().is_some_and(|early| !early.is_finished()) {
            return;
        }
        errors.extend(self.early_error());
        self.files_at_early = self.files;
        let anchor = Arc::clone(&self.anchor);
        let sync = move || sync_file_system(&anchor);
        // Without a thread all is done at the end.
        self.early = thread::Builder::new().stack_size(128 << 10).spawn(sync).ok();
    }

    fn early_error(&mut self) -> Option<Error> {
        let ended = self.early.take()?.join();
        let error = ended.expect("one system call does not panic").err()?;
        self.whole_error.get_or_insert_with(|| error.clone());
        Some(error)
    }

    /// Why no file of this batch on this file system is durable, if one sync for all of them has failed.
    pub(super) fn whole_error(&self) -> Option<&Error> {
        self.whole_error.as_ref()
    }

    /// Whether [`sync_whole`](Volume::sync_whole) has to follow the last relief.
    pub(super) fn counts_on_one_sync(&self) -> bool {
        self.whole
    }

    pub(super) fn sync_whole(&mut self) -> Result<(), Error> {
        // What it has told, the next sync is not told again.
        let synced = self.early_error().map_or_else(|| sync_file_system(&self.anchor), Err);
        synced.inspect_err(|error| self.whole_error = Some(error.clone()))
    }

    /// Closes the anchor, and says how that went.
    pub(super) fn close(mut self, errors: &mut Vec<Error>) {
        errors.extend(self.early_error());
        if let Some(anchor) = Arc::into_inner(self.anchor) {
            let mut own = Vec::new();
            close(anchor, &mut own);
            // A second handle of the first file: what that file's close has told is told once.
            let is_told = |own: &Error| {
                let is_same = |error: &Error| error.path() == own.path() && error.raw_os_error() == own.raw_os_error();
                errors.iter().any(is_same)
            };
            own.retain(|error| !is_told(error));
            errors.append(&mut own);
        }
    }
}

fn sync_file_system(anchor: &Waiting) -> Result<(), Error> {
    sys::sync_file_system(&anchor.file).map_err(|cause| Error::new(Operation::Sync, &*anchor.path, cause))
}

/// What is done with files that wait.
pub(super) enum Relief {
    /// One sync for all comes later.
    Close(Vec<Waiting>),
    /// Each is synced now.
    Sync(Vec<Waiting>),
}

impl Relief {
    pub(super) fn give(self, errors: &mut Vec<Error>) {
        match self {
            Relief::Close(files) => files.into_iter().for_each(|file| close(file, errors)),
            Relief::Sync(files) => errors.extend(sync_each(files)),
        }
    }
}

fn close(waiting: Waiting, errors: &mut Vec<Error>) {
    if let Err(cause) = sys::close(waiting.file.into()) {
        let error = Error::new(Operation::Close, &*waiting.path, cause);
        match waiting.key {
            Some(key) => doubt::note_key(key, &error),
            None => doubt::note_at(&waiting.path, &error),
        }
        errors.push(error);
    }
}

fn sync_and_close(waiting: Waiting, errors: &mut Vec<Error>) {
    if let Err(cause) = doubt::check(&waiting.file, waiting.was_empty) {
        errors.push(Error::new(Operation::Sync, &*waiting.path, cause));
    } else if let Err(cause) = sys::sync_data(&waiting.file) {
        let error = Error::new(Operation::Sync, &*waiting.path, cause);
        doubt::note(&waiting.file, &error);
        errors.push(error);
    }
    close(waiting, errors);
}

/// Syncs and closes each, from as many threads as that is worth. A journal commits once for all that wait for it at a
/// time.
fn sync_each(files: Vec<Waiting>) -> Vec<Error> {
    if files.len() > 1 {
        for waiting in &files {
            // A hint: what goes wrong here goes wrong again in the sync, which tells.
            sys::start_writeback(&waiting.file, 0, 0).unwrap_or(());
        }
    }
    let threads = files.len().min(THREADS);
    let slots: Vec<Mutex<Option<Waiting>>> = files.into_iter().map(|file| Mutex::new(Some(file))).collect();
    let next = AtomicUsize::new(0);
    let errors = Mutex::new(Vec::new());
    let work = || {
        let mut own = Vec::new();
        while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(waiting) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
                sync_and_close(waiting, &mut own);
            }
        }
        errors.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without a thread more there is this one.
            if thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    errors.into_inner().unwrap_or_else(PoisonError::into_inner)
}
