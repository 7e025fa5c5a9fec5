//! What waits to be written, by folder, and which thread takes what next. Plain data: the caller has the lock.
//!
//! A folder is worked on by one thread at a time, because the file system locks it anyway; by many where calls wait (`wide`), or
//! files are large. Entries of one name are written one after the other, in the order in which they were handed over.
//!
//! That order is kept by *holding* names. A name is held while a stream writes it, while a link waits for its other half, and,
//! where threads share a folder, while a thread has an entry of it. What comes for a held name is parked behind it, and holds up
//! nothing else.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::ffi::OsStr;
use std::hash::BuildHasherDefault;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::folders::{Folder, FolderId, Folders, Identity};
use super::job::{Job, Work};
use super::name::Keys;
use super::pace::{Pace, threads_for};

/// Entries handed over and not yet done with, at most: with a name each, some 1 MB.
const MOST_JOBS: usize = 8192;

/// How many waiting entries, or bytes of them, make it worth to wake another thread: waking costs as much as writing a file.
const WORTH_A_THREAD: (usize, usize) = (32, 256 << 10);

/// A batch is at most this many entries, about this much time, and this many bytes (or one entry), so that the threads share
/// evenly at the end.
const BATCH: usize = 64;
const BATCH_TIME: Duration = Duration::from_micros(500);
const BATCH_BYTES: usize = 512 << 10;

/// Empty lists that are kept for the next folders.
const SPARE: usize = 64;

/// Files of this size take so much longer to write than to open that threads don't wait for each other in one folder.
const LARGE: usize = 32 << 10;

/// Waiting entries of one folder that make it worth to split opening from writing, where no other folder needs a thread.
const WORTH_A_PIPELINE: usize = 96;

/// Of a folder with more folders than this that may not be made yet, those that are made are forgotten.
const MOST_UNMADE: usize = 64;

/// Held names by their keys, each with the jobs that are parked behind it.
type Held = HashMap<u64, VecDeque<Job>, BuildHasherDefault<Identity>>;

/// The entries of one folder, in the order in which they were handed over.
#[derive(Debug, Default)]
struct Pending {
    jobs: VecDeque<Job>,
    weight: usize,
    /// Whether one thread has taken entries and no other may. It writes them in their order, so that their names need not be
    /// held.
    exclusive: bool,
    /// The keys of the names that this thread has.
    taken: Vec<u64>,
    held: Held,
    /// Threads at work in the folder.
    threads: u32,
    /// Whether the folder stands in `ready`.
    listed: bool,
    /// Whether what has to be done before under the folder's own name is not done yet.
    blocked: bool,
    /// Folders in it that may not be made yet, by the keys of their names.
    unmade: HashMap<u64, FolderId, BuildHasherDefault<Identity>>,
}

impl Pending {
    fn is_free(&self, key: u64) -> bool {
        !self.held.contains_key(&key) && !self.taken.contains(&key) && !self.jobs.iter().any(|job| job.key == key)
    }
}

/// What a thread takes: entries of one folder.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) folder: Arc<Folder>,
    pub(super) jobs: VecDeque<Job>,
    /// The folder has many more, and no other folder waits for a thread: open here and let another thread write.
    pub(super) hot: bool,
}

/// What became of (part of) a batch.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Names in the batch's folder that were held for these jobs.
    pub(super) names: Vec<u64>,
    /// The other names of links, with their folders.
    pub(super) others: Vec<(FolderId, u64)>,
    /// Folders that were waited for.
    pub(super) reached: Vec<FolderId>,
    pub(super) jobs: usize,
    /// Those of the jobs that somebody handed over.
    pub(super) entries: usize,
    pub(super) weight: usize,
}

