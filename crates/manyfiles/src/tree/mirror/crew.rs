//! [`Crew`]: threads that share jobs: as many as there are cores, and more where the file system lets each call wait.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Mirror;
use crate::sys::{self, Dir, Sleeps};
use crate::tree::jobs::{Jobs, Who};
use crate::tree::pace::{MOST_THREADS, Pace, SLOW, threads_for};

/// How many names a thread takes at once where each waits.
pub(super) const NAMES: usize = 16;

/// What a crew does.
pub(super) trait Task: Send + Sync + Sized + 'static {
    type Job: Send + 'static;

    /// Does one job, which may make others, and notes each name by [`Hand::note`].
    fn run(&self, job: Self::Job, crew: &Arc<Crew<Self>>, hand: &mut Hand);

    /// Whether jobs that are not begun yet are to be left.
    fn is_cancelled(&self) -> bool;
}

/// The threads of one task.
pub(super) struct Crew<T: Task> {
    task: T,
    jobs: Jobs<T::Job>,
    /// Jobs that are not done yet.
    left: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
    cores: usize,
    most_threads: usize,
    /// How many threads there should be.
    wanted: AtomicUsize,
}

/// What one thread knows.
pub(super) struct Hand {
    pace: Pace,
    sleeps: Sleeps,
    last: Instant,
    pub(super) buffer: Vec<u8>,
}

impl Hand {
    /// What comes now is timed.
    pub(super) fn begin(&mut self) {
        self.last = Instant::now();
    }
}

/// Does the jobs, and those that they make. `near` is a folder of a file system that they are about. Returns the task
/// with what it found.
pub(super) fn work<T: Task>(task: T, mut jobs: Vec<T::Job>, how: &Mirror, near: &Dir) -> T {
    let Some(first) = jobs.pop() else { return task };
    let cores = how.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, |it| it.get().max(2)));
    // A thread has at most four open, and folders whose names others look at.
    let most_threads = (sys::free_handles(near) / 16).clamp(1, MOST_THREADS.max(cores));
    let cores = cores.min(most_threads);
    let crew = Arc::new(Crew {
        task,
        jobs: Jobs::new(first, cores),
        left: AtomicUsize::new(1),
        threads: Mutex::default(),
        cores,
        most_threads,
        wanted: AtomicUsize::new(cores),
    });
    crew.push(jobs);
    crew.do_jobs(Who::Caller);
    let threads = std::mem::take(&mut *crew.threads.lock().unwrap_or_else(PoisonError::into_inner));
    for thread in threads {
        drop(thread.join()); // A callback that panics is caught where it is called.
    }
    Arc::into_inner(crew).expect("its threads have ended").task
}

impl<T: Task> Crew<T> {
    fn do_jobs(self: &Arc<Crew<T>>, who: Who) {
        let mut sleeps = Sleeps::default();
        sleeps.since_last();
        let mut hand = Hand { pace: Pace::default(), sleeps, last: Instant::now(), buffer: Vec::new() };
        while let Some(job) = self.jobs.next(who, || self.task.is_cancelled()) {
            if !self.task.is_cancelled() {
                self.task.run(job, self, &mut hand);
            }
            if self.left.fetch_sub(1, AcqRel) == 1 {
                self.jobs.end();
            }
        }
    }

    /// Adds jobs, within one or before the first.
    pub(super) fn push(self: &Arc<Crew<T>>, jobs: Vec<T::Job>) {
        if jobs.is_empty() {
            return;
        }
        self.left.fetch_add(jobs.len(), Relaxed);
        let start = self.jobs.push(jobs);
        self.start_threads(start);
    }

    fn start_threads(self: &Arc<Crew<T>>, count: usize) {
        const STACK: usize = 256 << 10;
        for started in 0..count {
            let crew = self.clone();
            let builder = std::thread::Builder::new().name("manyfiles".into()).stack_size(STACK);
            match sys::spawn_quiet(builder, move || crew.do_jobs(Who::Helper)) {
                Ok(handle) => self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(handle),
                Err(_) => return self.jobs.not_started(count - started),
            }
        }
    }

    /// Notes that something was done with a name, and how long that took.
    pub(super) fn note(self: &Arc<Crew<T>>, hand: &mut Hand) {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut hand.last, now);
        let waited = if took >= SLOW && hand.sleeps.since_last() { took } else { Duration::ZERO };
        hand.pace.note(waited);
        let (latency, wanted) = (hand.pace.latency(), self.wanted.load(Relaxed));
        if latency < SLOW && wanted == self.cores {
            return;
        }
        let target = threads_for(latency, self.cores, wanted).min(self.most_threads);
        if target != wanted {
            self.wanted.store(target, Relaxed);
            let start = self.jobs.set_target(target);
            self.start_threads(start);
        }
    }

    /// Whether more threads are wanted than there are cores.
    pub(super) fn is_slow(&self) -> bool {
        self.wanted.load(Relaxed) > self.cores
    }
}

/// Does `each` with all items.
pub(super) fn for_each<I: Send + 'static>(
    items: Vec<I>,
    how: &Mirror,
    near: &Dir,
    each: impl Fn(I, &mut Hand) + Send + Sync + 'static,
) {
    let mut jobs = Vec::new();
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        jobs.push(items.by_ref().take(NAMES).collect::<Vec<_>>());
    }
    jobs.reverse(); // The last is done first.
    work(Each { each, how: how.clone(), items: std::marker::PhantomData }, jobs, how, near);
}

struct Each<I, F> {
    each: F,
    how: Mirror,
    items: std::marker::PhantomData<fn(I)>,
}

impl<I: Send + 'static, F: Fn(I, &mut Hand) + Send + Sync + 'static> Task for Each<I, F> {
    type Job = Vec<I>;

    fn run(&self, job: Vec<I>, crew: &Arc<Crew<Self>>, hand: &mut Hand) {
        hand.begin();
        for item in job {
            if self.is_cancelled() {
                return;
            }
            (self.each)(item, hand);
            crew.note(hand);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.how.is_cancelled()
    }
}
