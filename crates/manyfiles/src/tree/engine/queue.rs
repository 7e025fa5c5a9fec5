//! What waits to be written, by folder, and which thread takes what next.
//!
//! A folder is worked on by one thread at a time, because the file system locks it anyway; where calls wait (`wide`), or files
//! are large, by many.
//! Entries of one name are written one after the other, in the order in which they were handed over.

use std::collections::hash_map::HashMap;
use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::job::{Folder, FolderId, Job};
use super::pace::{Pace, threads_for};
use crate::tree::Metadata;

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

/// The entries of one folder, in the order in which they were handed over.
#[derive(Debug)]
struct Pending {
    folder: Arc<Folder>,
    jobs: VecDeque<Job>,
    weight: usize,
    /// Whether a thread has taken entries from it and no other may, so that their names need not be noted.
    exclusive: bool,
    /// Names being written now, by their keys.
    in_flight: HashSet<u64, std::hash::BuildHasherDefault<Identity>>,
    /// Threads at work in it.
    threads: u32,
    /// Whether it stands in `ready`.
    listed: bool,
    /// What an entry for the folder itself asked for.
    metadata: Option<Metadata>,
}

impl Pending {
    /// The first entries, up to `most` of them, and their weight. Where other threads may take from the folder too, a name that
    /// is being written, or is among them already, ends them: the second waits for the first.
    fn take(&mut self, most: usize, mut spare: VecDeque<Job>) -> (VecDeque<Job>, usize) {
        let (mut count, mut weight) = (0, 0);
        for job in self.jobs.iter().take(most) {
            if weight >= BATCH_BYTES || !(self.exclusive || self.in_flight.insert(job.key)) {
                break;
            }
            weight += job.weight();
            count += 1;
        }
        self.weight -= weight;
        // Most folders are filled once: those that are keep no room for more.
        if count == self.jobs.len() {
            return (std::mem::take(&mut self.jobs), weight);
        }
        spare.extend(self.jobs.drain(..count));
        (spare, weight)
    }

    /// Whether threads gain by working in it together: where calls wait, or files are large.
    fn is_shared(&self, wide: bool) -> bool {
        let large = self.weight >= BATCH_BYTES && self.weight / LARGE >= self.jobs.len();
        (wide || large) && self.folder.made.load(Relaxed)
    }

    /// Whether a thread may take from it now.
    fn is_free(&self, wide: bool) -> bool {
        self.threads == 0 || (!self.exclusive && self.is_shared(wide))
    }
}

/// What a thread takes: entries of one folder.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) folder: Arc<Folder>,
    pub(super) jobs: VecDeque<Job>,
    /// Whether their names are noted as in flight.
    pub(super) noted: bool,
    /// The folder has many more, and no other folder waits for a thread: open here and let another thread write.
    pub(super) hot: bool,
}

/// What became of (part of) a batch.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Whether the names were noted as in flight, and which they are.
    pub(super) noted: bool,
    pub(super) names: Vec<u64>,
    pub(super) jobs: usize,
    /// Those of the jobs that somebody handed over.
    pub(super) entries: usize,
    pub(super) weight: usize,
}

impl Done {
    pub(super) fn noted() -> Done {
        Done { noted: true, ..Done::default() }
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    folders: Vec<Pending>,
    by_path: HashMap<Box<OsStr>, FolderId>,
    /// Paths that this run makes symbolic links at, hashed: nothing may be written below them.
    links: HashSet<u64>,
    ready: VecDeque<FolderId>,
    /// Empty lists to be used again: allocated by one thread and freed by another they would cost as much as the files.
    spare: Vec<VecDeque<Job>>,
    last: FolderId,
    /// Entries in folders' queues.
    waiting: usize,
    waiting_weight: usize,
    /// Those, and what threads are at work on.
    pub(super) unfinished: usize,
    pub(super) unfinished_weight: usize,
    pub(super) pace: Pace,
    per_file: Duration,
    /// As many threads as fit a fast file system.
    cores: usize,
    /// How many there should be.
    pub(super) target: usize,
}

impl Queue {
    pub(super) fn new(cores: usize) -> Queue {
        let mut queue = Queue {
            folders: Vec::new(),
            by_path: HashMap::new(),
            links: HashSet::new(),
            ready: VecDeque::new(),
            spare: Vec::new(),
            last: 0,
            waiting: 0,
            waiting_weight: 0,
            unfinished: 0,
            unfinished_weight: 0,
            pace: Pace::default(),
            per_file: Duration::from_micros(100),
            cores,
            target: cores,
        };
        queue.add_folder(OsStr::new(""), None, true);
        queue
    }

    /// The folder with this path, which is checked and in normal form.
    pub(super) fn folder(&mut self, path: &OsStr) -> FolderId {
        let last = &self.folders[self.last as usize].folder;
        if last.path.as_os_str() == path {
            return last.id;
        }
        self.last = match self.by_path.get(path) {
            Some(&id) => id,
            None => {
                let parent = Path::new(path).parent().unwrap_or(Path::new("")).as_os_str();
                let parent = self.folder(parent);
                self.add_folder(path, Some(parent), false)
            }
        };
        self.last
    }

