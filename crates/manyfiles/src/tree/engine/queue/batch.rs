//! What threads take, and give back when it is done.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::Queue;
use crate::tree::engine::folders::{Folder, FolderId};
use crate::tree::engine::job::{Job, Work};

/// How many waiting entries, or bytes of them, make it worth to wake another thread: waking costs as much as writing a
/// file.
const WORTH_A_THREAD: (usize, usize) = (32, 256 << 10);

/// A batch is at most this many entries, about this much time, and this many bytes (or one entry), so that the threads
/// share evenly at the end.
const BATCH: usize = 64;
const BATCH_TIME: Duration = Duration::from_micros(500);
const BATCH_BYTES: usize = 512 << 10;

/// Empty lists that are kept for the next folders.
const SPARE: usize = 64;

/// Files of this size take so much longer to write than to open that threads don't wait for each other in one folder.
const LARGE: usize = 32 << 10;

/// Waiting entries of one folder that make it worth to split opening from writing, where no other folder needs a
/// thread.
const WORTH_A_PIPELINE: usize = 96;

/// What a thread takes: entries of one folder.
#[derive(Debug)]
pub(in crate::tree::engine) struct Batch {
    pub(in crate::tree::engine) folder: Arc<Folder>,
    pub(in crate::tree::engine) jobs: VecDeque<Job>,
    /// The folder has many more, and no other folder waits for a thread: open here and let another thread write.
    pub(in crate::tree::engine) hot: bool,
}

/// What became of (part of) a batch.
#[derive(Debug, Default)]
pub(in crate::tree::engine) struct Done {
    /// Names in the batch's folder that were held for these jobs.
    pub(in crate::tree::engine) names: Vec<u64>,
    /// The other names of links, with their folders.
    pub(in crate::tree::engine) others: Vec<(FolderId, u64)>,
    /// Folders that were waited for.
    pub(in crate::tree::engine) reached: Vec<FolderId>,
    pub(in crate::tree::engine) jobs: usize,
    /// Those of the jobs that are entries: a caller handed them over.
    pub(in crate::tree::engine) entries: usize,
    pub(in crate::tree::engine) weight: usize,
}

impl Done {
    pub(in crate::tree::engine) fn count(&mut self, job: &Job) {
        if job.holds {
            self.names.push(job.key);
        }
        if let Work::Link(link) = &job.work {
            self.others.extend(link.first.get().copied().flatten());
        }
        if let Work::Reach(folder) = &job.work {
            self.reached.push(folder.id);
        }
        self.jobs += 1;
        self.entries += usize::from(job.is_entry());
        self.weight += job.weight();
    }
}

impl Queue {
    /// Whether threads gain by working in the folder together: where calls wait, or files are large.
    pub(super) fn is_shared(&self, id: FolderId) -> bool {
        let pending = self.pending.get(id);
        let large = pending.weight >= BATCH_BYTES && pending.weight / LARGE >= pending.jobs.len();
        (self.is_wide() || large) && self.folders.get(id).made.load(Relaxed)
    }

    /// Lists the folder as one that a thread may take from, if so it is.
    pub(super) fn list(&mut self, id: FolderId) {
        let pending = self.pending.get(id);
        if pending.listed || pending.blocked || pending.jobs.is_empty() {
            return;
        }
        if pending.threads == 0 || (!pending.exclusive && self.is_shared(id)) {
            self.pending.get_mut(id).listed = true;
            self.ready.push_back(id);
        }
    }

    /// Folders that a thread can take from.
    pub(in crate::tree::engine) fn free_folders(&self) -> usize {
        self.ready.len()
    }

    /// Whether another thread, beside those `busy`, would have enough to do.
    pub(in crate::tree::engine) fn wants_thread(&self, busy: usize, urgent: bool) -> bool {
        if self.ready.is_empty() || busy >= self.target {
            return false;
        }
        let (jobs, bytes) = WORTH_A_THREAD;
        busy == 0 || urgent || self.is_wide() || self.waiting >= jobs * busy || self.waiting_weight >= bytes * busy
    }

    /// Work for one thread; `others` are busy. The thread says [`done`](Queue::done) for each job of it, sooner or
    /// later.
    pub(in crate::tree::engine) fn take(&mut self, others: usize) -> Option<Batch> {
        let wide = self.is_wide();
        for _ in 0..self.ready.len() {
            let id = self.ready.pop_front()?;
            let fair = if wide { self.waiting.div_ceil(2 * self.target) } else { BATCH };
            let in_time = (BATCH_TIME.as_nanos() / self.per_file.as_nanos().max(1)) as usize;
            let most = in_time.min(fair).clamp(1, BATCH);
            let others_wait = !self.ready.is_empty();
            let shared = self.is_shared(id);
            let pending = self.pending.get_mut(id);
            pending.listed = false;
            let hot = !wide
                && !others_wait
                && others == 0
                && self.cores > 1
                && most >= 8
                && pending.jobs.len() >= most + WORTH_A_PIPELINE
                && self.pace.is_known();
            // The other half of a pipeline may still be writing what another thread opened.
            pending.exclusive = !hot && !shared && pending.threads == 0;
            let jobs = self.take_from(id, most);
            let pending = self.pending.get_mut(id);
            if jobs.is_empty() {
                pending.exclusive = false; // What there is, is parked.
                self.forget_idle(id);
                continue;
            }
            pending.threads += 1;
            self.list(id);
            return Some(Batch { folder: self.folders.get(id).clone(), jobs, hot });
        }
        None
    }

