//! The threads that close: as many as closes wait, none when nothing does.

use std::sync::{Arc, PoisonError};

use super::Pool;
use crate::close::executor::Executor;
use crate::close::metrics::Side;
use crate::close::queue::{Need, Queue, Source};
use crate::close::sync::MutexGuard;
use crate::close::{panics, process, watch};

/// So many closes are one turn of a worker on an executor: with closes of 2 ms it is over after 32 ms, and asking for
/// the next costs less than a hand-over.
#[cfg(not(loom))]
const TURN: usize = 16;
/// Every close of a model ends a turn.
#[cfg(loom)]
const TURN: usize = 1;

impl Pool {
    pub(in crate::close) fn meet(self: &Arc<Pool>, need: Need) {
        match need {
            Need::Nothing => {}
            Need::Wake => self.work.notify_one(),
            Need::Start(source) => {
                match (&self.executor, source) {
                    (Some(executor), Source::Executor) => self.start_worker(&**executor),
                    _ => self.start_thread(),
                }
                self.do_without_a_thread();
            }
        }
    }

    /// Meets the needs of all the jobs that wait: several may have been left to wait for one thread.
    pub(in crate::close) fn meet_all<'a>(
        self: &'a Arc<Pool>,
        mut queue: MutexGuard<'a, Queue>,
    ) -> MutexGuard<'a, Queue> {
        loop {
            let need = queue.need();
            if need == Need::Nothing {
                return queue;
            }
            drop(queue);
            self.meet(need);
            queue = self.lock();
        }
    }

    /// How many workers the executor takes; 0: the pool's own threads are wanted.
    pub(in crate::close) fn workers(&self) -> usize {
        let Some(executor) = self.executor.as_deref() else { return 0 };
        let mut workers = 0;
        // A panic in there, as everywhere in an executor, counts as a refusal: this may be a drop.
        panics::contain(|| workers = executor.workers());
        workers
    }

    fn start_worker(self: &Arc<Pool>, executor: &dyn Executor) {
        watch::given(look);
        let worker = Worker(Some(Arc::clone(self)));
        panics::contain(|| executor.execute(Box::new(move || worker.run())));
    }

    /// The executor dropped a worker that it was to run: because its runtime is shutting down, or isn't there.
    ///
    /// Makes no close here, because the runtime may hold locks. If no thread can be started either, the next wait or
    /// hand-over makes the closes that wait.
    #[cold]
    fn replace_worker(self: &Arc<Pool>) {
        watch::dropped();
        let mut queue = self.lock();
        if queue.is_empty() {
            queue.not_started(Source::Executor);
        } else {
            queue.replace_worker();
            drop(queue);
            self.start_thread();
        }
    }

    /// Starts threads of the pool's own for work that the executor should have begun by now: all of the executor's
    /// threads may be in closes that hang.
    pub(in crate::close) fn replace_late_workers(self: &Arc<Pool>) {
        if self.is_left_behind() {
            return;
        }
        let mut queue = self.lock();
        if queue.look_for_late_workers() {
            drop(self.meet_all(queue));
        }
    }

    pub(in crate::close) fn start_thread(self: &Arc<Pool>) {
        let pool = Arc::clone(self);
        if self.spawn.spawn(Box::new(move || pool.work())).is_err()
            && self.lock().not_started(Source::Own) == Need::Wake
        {
            self.work.notify_one();
        }
    }

    /// As long as there is no thread at all, because none could be started, the calling thread makes the closes that
    /// wait. The next hand-over tries again to start a thread.
    pub(in crate::close) fn do_without_a_thread(self: &Arc<Pool>) {
        let mut queue = self.lock();
        while queue.threads() == 0
            && let Some(job) = queue.pop()
        {
            queue = self.run(Side::Caller, queue, job);
        }
    }

    /// A worker on an executor: makes the closes that wait, up to a turn of them. If more are left, another worker goes
    /// on. It has to queue up behind the runtime's other work, and may be refused: a runtime that shuts down waits for
    /// the worker that runs.
    fn work_on_executor(self: &Arc<Pool>) {
        let running = watch::Running::begin(look);
        let mut queue = self.lock();
        queue.started(Source::Executor);
        for _ in 0..TURN {
            let Some(job) = queue.pop() else { break };
            drop(self.run(Side::Pool, queue, job));
            queue = self.lock();
        }
        queue.ended(Source::Executor);
        drop(queue);
        drop(running);
        drop(self.meet_all(self.lock()));
    }

    /// A thread of the pool's own: closes what waits until nothing has come for a while.
    fn work(self: &Arc<Pool>) {
        let mut queue = self.lock();
        queue.started(Source::Own);
        let mut is_tired = self.idle.is_zero();
        let mut was_idle = false;
        loop {
            if let Some(job) = queue.pop() {
                // A few jobs may have been left to wait because this thread was idle. From now on it is busy.
                if was_idle && !queue.is_empty() {
                    drop(queue);
                    job.ask_path();
                    queue = self.meet_all(self.lock());
                }
                queue = self.run(Side::Pool, queue, job);
                is_tired = self.idle.is_zero();
                was_idle = false;
            } else if queue.is_shut_down() || is_tired {
                break;
            } else {
                queue.goes_idle();
                let (guard, timeout) = self.work.wait_timeout(queue, self.idle).unwrap_or_else(PoisonError::into_inner);
                queue = guard;
                queue.comes_back();
                is_tired = timeout.timed_out();
                was_idle = true;
            }
        }
        queue.ended(Source::Own);
    }
}

/// Looks for work that executors do not begin.
fn look() {
    process::for_each(|member| member.replace_late_workers());
}

/// The work that an [`Executor`] is given. It has a place reserved among the pool's threads, and jobs may count on it.
/// So if it is dropped before it ran, its drop tells the pool.
struct Worker(Option<Arc<Pool>>);

impl Worker {
    fn run(mut self) {
        if let Some(pool) = self.0.take() {
            pool.work_on_executor();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(pool) = self.0.take() {
            pool.replace_worker();
        }
    }
}
