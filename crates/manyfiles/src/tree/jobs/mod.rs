//! [`Jobs`]: what is to be done next, and who waits for it. Removals and mirrors share their folders so among threads.

mod sync;

use std::time::{Duration, Instant};

use sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs for threads. The last one that came is done first: so few folders are open.
pub(in crate::tree) struct Jobs<T> {
    state: Mutex<State<T>>,
    told: Condvar,
}

struct State<T> {
    ready: Vec<T>,
    /// Jobs that wait for another program, and until when.
    later: Vec<(Instant, T)>,
    /// Threads, the caller's included, and how many of them wait for a job.
    threads: usize,
    idle: usize,
    /// How many threads there should be.
    target: usize,
    ended: bool,
}

/// Who asks for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tree) enum Who {
    /// The thread of the program, which stays to the end.
    Caller,
    /// A thread that leaves when there are more than needed.
    Helper,
}

/// How often a thread that waits looks whether the removal was cancelled.
const LOOK_UP: Duration = Duration::from_millis(50);

impl<T> Jobs<T> {
    /// The caller's thread counts as one.
    pub(in crate::tree) fn new(first: T, target: usize) -> Jobs<T> {
        let state = State { ready: vec![first], later: Vec::new(), threads: 1, idle: 0, target, ended: false };
        Jobs { state: Mutex::new(state), told: Condvar::new() }
    }

    /// The next job, as soon as there is one. `None`: the thread is to end.
    pub(in crate::tree) fn next(&self, who: Who, is_cancelled: impl Fn() -> bool) -> Option<T> {
        let mut state = self.state();
        loop {
            if state.ended || (who == Who::Helper && state.threads > state.target) {
                state.threads -= 1;
                if !state.ready.is_empty() || !state.later.is_empty() {
                    self.told.notify_one(); // It was perhaps this thread that was told of them.
                }
                return None;
            }
            if let Some(job) = state.ready.pop() {
                return Some(job);
            }
            state.idle += 1;
            if state.later.is_empty() {
                state = self.told.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                let (now, is_cancelled) = (Instant::now(), is_cancelled());
                if let Some(due) = state.later.iter().position(|(time, _)| is_cancelled || *time <= now) {
                    state.idle -= 1;
                    return Some(state.later.swap_remove(due).1);
                }
                let first = state.later.iter().map(|(time, _)| *time).min().unwrap_or(now);
                let wait = (first - now).min(LOOK_UP);
                state = self.told.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
            }
            state.idle -= 1;
        }
    }

    /// Adds jobs, of which the calling thread does one itself. Returns how many threads are to be started for them; they
    /// count from now on.
    pub(in crate::tree) fn push(&self, jobs: impl IntoIterator<Item = T>) -> usize {
        let mut state = self.state();
        state.ready.extend(jobs);
        let for_others = state.ready.len().saturating_sub(1);
        for _ in 0..for_others.min(state.idle) {
            self.told.notify_one();
        }
        state.threads_for(for_others)
    }

    /// Adds a job that is not to be done before that time.
    pub(in crate::tree) fn push_later(&self, time: Instant, job: T) {
        self.state().later.push((time, job));
        self.told.notify_one();
    }

    /// Changes how many threads there should be. Returns how many are to be started; they count from now on.
    pub(in crate::tree) fn set_target(&self, target: usize) -> usize {
        let mut state = self.state();
        state.target = target;
        let jobs = state.ready.len();
        state.threads_for(jobs)
    }

    /// The system has no more threads for us: those there are do the work.
    pub(in crate::tree) fn not_started(&self, threads: usize) {
        self.state().threads -= threads;
    }

    /// How many jobs can be done now.
    pub(in crate::tree) fn ready(&self) -> usize {
        self.state().ready.len()
    }

    /// The last job is done.
    pub(in crate::tree) fn end(&self) {
        self.state().ended = true;
        self.told.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn threads_for(&mut self, jobs: usize) -> usize {
        let wanted = self.target.saturating_sub(self.threads);
        let start = jobs.saturating_sub(self.idle).min(wanted);
        self.threads += start;
        start
    }
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use loom::thread;

    use super::*;

    /// Jobs that make others, as folders do: a job of `n` makes `n` of `n - 1`.
    struct Work {
        jobs: Jobs<usize>,
        left: AtomicUsize,
        done: AtomicUsize,
        started: std::sync::Mutex<Vec<thread::JoinHandle<()>>>,
    }

    fn work(work: &Arc<Work>, who: Who) {
        while let Some(job) = work.jobs.next(who, || false) {
            work.done.fetch_add(1, SeqCst);
            if job > 0 {
                work.left.fetch_add(job, SeqCst);
                let start = work.jobs.push((0..job).map(|_| job - 1));
                begin(work, start);
            }
            if work.left.fetch_sub(1, SeqCst) == 1 {
                work.jobs.end();
            }
        }
    }

    fn begin(shared: &Arc<Work>, threads: usize) {
        for _ in 0..threads {
            let helper = shared.clone();
            let handle = thread::spawn(move || work(&helper, Who::Helper));
            shared.started.lock().unwrap().push(handle);
        }
    }

    fn all_is_done(first: usize, jobs: usize, target: usize, then: Option<usize>) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let shared = Arc::new(Work {
                jobs: Jobs::new(first, target),
                left: AtomicUsize::new(1),
                done: AtomicUsize::new(0),
                started: std::sync::Mutex::default(),
            });
            let other = then.map(|then| {
                let shared = shared.clone();
                thread::spawn(move || {
                    // A thread that is to start finds that all is over.
                    let start = shared.jobs.set_target(then);
                    shared.jobs.not_started(start);
                })
            });
            work(&shared, Who::Caller);
            other.map(|it| it.join().unwrap());
            let started = std::mem::take(&mut *shared.started.lock().unwrap());
            started.into_iter().for_each(|it| it.join().unwrap());
            assert_eq!((shared.done.load(SeqCst), shared.jobs.ready()), (jobs, 0));
        });
    }

    #[test]
    fn every_job_is_done_and_every_thread_ends() {
        all_is_done(2, 5, 2, None);
    }

    #[test]
    fn threads_that_are_not_needed_any_more_leave_no_job_behind() {
        all_is_done(2, 5, 2, Some(1));
    }

    #[test]
    fn more_threads_come_in_the_middle() {
        all_is_done(2, 5, 1, Some(2));
    }
}
