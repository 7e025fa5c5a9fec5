//! What waits to be written, by folder, and which thread takes what next. Plain data: the caller has the lock.
//!
//! A folder is worked on by one thread at a time, because the file system locks it anyway; by many where calls wait
//! (`wide`), or files are large. Entries of one name are written one after the other, in the order in which they were
//! handed over.
//!
//! That order is kept by *holding* names. A name is held while a stream writes it, while a link waits for its other
//! half, and, where threads share a folder, while a thread has an entry of it. What comes for a held name is parked
//! behind it, and holds up nothing else.
//!
//! [`pending`] has what waits in one folder, [`names`] the order of one name's entries, [`unmade`] the folders that
//! come before what has their names, [`batch`] what threads take and give back.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use super::folders::{FolderId, Folders};
use super::job::{Job, Work};
use super::name::Keys;
use crate::tree::pace::{Pace, threads_for};

mod batch;
mod names;
mod pending;
mod unmade;

pub(super) use batch::{Batch, Done};
use pending::PendingFolders;

/// Entries handed over and not yet done with, at most: with a name each, some 1 MB.
const MOST_JOBS: usize = 8192;

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) folders: Folders,
    pending: PendingFolders,
    /// How many folders have their place in the order of names.
    known: usize,
    keys: Keys,
    ready: VecDeque<FolderId>,
    /// Empty lists to be used again: allocated by one thread and freed by another they would cost as much as the files.
    spare: Vec<VecDeque<Job>>,
    /// Entries that threads can take.
    waiting: usize,
    waiting_weight: usize,
    /// Entries that are parked behind a name, or whose folder waits for its own.
    parked: usize,
    /// Entries that wait, entries that are parked, and entries that threads are at work on.
    pub(super) unfinished: usize,
    pub(super) unfinished_weight: usize,
    pub(super) pace: Pace,
    per_file: Duration,
    /// As many threads as fit a fast file system.
    cores: usize,
    /// How many there should be.
    pub(super) target: usize,
    /// How many there may be. See [`Lesson::learn`](super::lesson::Lesson::learn).
    pub(super) most: usize,
    /// Paths of the entries that a cancellation dropped, where the program has a callback for entries.
    pub(super) dropped: Option<Vec<PathBuf>>,
}

impl Queue {
    /// `root_folds`: whether the root holds names as one that differ in case.
    pub(super) fn new(cores: usize, root_folds: bool) -> Queue {
        let keys = Keys::new();
        Queue {
            folders: Folders::new(keys.clone(), root_folds),
            pending: PendingFolders::default(),
            known: 1,
            keys,
            ready: VecDeque::new(),
            spare: Vec::new(),
            waiting: 0,
            waiting_weight: 0,
            parked: 0,
            unfinished: 0,
            unfinished_weight: 0,
            pace: Pace::default(),
            per_file: Duration::from_micros(100),
            cores,
            target: cores,
            most: usize::MAX,
            dropped: None,
        }
    }

    /// Whether an entry of this weight may be handed over now.
    pub(super) fn has_room(&self, weight: usize, limit: usize) -> bool {
        self.unfinished == 0 || (self.unfinished < MOST_JOBS && self.unfinished_weight.saturating_add(weight) <= limit)
    }

    /// Whether half of the room is free, so that the callers that wait for it are worth waking.
    pub(super) fn has_plenty_of_room(&self, limit: usize) -> bool {
        self.unfinished == 0 || (self.unfinished <= MOST_JOBS / 2 && self.unfinished_weight <= limit / 2)
    }

    /// Whether nothing goes on before a stream is closed: all entries are parked, and only streams hold names.
    pub(super) fn waits_for_streams(&self) -> bool {
        self.unfinished == self.parked
    }

    pub(super) fn push(&mut self, id: FolderId, job: Job) {
        self.need(id);
        self.push_source(id, job);
    }

    /// As `push`, for the half of a link that stands in the order of its source: it needs no folder.
    pub(super) fn push_source(&mut self, id: FolderId, mut job: Job) {
        job.key = self.key(id, &job.name);
        if !job.name.is_empty() {
            self.reach_before(id, job.key);
        }
        self.unfinished += 1;
        self.unfinished_weight += job.weight();
        let pending = self.pending.get_mut(id);
        if pending.jobs.capacity() == 0 {
            pending.jobs = self.spare.pop().unwrap_or_default();
        }
        self.enqueue(id, job, false);
    }

    /// Puts a job where threads take from.
    fn enqueue(&mut self, id: FolderId, job: Job, in_front: bool) {
        let pending = self.pending.get_mut(id);
        let weight = job.weight();
        if pending.blocked {
            self.parked += 1;
        } else {
            self.waiting += 1;
            self.waiting_weight += weight;
        }
        pending.weight += weight;
        if in_front {
            pending.jobs.push_front(job);
        } else {
            pending.jobs.push_back(job);
        }
        self.list(id);
    }

    /// Whether there are to be more threads than cores, because the file system makes its callers wait.
    pub(super) fn is_wide(&self) -> bool {
        self.target > self.cores
    }

    /// Throws away all waiting entries, after a cancellation, and returns their number.
    pub(super) fn drop_waiting(&mut self) -> usize {
        let (mut jobs, mut entries) = (0, 0);
        for (id, pending) in self.pending.iter_mut() {
            pending.weight = 0;
            let parked = pending.held.values_mut().flat_map(|parked| parked.drain(..));
            for job in pending.jobs.drain(..).chain(parked) {
                jobs += 1;
                if job.drops_an_entry() {
                    entries += 1;
                    self.dropped.iter_mut().for_each(|dropped| {
                        dropped.push(match &job.work {
                            Work::Link(link) => link.to.join(&link.name),
                            _ => self.folders.get(id).join(&job.name),
                        });
                    });
                }
                self.unfinished_weight -= job.weight();
            }
        }
        self.unfinished -= jobs;
        (self.waiting, self.waiting_weight, self.parked) = (0, 0, 0);
        entries
    }

    /// Learns from the files of one batch: the time of a file, and how long a file waited for the file system, if
    /// known.
    pub(super) fn learn(&mut self, per_file: Duration, waited: Option<Duration>) {
        let known = self.pace.is_known();
        self.per_file = if known { (self.per_file * 3 + per_file) / 4 } else { per_file };
        let Some(waited) = waited else { return };
        self.pace.note(waited);
        let was_wide = self.is_wide();
        self.target = threads_for(self.pace.latency(), self.cores, self.target).min(self.most.max(self.cores));
        if self.is_wide() && !was_wide {
            self.pending.ids().into_iter().for_each(|id| self.list(id));
        }
    }
}

#[cfg(test)]
mod tests;
