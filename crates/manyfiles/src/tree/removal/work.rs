//! [`Work`]: one removal, and the threads that do it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::folder::{Folder, Handles};
use super::sweep::Thread;
use super::{Place, Removal, Removed};
use crate::Error;
use crate::sys::{self, Dir, Entering, EntryKind};
use crate::tree::jobs::{Jobs, Who};
use crate::tree::pace::{MOST_THREADS, SLOW, threads_for};

/// Something to be done in a folder, which waits for it.
pub(super) struct Job {
    pub(super) folder: Arc<Folder>,
    pub(super) what: What,
}

pub(super) enum What {
    /// A folder in it is to be looked through, and removed.
    Folder(OsString),
    /// Names that are no folders'.
    Names(Vec<OsString>),
    /// It has something in it still.
    Again,
}

/// One removal, shared by its threads.
pub(super) struct Work {
    pub(super) how: Removal,
    pub(super) entering: Entering,
    /// The path of the folder in which the removal begins, as the caller knows it, and the name in it.
    pub(super) above: PathBuf,
    pub(super) name: OsString,
    pub(super) files: AtomicU64,
    pub(super) folders: AtomicU64,
    pub(super) kept: AtomicU64,
    pub(super) handles: Handles,
    /// Whether a handle was waited for, and none came.
    pub(super) waited_in_vain: AtomicBool,
    failures: Mutex<Vec<Error>>,
    cancelled: AtomicBool,
    jobs: Jobs<Job>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    cores: usize,
    most_threads: usize,
    /// How many threads there should be.
    target: AtomicUsize,
}

/// Jobs beyond this number wait in their folders' listings.
const MOST_JOBS: usize = 4096;

/// Removes what is at `place`; the caller knows its folder by the path `above`.
pub(super) fn remove(how: &Removal, above: &Path, place: Place) -> Removed {
    let Place { folder, name, kind } = place;
    let what = if kind == EntryKind::Folder { What::Folder(name.clone()) } else { What::Names(vec![name.clone()]) };
    let free = sys::free_handles(&folder);
    let first = Job { folder: Arc::new(Folder::first(folder)), what };
    do_all(how, above, name, free, vec![first])
}

/// Removes what is at `paths` below `root`; the caller knows that by the path `above`. True: it is a folder.
pub(super) fn remove_all(how: &Removal, above: &Path, root: Dir, paths: Vec<(PathBuf, bool)>) -> Removed {
    let free = sys::free_handles(&root);
    let mut on_the_way = OnTheWay { root: Arc::new(Folder::first(root)), folders: HashMap::new() };
    let (mut jobs, mut files) = (Vec::new(), BTreeMap::<PathBuf, Vec<OsString>>::new());
    let mut add = |above: &Path, what| {
        let folder = on_the_way.folder(above);
        folder.add_jobs(1);
        jobs.push(Job { folder, what });
    };
    for (path, is_folder) in paths {
        match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) if is_folder => add(above, What::Folder(name.to_owned())),
            (Some(above), Some(name)) => files.entry(above.to_owned()).or_default().push(name.to_owned()),
            _ => {} // The root itself stays.
        }
    }
    files.into_iter().for_each(|(above, names)| add(&above, What::Names(names)));
    // It is counted with a job of its own, which there is not.
    on_the_way.root.end_job();
    do_all(how, above, OsString::new(), free, jobs)
}

/// Folders on the way to what is removed. They stay.
struct OnTheWay {
    root: Arc<Folder>,
    folders: HashMap<PathBuf, Arc<Folder>>,
}

impl OnTheWay {
    fn folder(&mut self, path: &Path) -> Arc<Folder> {
        let mut missing = Vec::new();
        let mut at = path;
        let mut folder = loop {
            match (self.folders.get(at), at.parent(), at.file_name()) {
                (Some(folder), ..) => break folder.clone(),
                (None, Some(above), Some(name)) => {
                    missing.push((at, name));
                    at = above;
                }
                _ => break self.root.clone(),
            }
        };
        for (path, name) in missing.into_iter().rev() {
            folder.add_jobs(1);
            folder = Arc::new(Folder::on_the_way(folder, name.to_owned()));
            self.folders.insert(path.to_owned(), folder.clone());
        }
        folder
    }
}

