//! The queue of pending closes as plain data: what to do next is decided here, under a lock that its owner holds, and
//! done elsewhere, without the lock. What the jobs need of threads is in `threads.rs`.

mod given;
mod threads;

use std::collections::{HashMap, VecDeque};
use std::path::Path;
#[cfg(feature = "tokio")]
use std::sync::Arc;

use super::handle::Handle;
use super::spot::{Affected, AskedPath, Hinders, Spot};
use crate::errors::Collected;
use crate::sys::Identity;

use given::Given;
pub(super) use threads::{Need, Source};

/// A close that was handed over.
pub(super) struct Job {
    /// Jobs are numbered in the order in which they were handed over.
    pub(super) number: u64,
    pub(super) handle: Handle,
    pub(super) path: Option<Box<Path>>,
    spot: Spot,
    /// See [`Job::ask_path`].
    asked: AskedPath,
    /// Whether no earlier close of the same file is pending.
    is_ready: bool,
    /// A waiter has timed out on this close. Later waiters skip it, unless it is certainly in their way.
    is_given_up: bool,
}

/// A close that is being made.
struct Closing {
    number: u64,
    spot: Spot,
    asked: AskedPath,
    is_given_up: bool,
}

impl Job {
    /// To be called without the lock before the close. Others wait for the answer.
    pub(super) fn ask_path(&self) {
        self.asked.get_or_init(|| self.spot.ask_path(&self.handle));
    }
}

impl Closing {
    fn hinders(&self, affected: &Affected) -> Hinders {
        self.spot.hinders(affected, self.asked.get().and_then(Option::as_ref))
    }
}

/// The pending closes of one volume, as far as a thread could make them now.
struct Volume {
    id: u64,
    /// How many wait for a thread and nothing else.
    ready: usize,
    closing: usize,
}

/// Pending closes, the threads that make them, and the errors that no wait has taken yet.
///
/// Every job has a number. A wait notes the number that the next job will have, and lasts until no job with a lower one
/// is pending.
///
/// - **Closes of one file are made in their order**: only the first job of a file is ready.
/// - **A volume whose closes hang holds up no other volume**: each volume may have as many threads as the closer is
///   allowed.
///
/// A thread is starting, idle, woken (and not there yet) or closing. Starting and woken threads will look at the queue,
/// and closing ones will when they are done; so if no more jobs wait than threads are starting or woken, each job has
/// its thread. A worker that the executor does not begin for long counts as late, and no longer as starting.
pub(super) struct Queue {
    waiting: VecDeque<Job>,
    closing: Vec<Closing>,
    next: u64,
    capacity: usize,
    /// How many closes are pending of each file.
    files: HashMap<Identity, usize>,
    volumes: Vec<Volume>,

    /// For each running wait: the number below which no job may be pending when it ends.
    awaited: Vec<u64>,
    /// How many threads wait for single closes.
    pub(super) watchers: usize,

    peak_pending: usize,

    /// For each volume.
    max_threads: usize,
    /// Of the executor; 0: there is none, or it takes no work.
    max_workers: usize,
    threads: usize,
    /// Those of the threads that are the executor's.
    workers: usize,
    starting: usize,
    /// Workers that the executor was given and has not begun.
    given: Given,
    idle: usize,
    woken: usize,
    shut_down: bool,

    kept: Collected,
}

impl Queue {
    pub(super) fn new(capacity: usize, max_threads: usize) -> Queue {
        Queue {
            waiting: VecDeque::new(),
            closing: Vec::new(),
            next: 0,
            capacity,
            files: HashMap::new(),
            volumes: Vec::new(),
            awaited: Vec::new(),
            watchers: 0,
            peak_pending: 0,
            max_threads,
            max_workers: 0,
            threads: 0,
            workers: 0,
            starting: 0,
            given: Given::default(),
            idle: 0,
            woken: 0,
            shut_down: false,
            kept: Collected::default(),
        }
    }

    /// Waiting or being closed.
    pub(super) fn pending(&self) -> usize {
        self.waiting.len() + self.closing.len()
    }