impl Done {
    pub(super) fn count(&mut self, job: &Job) {
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

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) folders: Folders,
    pending: Vec<Pending>,
    keys: Keys,
    ready: VecDeque<FolderId>,
    /// Empty lists to be used again: allocated by one thread and freed by another they would cost as much as the files.
    spare: Vec<VecDeque<Job>>,
    /// Entries that threads can take.
    waiting: usize,
    waiting_weight: usize,
    /// Entries that are parked behind a name, or whose folder waits for its own.
    parked: usize,
    /// Those that wait, those that are parked, and what threads are at work on.
    pub(super) unfinished: usize,
    pub(super) unfinished_weight: usize,
    pub(super) pace: Pace,
    per_file: Duration,
    /// As many threads as fit a fast file system.
    cores: usize,
    /// How many there should be.
    pub(super) target: usize,
    /// Paths of the entries that a cancellation dropped, if anybody is told of them.
    pub(super) dropped: Option<Vec<PathBuf>>,
}

impl Queue {
    /// `root_folds`: whether the root holds names as one that differ in case.
    pub(super) fn new(cores: usize, root_folds: bool) -> Queue {
        let keys = Keys::new();
        Queue {
            folders: Folders::new(keys.clone(), root_folds),
            pending: vec![Pending::default()],
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
            dropped: None,
        }
    }

    /// The folder with this path, which is checked and in normal form.
    pub(super) fn folder(&mut self, path: &OsStr) -> FolderId {
        let id = self.folders.of(path);
        while self.pending.len() < self.folders.len() {
            let new = self.folders.get(self.pending.len() as FolderId).clone();
            self.pending.push(Pending::default());
            self.add_below(new);
        }
        id
    }

    /// Puts a folder that was named for the first time into the order of its name. It is made when an entry needs it, unless its
    /// name is in use: then after that, and what is in it waits.
    fn add_below(&mut self, folder: Arc<Folder>) {
        let Some(parent) = folder.parent.as_ref().map(|parent| parent.id) else { return };
        let key = self.key(parent, &folder.name);
        let above = &self.pending[parent as usize];
        if above.blocked || !above.is_free(key) {
            self.pending[folder.id as usize].blocked = true;
            self.reach(parent, folder);
        }
    }

    /// An entry is to be written in this folder: those above it that may not be made yet are before what comes under their
    /// names.
    fn need(&mut self, id: FolderId) {
        let mut folder = self.folders.get(id).clone();
        while !folder.needed.swap(true, Relaxed)
            && let Some(parent) = folder.parent.clone()
        {
            if !folder.made.load(Relaxed) {
                let key = self.key(parent.id, &folder.name);
                let Queue { folders, pending, .. } = self;
                let unmade = &mut pending[parent.id as usize].unmade;
                if unmade.len() >= MOST_UNMADE {
                    unmade.retain(|_, &mut id| !folders.get(id).made.load(Relaxed));
                }
                unmade.insert(key, folder.id);
            }
            folder = parent;
        }
    }

    fn reach(&mut self, parent: FolderId, folder: Arc<Folder>) {
        let mut job = Job::new(&folder.name, Work::Reach(folder.clone()));
        job.key = self.key(parent, &folder.name);
        self.unfinished += 1;
        self.unfinished_weight += job.weight();
        self.enqueue(parent, job, false);
    }

    /// An entry of this name comes: a folder of the name that is needed before, and may not be made yet, is made before.
    fn reach_before(&mut self, id: FolderId, key: u64) {
        if self.pending[id as usize].unmade.is_empty() {
            return;
        }
        if let Some(child) = self.pending[id as usize].unmade.remove(&key)
            && !self.folders.get(child).made.load(Relaxed)
        {
            self.reach(id, self.folders.get(child).clone());
        }
    }

    /// Whether what is in the folder waits for its name.
    pub(super) fn is_blocked(&self, id: FolderId) -> bool {
        self.pending[id as usize].blocked
    }

    fn key(&self, id: FolderId, name: &OsStr) -> u64 {
        if self.folders.get(id).folds.load(Relaxed) { self.keys.folded(name) } else { self.keys.exact(name) }
    }

    /// Notes that a folder which was there before folds names.
    pub(super) fn fold_names(&mut self, folder: &Folder) {
        folder.folds.store(true, Relaxed);
        for job in &mut self.pending[folder.id as usize].jobs {
            if !job.holds {
                job.key = self.keys.folded(&job.name);
            }
        }
    }

