//! [`Work`]: what is to be removed next, and the threads that do it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::folder::{Folder, Handles};
use super::sweep::Thread;
use super::{NotRemoved, Place, Removal, Removed};
use crate::Error;
use crate::sys::{self, Entering, EntryKind};
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
    failures: Mutex<Vec<Error>>,
    cancelled: AtomicBool,
    cores: usize,
    most_threads: usize,
    /// How many threads there should be.
    target: AtomicUsize,
    /// How many jobs wait; a little late.
    waiting: AtomicUsize,
    state: Mutex<State>,
    told: Condvar,
}

#[derive(Default)]
struct State {
    /// The last is done first: so few folders are open.
    jobs: Vec<Job>,
    /// Jobs that wait for another program, and until when.
    later: Vec<(Instant, Job)>,
    /// Threads, the caller's included, and how many of them wait for a job.
    threads: usize,
    idle: usize,
    handles: Vec<JoinHandle<()>>,
    ended: bool,
}

/// Jobs beyond this number wait in their folders' listings.
const MOST_JOBS: usize = 4096;

/// How often a thread that waits looks whether the removal was cancelled.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Removes what is at `place`, which the caller knows as `path`.
pub(super) fn remove(how: &Removal, path: &Path, place: Place) -> Result<Removed, NotRemoved> {
    let Place { folder, name, kind } = place;
    let free = sys::free_handles(&folder);
    let cores = how.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, |it| it.get().max(2)));
    // A thread has at most two of its own open, and folders that wait another eighth.
    let most_threads = (free / 16).clamp(1, MOST_THREADS.max(cores));
    let folder = Arc::new(Folder::first(folder));
    let work = Arc::new(Work {
        how: how.clone(),
        entering: Entering { take_rights: how.force, across_mounts: how.across_mounts },
        above: path.parent().map(Path::to_owned).unwrap_or_default(),
        name: name.clone(),
        files: AtomicU64::new(0),
        folders: AtomicU64::new(0),
        kept: AtomicU64::new(0),
        handles: Handles::new((free / 8).clamp(4, 512)),
        failures: Mutex::default(),
        cancelled: AtomicBool::new(false),
        cores: cores.min(most_threads),
        most_threads,
        target: AtomicUsize::new(cores.min(most_threads)),
        waiting: AtomicUsize::new(1),
        state: Mutex::new(State { threads: 1, ..State::default() }),
        told: Condvar::new(),
    });
    let what = if kind == EntryKind::Folder { What::Folder(name) } else { What::Names(vec![name]) };
    lock(&work.state).jobs.push(Job { folder, what });
    work.do_jobs(true);
    let threads = std::mem::take(&mut lock(&work.state).handles);
    for thread in threads {
        drop(thread.join()); // The program's callbacks, which may panic, are caught where they are called.
    }
    let removed = Removed {
        files: work.files.load(Relaxed),
        folders: work.folders.load(Relaxed),
        kept: work.kept.load(Relaxed),
        failures: std::mem::take(&mut *lock(&work.failures)),
        cancelled: work.cancelled.load(Relaxed),
    };
    removed.check(path)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Work {
    /// Does jobs until there are none left. A thread other than the caller's leaves when there are more than needed.
    fn do_jobs(self: &Arc<Work>, is_caller: bool) {
        let mut thread = Thread::new();
        while let Some(job) = self.next(is_caller) {
            self.run(job, &mut thread);
        }
    }

    fn next(&self, is_caller: bool) -> Option<Job> {
        let mut state = lock(&self.state);
        loop {
            if state.ended || (!is_caller && state.threads > self.target.load(Relaxed)) {
                state.threads -= 1;
                if !state.jobs.is_empty() || !state.later.is_empty() {
                    self.told.notify_one(); // It was perhaps this thread that was told of them.
                }
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                self.waiting.store(state.jobs.len(), Relaxed);
                return Some(job);
            }
            let now = Instant::now();
            let is_cancelled = self.is_cancelled();
            if let Some(due) = state.later.iter().position(|(time, _)| is_cancelled || *time <= now) {
                return Some(state.later.swap_remove(due).1);
            }
            state.idle += 1;
            state = if state.later.is_empty() {
                self.told.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                let first = state.later.iter().map(|(time, _)| *time).min().unwrap_or(now);
                let wait = first.saturating_duration_since(now).min(LOOK_UP);
                self.told.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
            };
            state.idle -= 1;
        }
    }

    /// Adds jobs, and sees that there are threads for them.
    pub(super) fn push(self: &Arc<Work>, jobs: impl IntoIterator<Item = Job>) {
        let mut state = lock(&self.state);
        state.jobs.extend(jobs);
        self.waiting.store(state.jobs.len(), Relaxed);
        // One is for the thread that pushes, unless it goes on with a folder that waits.
        let for_others = state.jobs.len().saturating_sub(usize::from(!self.is_slow()));
        for _ in 0..for_others.min(state.idle) {
            self.told.notify_one();
        }
        let without_thread = for_others.saturating_sub(state.idle);
        self.start_threads(&mut state, without_thread);
    }

    /// For so many jobs, as far as more threads are wanted.
    fn start_threads(self: &Arc<Work>, state: &mut State, jobs: usize) {
        let wanted = self.target.load(Relaxed).saturating_sub(state.threads);
        for _ in 0..jobs.min(wanted) {
            if !self.start_thread(state) {
                return;
            }
        }
    }

    pub(super) fn push_later(&self, time: Instant, job: Job) {
        lock(&self.state).later.push((time, job));
        self.told.notify_one();
    }

    /// False if the system has no thread for us: those there are do the work.
    fn start_thread(self: &Arc<Work>, state: &mut State) -> bool {
        const STACK: usize = 256 << 10;
        let work = self.clone();
        let builder = std::thread::Builder::new().name("manyfiles".into()).stack_size(STACK);
        let started = sys::spawn_quiet(builder, move || work.do_jobs(false));
        state.threads += usize::from(started.is_ok());
        let is_started = started.is_ok();
        state.handles.extend(started);
        is_started
    }

    /// The last job is done.
    pub(super) fn end(&self) {
        lock(&self.state).ended = true;
        self.told.notify_all();
    }

    /// Notes what every name has to wait for.
    pub(super) fn set_pace(self: &Arc<Work>, latency: Duration) {
        let now = self.target.load(Relaxed);
        if latency < SLOW && now == self.cores {
            return;
        }
        let target = threads_for(latency, self.cores, now).min(self.most_threads);
        if target != now {
            self.target.store(target, Relaxed);
        }
        if target > now {
            let mut state = lock(&self.state);
            let jobs = state.jobs.len();
            self.start_threads(&mut state, jobs);
        }
    }

    /// Whether more threads are wanted than there are cores.
    pub(super) fn is_slow(&self) -> bool {
        self.target.load(Relaxed) > self.cores
    }

    /// Whether more jobs may wait.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(Relaxed) < MOST_JOBS
    }

    pub(super) fn is_cancelled(&self) -> bool {
        let asked = self.how.cancel.as_ref().is_some_and(|cancel| cancel.load(Relaxed));
        if asked {
            self.cancelled.store(true, Relaxed);
        }
        asked
    }

    pub(super) fn add_failure(&self, error: Error) {
        lock(&self.failures).push(error);
    }
}