    /// Whether no more may be handed over now.
    pub(super) fn is_full(&self) -> bool {
        self.pending() >= self.capacity
    }

    /// How many were ever handed over.
    pub(super) fn handed_over(&self) -> u64 {
        self.next
    }

    /// The most that were pending at once.
    pub(super) fn peak_pending(&self) -> usize {
        self.peak_pending
    }

    // Jobs.

    /// Takes a handle that is to be closed.
    pub(super) fn push(&mut self, handle: Handle, path: Option<Box<Path>>, spot: Spot) -> Need {
        let number = self.count(&spot);
        let is_ready = spot.file().is_none_or(|file| self.files[&file] == 1);
        if is_ready {
            self.volume(&spot).ready += 1;
        }
        let asked = AskedPath::default();
        self.waiting.push_back(Job { number, handle, path, spot, asked, is_ready, is_given_up: false });
        self.peak_pending = self.peak_pending.max(self.pending());
        self.need()
    }

    /// A close that a thread of its own makes, which has been started for it.
    #[cfg(feature = "tokio")]
    pub(super) fn begin_apart(&mut self, spot: Spot) -> u64 {
        let number = self.count(&spot);
        self.volume(&spot).closing += 1;
        self.closing.push(Closing { number, spot, asked: Arc::new(None.into()), is_given_up: false });
        self.peak_pending = self.peak_pending.max(self.pending());
        number
    }

    fn count(&mut self, spot: &Spot) -> u64 {
        if let Some(file) = spot.file() {
            *self.files.entry(file).or_default() += 1;
        }
        self.next += 1;
        self.next - 1
    }

    fn volume(&mut self, spot: &Spot) -> &mut Volume {
        let id = spot.volume();
        let index = self.volumes.iter().position(|volume| volume.id == id).unwrap_or_else(|| {
            self.volumes.push(Volume { id, ready: 0, closing: 0 });
            self.volumes.len() - 1
        });
        &mut self.volumes[index]
    }

    /// The next job of a thread that is free.
    pub(super) fn pop(&mut self) -> Option<Job> {
        let has_room = |id| {
            let volume = self.volumes.iter().find(|volume| volume.id == id);
            volume.is_none_or(|volume| volume.closing < self.max_threads)
        };
        self.take(self.waiting.iter().position(|job| job.is_ready && has_room(job.spot.volume()))?)
    }

    /// The first job before this number that a caller may close in place of a thread.
    pub(super) fn pop_plain(&mut self, before: u64) -> Option<Job> {
        let index = self.waiting.iter().position(|job| job.is_ready && job.handle.is_plain())?;
        (self.waiting[index].number < before).then(|| self.take(index))?
    }

    /// Asks for the paths of the files that wait, if `affected` is a folder: the paths tell whether these files are in
    /// it.
    pub(super) fn learn_paths(&mut self, affected: &Affected) {
        if let Affected::Folder(_) | Affected::Entries(_) = affected {
            self.waiting.iter_mut().for_each(|job| job.spot.learn_path(&job.handle));
        }
    }

    /// A path of a close before this number that is just being asked for and tells whether `affected` has to wait.
    pub(super) fn being_asked(&self, affected: &Affected, before: u64) -> Option<AskedPath> {
        let by_path = matches!(affected, Affected::Folder(_) | Affected::Entries(_));
        let mut closing = self.closing.iter().filter(|closing| by_path && closing.number < before);
        closing.find(|closing| closing.asked.get().is_none()).map(|closing| closing.asked.clone())
    }

    /// The first job in the way of `affected` that a caller may close in place of a thread.
    pub(super) fn pop_hindering(&mut self, affected: &Affected, before: u64) -> Option<Job> {
        let index = self.waiting.iter().position(|job| {
            job.is_ready && job.handle.is_plain() && job.spot.hinders(affected, None) == Hinders::Surely
        })?;
        (self.waiting[index].number < before).then(|| self.take(index))?
    }