    fn add_folder(&mut self, path: &OsStr, parent: Option<FolderId>, made: bool) -> FolderId {
        let id = FolderId::try_from(self.folders.len()).expect("fewer than 2^32 folders fit in memory");
        let parent = parent.map(|parent| self.folders[parent as usize].folder.clone());
        let refused = match &parent {
            Some(parent) if let Some(&refusal) = parent.refused.get() => OnceLock::from(refusal),
            _ if self.links.contains(&path_key(path)) => OnceLock::from(crate::tree::Refusal::ThroughSymlink),
            _ => OnceLock::new(),
        };
        let folder = Folder {
            id,
            path: Path::new(path).into(),
            parent,
            made: AtomicBool::new(made),
            mode: AtomicU32::new(0o777),
            made_with: AtomicU32::new(Folder::UNKNOWN),
            elsewhere: AtomicBool::new(false),
            refused,
        };
        self.folders.push(Pending {
            folder: Arc::new(folder),
            jobs: VecDeque::new(),
            weight: 0,
            exclusive: false,
            in_flight: HashSet::default(),
            threads: 0,
            listed: false,
            metadata: None,
        });
        self.by_path.insert(path.into(), id);
        id
    }

    pub(super) fn get(&self, id: FolderId) -> &Arc<Folder> {
        &self.folders[id as usize].folder
    }

    /// Remembers that a symbolic link is to be made at `path`. False if a folder of this run is there already.
    pub(super) fn add_link(&mut self, path: &OsStr) -> bool {
        if self.by_path.contains_key(path) {
            return false;
        }
        self.links.insert(path_key(path));
        true
    }

    /// Remembers what the folder is to have at the end, and the permissions to make it with.
    pub(super) fn set_folder_metadata(&mut self, id: FolderId, metadata: Metadata, mode: u32) {
        let pending = &mut self.folders[id as usize];
        pending.folder.mode.store(mode, Relaxed);
        pending.metadata = Some(metadata);
    }

    /// Whether any folder is to have something at the end.
    pub(super) fn has_folder_metadata(&self) -> bool {
        self.folders.iter().any(|pending| pending.metadata.is_some())
    }

    /// Takes what folders are to have at the end, deepest first.
    pub(super) fn take_folder_metadata(&mut self) -> Vec<(Arc<Folder>, Metadata)> {
        let mut all: Vec<_> = self
            .folders
            .iter_mut()
            .filter_map(|pending| Some((pending.folder.clone(), pending.metadata.take()?)))
            .collect();
        all.sort_by_cached_key(|(folder, _)| std::cmp::Reverse(folder.path.components().count()));
        all
    }

    /// Every folder that is known to be there.
    pub(super) fn made_folders(&self) -> impl Iterator<Item = &Arc<Folder>> {
        self.folders.iter().map(|pending| &pending.folder).filter(|folder| folder.made.load(Relaxed))
    }

    /// Whether an entry of this weight may be handed over now.
    pub(super) fn has_room(&self, weight: usize, limit: usize) -> bool {
        self.unfinished == 0 || (self.unfinished < MOST_JOBS && self.unfinished_weight.saturating_add(weight) <= limit)
    }

    /// Whether enough has been done since [`has_room`](Queue::has_room) said no that it is worth to wake who waits for it.
    pub(super) fn has_plenty_of_room(&self, limit: usize) -> bool {
        self.unfinished == 0 || (self.unfinished <= MOST_JOBS / 2 && self.unfinished_weight <= limit / 2)
    }

    pub(super) fn push(&mut self, id: FolderId, job: Job) {
        let weight = job.weight();
        self.unfinished += 1;
        self.unfinished_weight += weight;
        self.waiting += 1;
        self.waiting_weight += weight;
        let pending = &mut self.folders[id as usize];
        pending.weight += weight;
        if pending.jobs.capacity() == 0 {
            pending.jobs = self.spare.pop().unwrap_or_default();
        }
        pending.jobs.push_back(job);
        self.list(id);
    }

    /// Whether there are to be more threads than cores, because the file system makes its callers wait.
    pub(super) fn is_wide(&self) -> bool {
        self.target > self.cores
    }

    /// Lists the folder as one that a thread may take from, if so it is.
    fn list(&mut self, id: FolderId) {
        let wide = self.is_wide();
        let pending = &mut self.folders[id as usize];
        if pending.is_free(wide) && !pending.listed && !pending.jobs.is_empty() {
            pending.listed = true;
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
            let pending = &mut self.folders[id as usize];
            pending.listed = false;
            let folder = pending.folder.clone();
            let hot = !wide
                && !others_wait
                && others == 0
                && self.cores > 1
                && most >= 8
                && pending.jobs.len() >= most + WORTH_A_PIPELINE
                && self.pace.is_known();
            // The other half of a pipeline may still be writing what this thread opened.
            pending.exclusive = !hot && pending.in_flight.is_empty() && !pending.is_shared(wide);
            let (jobs, weight) = pending.take(most, self.spare.pop().unwrap_or_default());
            if jobs.is_empty() {
                pending.exclusive = false;
                continue; // Listed again when that name is done.
            }
            self.waiting -= jobs.len();
            self.waiting_weight -= weight;
            pending.threads += 1;
            let noted = !pending.exclusive;
            self.list(id);
            return Some(Batch { folder, jobs, noted, hot });
        }
        None
    }