fn do_all(how: &Removal, above: &Path, name: OsString, free: usize, mut jobs: Vec<Job>) -> Removed {
    let Some(first) = jobs.pop() else { return Removed::default() };
    let cores = how.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, |it| it.get().max(2)));
    // A thread has at most two of its own open, and folders that wait another eighth.
    let most_threads = (free / 16).clamp(1, MOST_THREADS.max(cores));
    let cores = cores.min(most_threads);
    let work = Arc::new(Work {
        how: how.clone(),
        entering: Entering { take_rights: how.force, across_mounts: how.across_mounts },
        above: above.to_owned(),
        name,
        files: AtomicU64::new(0),
        folders: AtomicU64::new(0),
        kept: AtomicU64::new(0),
        handles: Handles::new((free / 8).clamp(4, 512)),
        waited_in_vain: AtomicBool::new(false),
        failures: Mutex::default(),
        cancelled: AtomicBool::new(false),
        jobs: Jobs::new(first, cores),
        threads: Mutex::default(),
        cores,
        most_threads,
        target: AtomicUsize::new(cores),
    });
    work.push(jobs);
    work.do_jobs(Who::Caller);
    let threads = std::mem::take(&mut *work.threads.lock().unwrap_or_else(PoisonError::into_inner));
    for thread in threads {
        drop(thread.join()); // The program's callbacks, which may panic, are caught where they are called.
    }
    Removed {
        files: work.files.load(Relaxed),
        folders: work.folders.load(Relaxed),
        kept: work.kept.load(Relaxed),
        failures: std::mem::take(&mut *work.failures.lock().unwrap_or_else(PoisonError::into_inner)),
        cancelled: work.cancelled.load(Relaxed),
    }
}

impl Work {
    fn do_jobs(self: &Arc<Work>, who: Who) {
        let mut thread = Thread::new();
        while let Some(job) = self.jobs.next(who, || self.is_cancelled()) {
            self.run(job, &mut thread);
        }
    }

    /// Adds jobs, and sees that there are threads for them.
    pub(super) fn push(self: &Arc<Work>, jobs: impl IntoIterator<Item = Job>) {
        let start = self.jobs.push(jobs);
        self.start_threads(start);
    }

    pub(super) fn push_later(&self, time: Instant, job: Job) {
        self.jobs.push_later(time, job);
    }

    /// Called within a job, so that the end of all jobs comes after it.
    fn start_threads(self: &Arc<Work>, count: usize) {
        const STACK: usize = 256 << 10;
        for started in 0..count {
            let work = self.clone();
            let builder = std::thread::Builder::new().name("manyfiles".into()).stack_size(STACK);
            match sys::spawn_quiet(builder, move || work.do_jobs(Who::Helper)) {
                Ok(handle) => self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(handle),
                Err(_) => return self.jobs.not_started(count - started),
            }
        }
    }

    /// The last job is done.
    pub(super) fn end(&self) {
        self.jobs.end();
    }

    /// Notes, within a job, what every name has to wait for.
    pub(super) fn set_pace(self: &Arc<Work>, latency: Duration) {
        let now = self.target.load(Relaxed);
        if latency < SLOW && now == self.cores {
            return;
        }
        let target = threads_for(latency, self.cores, now).min(self.most_threads);
        if target != now {
            self.target.store(target, Relaxed);
            let start = self.jobs.set_target(target);
            self.start_threads(start);
        }
    }

    /// Whether more threads are wanted than there are cores.
    pub(super) fn is_slow(&self) -> bool {
        self.target.load(Relaxed) > self.cores
    }

    /// Whether more jobs may wait.
    pub(super) fn has_room(&self) -> bool {
        self.jobs.ready() < MOST_JOBS
    }

    pub(super) fn is_cancelled(&self) -> bool {
        let asked = self.how.cancel.as_ref().is_some_and(|cancel| cancel.load(Relaxed));
        if asked {
            self.cancelled.store(true, Relaxed);
        }
        asked
    }

    pub(super) fn add_failure(&self, error: Error) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(error);
    }
}