    /// The first entries that can be begun, up to `most` of them. What is for a held name is parked.
    pub(super) fn take_from(&mut self, id: FolderId, most: usize) -> VecDeque<Job> {
        let pending = self.pending.get_mut(id);
        // Most folders are filled once: their list becomes the batch, and no room is kept for more.
        let whole = pending.exclusive && pending.held.is_empty() && pending.jobs.len() <= most;
        if whole && pending.weight <= BATCH_BYTES && !pending.jobs.iter().any(|job| matches!(job.work, Work::Link(_))) {
            self.waiting -= pending.jobs.len();
            self.waiting_weight -= std::mem::take(&mut pending.weight);
            pending.taken.extend(pending.jobs.iter().map(|job| job.key));
            return std::mem::take(&mut pending.jobs);
        }
        let mut batch = self.spare.pop().unwrap_or_default();
        let mut weight = 0;
        while batch.len() < most && weight < BATCH_BYTES {
            let Some(mut job) = pending.jobs.pop_front() else { break };
            // A half of a link holds its name for longer than the batch: what is before it must be done.
            if matches!(job.work, Work::Link(_)) && pending.taken.contains(&job.key) {
                pending.jobs.push_front(job);
                break;
            }
            let own = job.weight();
            (self.waiting, self.waiting_weight) = (self.waiting - 1, self.waiting_weight - own);
            pending.weight -= own;
            if !job.holds {
                // Both names of a link may be one.
                let by_other_half =
                    matches!(&job.work, Work::Link(link) if link.first.get() == Some(&Some((id, job.key))));
                match pending.held.entry(job.key) {
                    Entry::Occupied(mut parked) if !by_other_half => {
                        parked.get_mut().push_back(job);
                        self.parked += 1;
                        continue;
                    }
                    Entry::Occupied(_) => {}
                    Entry::Vacant(free) => {
                        let waits = matches!(&job.work, Work::Link(link) if link.first.get().is_none());
                        if !pending.exclusive || waits {
                            free.insert(VecDeque::new());
                            job.holds = true;
                        }
                    }
                }
            }
            if let Work::Link(link) = &job.work
                && link.first.get().is_none()
            {
                // The other half does the work, and releases the name. It may wait for this very name.
                let is_other = |job: &Job| matches!(&job.work, Work::Link(other) if Arc::ptr_eq(other, link));
                let parked = pending.held.get_mut(&job.key);
                let other = parked.and_then(|parked| {
                    let at = parked.iter().position(is_other)?;
                    parked.remove(at)
                });
                link.first.get_or_init(|| other.is_none().then_some((id, job.key)));
                self.unfinished -= 1;
                self.unfinished_weight -= own;
                let Some(other) = other else { continue };
                self.parked -= 1;
                job = other;
                job.holds = true;
            }
            if pending.exclusive {
                pending.taken.push(job.key);
            }
            weight += own;
            batch.push_back(job);
        }
        batch
    }

    pub(super) fn keep(&mut self, list: VecDeque<Job>) {
        if self.spare.len() < SPARE && (1..=2 * BATCH).contains(&list.capacity()) {
            self.spare.push(list);
        }
    }

    /// More of a folder that the thread has: for a pipeline. `None` when there is too little left, or another folder
    /// wants the thread.
    pub(in crate::tree::engine) fn take_more(&mut self, id: FolderId, most: usize) -> Option<VecDeque<Job>> {
        let pending = self.pending.get(id);
        if self.is_wide() || !self.ready.is_empty() || pending.exclusive || pending.jobs.len() < most {
            return None;
        }
        let jobs = self.take_from(id, most);
        (!jobs.is_empty()).then_some(jobs)
    }

    /// Puts back what a thread took and did not begin, in front. Names stay held for what holds them.
    pub(in crate::tree::engine) fn put_back(&mut self, id: FolderId, mut jobs: VecDeque<Job>) {
        while let Some(job) = jobs.pop_back() {
            self.enqueue(id, job, true);
        }
        self.keep(jobs);
    }

    /// Notes that jobs of this folder are done with.
    pub(in crate::tree::engine) fn done(&mut self, id: FolderId, done: &Done) {
        self.unfinished -= done.jobs;
        self.unfinished_weight -= done.weight;
        for &key in &done.names {
            self.release(id, key);
        }
        for &(other, key) in &done.others {
            self.release(other, key);
        }
        for &reached in &done.reached {
            let pending = self.pending.get_mut(reached);
            if std::mem::take(&mut pending.blocked) {
                self.parked -= pending.jobs.len();
                self.waiting += pending.jobs.len();
                self.waiting_weight += pending.weight;
                self.list(reached);
            }
            self.forget_idle(reached);
        }
        self.list(id);
    }

    /// Notes that a thread has left this folder.
    pub(in crate::tree::engine) fn leave(&mut self, id: FolderId) {
        let pending = self.pending.get_mut(id);
        pending.threads -= 1;
        if pending.threads == 0 {
            pending.exclusive = false;
            pending.taken = Vec::new();
        }
        self.list(id);
        self.forget_made(id);
        self.forget_idle(id);
    }

    /// Keeps nothing of a folder in which nothing is left to do.
    pub(super) fn forget_idle(&mut self, id: FolderId) {
        if let Some(jobs) = self.pending.forget_idle(id) {
            self.keep(jobs);
        }
    }
}