    /// More of a folder that the thread has: for a pipeline. `None` when there is too little left, or another folder wants the
    /// thread.
    pub(super) fn take_more(&mut self, id: FolderId, most: usize) -> Option<VecDeque<Job>> {
        let pending = &mut self.folders[id as usize];
        if self.target > self.cores || !self.ready.is_empty() || pending.exclusive || pending.jobs.len() < most {
            return None;
        }
        let (jobs, weight) = pending.take(most, self.spare.pop().unwrap_or_default());
        self.waiting -= jobs.len();
        self.waiting_weight -= weight;
        (!jobs.is_empty()).then_some(jobs)
    }

    /// Puts back what a thread took and did not begin, in front.
    pub(super) fn put_back(&mut self, id: FolderId, mut jobs: VecDeque<Job>) {
        let pending = &mut self.folders[id as usize];
        while let Some(job) = jobs.pop_back() {
            if !pending.exclusive {
                pending.in_flight.remove(&job.key);
            }
            self.waiting += 1;
            self.waiting_weight += job.weight();
            pending.weight += job.weight();
            pending.jobs.push_front(job);
        }
        if self.spare.len() < SPARE && (1..=2 * BATCH).contains(&jobs.capacity()) {
            self.spare.push(jobs);
        }
    }

    /// Notes that jobs of this folder are done with.
    pub(super) fn done(&mut self, id: FolderId, done: &Done) {
        self.unfinished -= done.jobs;
        self.unfinished_weight -= done.weight;
        let pending = &mut self.folders[id as usize];
        if done.noted {
            for name in &done.names {
                pending.in_flight.remove(name);
            }
            if pending.in_flight.is_empty() && pending.jobs.is_empty() {
                pending.in_flight = HashSet::default();
            }
        }
        self.list(id);
    }

    /// Notes that a thread has left this folder.
    pub(super) fn leave(&mut self, id: FolderId) {
        let pending = &mut self.folders[id as usize];
        pending.threads -= 1;
        pending.exclusive &= pending.threads > 0;
        self.list(id);
    }

    /// Whether a name in this folder is waiting or being written.
    pub(super) fn is_unfinished(&self, id: FolderId, name: u64) -> bool {
        let pending = &self.folders[id as usize];
        pending.exclusive || pending.in_flight.contains(&name) || pending.jobs.iter().any(|job| job.key == name)
    }

    /// Takes a name for a thread of the caller's own, which writes it without a job.
    pub(super) fn claim(&mut self, id: FolderId, name: u64) {
        self.unfinished += 1;
        self.folders[id as usize].in_flight.insert(name);
    }

    /// Throws away what waits, after a cancellation, and says how many entries that was.
    pub(super) fn drop_waiting(&mut self) -> usize {
        let mut dropped = 0;
        for pending in &mut self.folders {
            pending.weight = 0;
            for job in pending.jobs.drain(..) {
                dropped += 1;
                self.unfinished_weight -= job.weight();
            }
        }
        self.unfinished -= dropped;
        (self.waiting, self.waiting_weight) = (0, 0);
        dropped
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
            (0..self.folders.len()).for_each(|id| self.list(id as FolderId));
        }
    }
}

/// FNV-1a. Two paths share a key once in 2^64 pairs; then the second is refused, and the report says so.
fn path_key(path: &OsStr) -> u64 {
    path.as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The keys are hashes already.
#[derive(Debug, Default)]
pub(super) struct Identity(u64);

impl std::hash::Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::engine::Work;

    #[test]
    fn more_of_a_folder_is_for_those_who_note_its_names() {
        let jobs = |n: usize| Job::new(OsStr::new(&n.to_string()), Work::MakeFolder);
        for is_known_to_be_fast in [false, true] {
            let mut queue = Queue::new(2);
            if is_known_to_be_fast {
                queue.learn(Duration::from_micros(5), Some(Duration::ZERO));
            }
            let id = queue.folder(OsStr::new(""));
            (0..500).for_each(|n| queue.push(id, jobs(n)));
            let batch = queue.take(0).unwrap();
            // One that has it to itself notes no names, and a second thread could write one of them at the same time.
            assert_eq!((batch.hot, batch.noted), (is_known_to_be_fast, is_known_to_be_fast));
            let more = queue.take_more(id, 4);
            assert_eq!(more.as_ref().map(VecDeque::len), batch.hot.then_some(4));
            for job in more.iter().flatten() {
                assert!(queue.is_unfinished(id, job.key), "its name is noted");
            }
        }
    }
}