    /// Whether an entry of this weight may be handed over now.
    pub(super) fn has_room(&self, weight: usize, limit: usize) -> bool {
        self.unfinished == 0 || (self.unfinished < MOST_JOBS && self.unfinished_weight.saturating_add(weight) <= limit)
    }

    /// Whether enough has been done since [`has_room`](Queue::has_room) said no that it is worth to wake who waits for it.
    pub(super) fn has_plenty_of_room(&self, limit: usize) -> bool {
        self.unfinished == 0 || (self.unfinished <= MOST_JOBS / 2 && self.unfinished_weight <= limit / 2)
    }

    /// Whether nothing goes on before a stream is closed: all there is, is parked, and what holds names is streams.
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
        if self.pending[id as usize].jobs.capacity() == 0 {
            self.pending[id as usize].jobs = self.spare.pop().unwrap_or_default();
        }
        self.enqueue(id, job, false);
    }

    /// Puts a job where threads take from.
    fn enqueue(&mut self, id: FolderId, job: Job, in_front: bool) {
        let pending = &mut self.pending[id as usize];
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

    /// Whether threads gain by working in the folder together: where calls wait, or files are large.
    fn is_shared(&self, id: FolderId) -> bool {
        let pending = &self.pending[id as usize];
        let large = pending.weight >= BATCH_BYTES && pending.weight / LARGE >= pending.jobs.len();
        (self.is_wide() || large) && self.folders.get(id).made.load(Relaxed)
    }

    /// Lists the folder as one that a thread may take from, if so it is.
    fn list(&mut self, id: FolderId) {
        let pending = &self.pending[id as usize];
        if pending.listed || pending.blocked || pending.jobs.is_empty() {
            return;
        }
        if pending.threads == 0 || (!pending.exclusive && self.is_shared(id)) {
            self.pending[id as usize].listed = true;
            self.ready.push_back(id);
        }
    }

    /// Folders that a thread can take from.
    pub(super) fn free_folders(&self) -> usize {
        self.ready.len()
    }

    /// Whether another thread, beside those `busy`, would have enough to do.
    pub(super) fn wants_thread(&self, busy: usize, urgent: bool) -> bool {
        if self.ready.is_empty() || busy >= self.target {
            return false;
        }
        let (jobs, bytes) = WORTH_A_THREAD;
        busy == 0 || urgent || self.is_wide() || self.waiting >= jobs * busy || self.waiting_weight >= bytes * busy
    }

    /// Work for one thread; `others` are busy. The thread says [`done`](Queue::done) for each job of it, sooner or later.
    pub(super) fn take(&mut self, others: usize) -> Option<Batch> {
        let wide = self.is_wide();
        for _ in 0..self.ready.len() {
            let id = self.ready.pop_front()?;
            let fair = if wide { self.waiting.div_ceil(2 * self.target) } else { BATCH };
            let in_time = (BATCH_TIME.as_nanos() / self.per_file.as_nanos().max(1)) as usize;
            let most = in_time.min(fair).clamp(1, BATCH);
            let others_wait = !self.ready.is_empty();
            let shared = self.is_shared(id);
            let pending = &mut self.pending[id as usize];
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
            let pending = &mut self.pending[id as usize];
            if jobs.is_empty() {
                pending.exclusive = false; // What there is, is parked.
                continue;
            }
            pending.threads += 1;
            self.list(id);
            return Some(Batch { folder: self.folders.get(id).clone(), jobs, hot });
        }
        None
    }

    /// The first entries that can be begun, up to `most` of them. What is for a held name is parked.
    fn take_from(&mut self, id: FolderId, most: usize) -> VecDeque<Job> {
        let pending = &mut self.pending[id as usize];
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

    fn keep(&mut self, list: VecDeque<Job>) {
        if self.spare.len() < SPARE && (1..=2 * BATCH).contains(&list.capacity()) {
            self.spare.push(list);
        }
    }

    /// More of a folder that the thread has: for a pipeline. `None` when there is too little left, or another folder wants the
    /// thread.
    pub(super) fn take_more(&mut self, id: FolderId, most: usize) -> Option<VecDeque<Job>> {
        let pending = &self.pending[id as usize];
        if self.is_wide() || !self.ready.is_empty() || pending.exclusive || pending.jobs.len() < most {
            return None;
        }
        let jobs = self.take_from(id, most);
        (!jobs.is_empty()).then_some(jobs)
    }

    /// Puts back what a thread took and did not begin, in front. Names stay held for what holds them.
    pub(super) fn put_back(&mut self, id: FolderId, mut jobs: VecDeque<Job>) {
        while let Some(job) = jobs.pop_back() {
            self.enqueue(id, job, true);
        }
        self.keep(jobs);
    }

    /// Notes that jobs of this folder are done with.
    pub(super) fn done(&mut self, id: FolderId, done: &Done) {
        self.unfinished -= done.jobs;
        self.unfinished_weight -= done.weight;
        for &key in &done.names {
            self.release(id, key);
        }
        for &(other, key) in &done.others {
            self.release(other, key);
        }
        for &reached in &done.reached {
            let pending = &mut self.pending[reached as usize];
            if std::mem::take(&mut pending.blocked) {
                self.parked -= pending.jobs.len();
                self.waiting += pending.jobs.len();
                self.waiting_weight += pending.weight;
                self.list(reached);
            }
        }
        self.list(id);
    }

    /// Gives a held name to the first job that is parked behind it, or to nobody.
    pub(super) fn release(&mut self, id: FolderId, key: u64) {
        let held = &mut self.pending[id as usize].held;
        let Entry::Occupied(mut parked) = held.entry(key) else { return };
        match parked.get_mut().pop_front() {
            Some(mut job) => {
                job.holds = true;
                self.parked -= 1;
                self.enqueue(id, job, true);
            }
            None => {
                parked.remove();
                if held.is_empty() {
                    *held = Held::default();
                }
            }
        }
    }

    /// Notes that a thread has left this folder.
    pub(super) fn leave(&mut self, id: FolderId) {
        let pending = &mut self.pending[id as usize];
        pending.threads -= 1;
        if pending.threads == 0 {
            pending.exclusive = false;
            pending.taken = Vec::new();
        }
        self.list(id);
    }

    /// Holds a name for a stream, which writes it without a job. `None` if the name is in use.
    pub(super) fn claim(&mut self, id: FolderId, name: &OsStr) -> Option<u64> {
        self.need(id);
        let key = self.key(id, name);
        self.reach_before(id, key);
        let pending = &mut self.pending[id as usize];
        if !pending.is_free(key) {
            return None;
        }
        pending.held.insert(key, VecDeque::new());
        Some(key)
    }

    /// Throws away what waits, after a cancellation, and says how many entries that was.
    pub(super) fn drop_waiting(&mut self) -> usize {
        let (mut jobs, mut entries) = (0, 0);
        for (id, pending) in self.pending.iter_mut().enumerate() {
            pending.weight = 0;
            let parked = pending.held.values_mut().flat_map(|parked| parked.drain(..));
            for job in pending.jobs.drain(..).chain(parked) {
                jobs += 1;
                if job.drops_an_entry() {
                    entries += 1;
                    self.dropped.iter_mut().for_each(|dropped| {
                        dropped.push(match &job.work {
                            Work::Link(link) => link.to.join(&link.name),
                            _ => self.folders.get(id as FolderId).join(&job.name),
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

    /// Learns from the files of one batch: what a file took, and what it waited for the file system, if that is known.
    pub(super) fn learn(&mut self, per_file: Duration, waited: Option<Duration>) {
        let known = self.pace.is_known();
        self.per_file = if known { (self.per_file * 3 + per_file) / 4 } else { per_file };
        let Some(waited) = waited else { return };
        self.pace.note(waited);
        let was_wide = self.is_wide();
        self.target = threads_for(self.pace.latency(), self.cores, self.target);
        if self.is_wide() && !was_wide {
            (0..self.pending.len()).for_each(|id| self.list(id as FolderId));
        }
    }
}

#[cfg(test)]
mod tests;