    fn take(&mut self, index: usize) -> Option<Job> {
        let job = self.waiting.remove(index)?;
        if !job.spot.has_more_to_ask(&job.handle) {
            job.ask_path();
        }
        let volume = self.volume(&job.spot);
        volume.ready -= 1;
        volume.closing += 1;
        self.closing.push(Closing {
            number: job.number,
            spot: job.spot.clone(),
            asked: job.asked.clone(),
            is_given_up: job.is_given_up,
        });
        Some(job)
    }

    /// A close was made. `true` if a thread may wait for it.
    #[must_use]
    pub(super) fn finish(&mut self, number: u64) -> bool {
        let Some(index) = self.closing.iter().position(|closing| closing.number == number) else { return false };
        let Closing { spot, .. } = self.closing.swap_remove(index);
        self.volume(&spot).closing -= 1;
        if let Some(file) = spot.file() {
            self.make_next_ready(file);
        }
        self.volumes.retain(|volume| volume.ready + volume.closing > 0);
        self.watchers > 0 || self.awaited.iter().any(|until| self.is_done(*until))
    }

    fn make_next_ready(&mut self, file: Identity) {
        let Some(pending) = self.files.get_mut(&file) else { return };
        *pending -= 1;
        if *pending == 0 {
            self.files.remove(&file);
            return;
        }
        // A file that is closed on a thread of its own comes before jobs that wait.
        if self.closing.iter().any(|closing| closing.spot.file() == Some(file)) {
            return;
        }
        let Some(next) = self.waiting.iter_mut().find(|job| job.spot.file() == Some(file)) else { return };
        if !std::mem::replace(&mut next.is_ready, true) {
            let spot = next.spot.clone();
            self.volume(&spot).ready += 1;
        }
    }

    // Waiting.

    /// Where a wait that begins now ends: see [`is_done`](Queue::is_done).
    pub(super) fn now(&self) -> u64 {
        self.next
    }

    pub(super) fn begin_wait(&mut self, until: u64) {
        self.awaited.push(until);
    }

    pub(super) fn end_wait(&mut self, until: u64) {
        if let Some(index) = self.awaited.iter().position(|own| *own == until) {
            self.awaited.swap_remove(index);
        }
    }

    /// Whether no job before this number is pending.
    pub(super) fn is_done(&self, until: u64) -> bool {
        self.waiting.front().is_none_or(|job| job.number >= until)
            && self.closing.iter().all(|closing| closing.number >= until)
    }

    /// Whether a job before this number waits for a thread that may run code of a user.
    pub(super) fn has_other(&self, until: u64) -> bool {
        self.waiting.iter().take_while(|job| job.number < until).any(|job| job.is_ready && !job.handle.is_plain())
    }

    /// How much the pending closes before this number are in the way of `affected`.
    pub(super) fn hinders(&self, affected: &Affected, before: u64) -> Hinders {
        let waiting = self.waiting.iter().filter(|job| job.number < before);
        let waiting = waiting.map(|job| (job.spot.hinders(affected, None), job.is_given_up));
        let closing = self.closing.iter().filter(|closing| closing.number < before);
        let closing = closing.map(|closing| (closing.hinders(affected), closing.is_given_up));
        let mut most = Hinders::No;
        for (hinders, is_given_up) in waiting.chain(closing) {
            match hinders {
                Hinders::Surely => return Hinders::Surely,
                Hinders::Perhaps if !is_given_up => most = Hinders::Perhaps,
                _ => {}
            }
        }
        most
    }

    /// Marks the pending closes that only may concern `affected`: waiters skip them from now on.
    pub(super) fn give_up_on(&mut self, affected: &Affected, before: u64) {
        for job in self.waiting.iter_mut().take_while(|job| job.number < before) {
            job.is_given_up |= job.spot.hinders(affected, None) == Hinders::Perhaps;
        }
        for closing in self.closing.iter_mut().filter(|closing| closing.number < before) {
            closing.is_given_up |= closing.hinders(affected) == Hinders::Perhaps;
        }
    }

    // Errors.

    pub(super) fn keep(&mut self, error: crate::Error) {
        self.kept.add(error);
    }

    pub(super) fn take_errors(&mut self) -> Collected {
        std::mem::take(&mut self.kept)
    }
}
