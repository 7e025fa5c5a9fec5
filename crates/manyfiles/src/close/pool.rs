//! The threads that close: as many as closes wait, none when nothing does.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::closing;
use super::executor::Executor;
use super::handle::{self, Handle};
use super::metrics::{Meter, Metrics, Side};
use super::policy::{Policy, Switch};
use super::queue::{Job, Need, Queue};
use super::settle::Place;
use super::sync::{AtomicUsize, Builder, Condvar, Mutex, MutexGuard};
use super::worker::Worker;
use crate::error::print_last_resort;
use crate::{Error, sys};

/// How long a thread waits for the next close before it ends. The slowest closes that we know of take 10 ms, so a
/// program that is busy keeps its threads; starting one again costs some 30 µs.
pub(super) const IDLE: Duration = Duration::from_millis(100);

/// A close that sleeps costs no CPU; against closes of 2 ms, 64 threads gain 25 times, 16 gain 16.8 and 4 gain 4.2
/// (docs/measurements.md, "Mounts whose close is slow").
pub(super) const THREADS: usize = 64;

/// So many closes are one turn of a worker on an executor: with closes of 2 ms it is over after 32 ms, and asking for the
/// next costs less than a hand-over.
#[cfg(not(loom))]
const TURN: usize = 16;
/// Every close of a model ends a turn.
#[cfg(loom)]
const TURN: usize = 1;

/// Closing takes little stack; a user type's drop, an `on_error` or the printing of a panic's backtrace take some.
/// Untouched stack costs address space only.
const STACK: usize = 256 << 10;

/// What receives failures in place of [`wait`](super::Closer::wait).
pub(super) type OnError = Box<dyn Fn(Error) + Send + Sync>;

/// Starts threads of the pool's own.
pub(super) trait Spawn: Send + Sync {
    fn spawn(&self, worker: Box<dyn FnOnce() + Send>) -> io::Result<()>;
}

/// The built-in pool's threads.
pub(super) struct Threads;

impl Spawn for Threads {
    fn spawn(&self, worker: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        // Not joined: a thread that holds no job has nothing to lose, and one that does is waited for.
        Builder::new().name("manyfiles-close".into()).stack_size(STACK).spawn(worker).map(drop)
    }
}

/// What a [`Closer`](super::Closer) and its threads share.
pub(super) struct Pool {
    switch: Switch,
    capacity: usize,
    /// Whether the system has been told how many handles will be open.
    has_room: AtomicBool,
    queue: Mutex<Queue>,
    /// How many jobs wait or are being closed, for those who want to know without the lock.
    pub(super) unsettled: AtomicUsize,
    /// A job waits, or the threads shall leave.
    work: Condvar,
    /// A generation is finished, or a close that is waited for alone.
    pub(super) finished: Condvar,
    on_error: Option<OnError>,
    /// What runs the workers, if not threads of the pool's own.
    executor: Option<Box<dyn Executor>>,
    spawn: Box<dyn Spawn>,
    max_threads: usize,
    /// How long a thread of the pool's own stays without work. A worker on an executor leaves at once: the thread has other
    /// things to do.
    idle: Duration,
    meter: Meter,
}

impl Pool {
    pub(super) fn new(
        policy: Policy,
        capacity: usize,
        max_threads: usize,
        on_error: Option<OnError>,
        executor: Option<Box<dyn Executor>>,
        spawn: Box<dyn Spawn>,
        idle: Duration,
    ) -> Arc<Pool> {
        Arc::new(Pool {
            switch: Switch::new(policy),
            capacity,
            has_room: AtomicBool::new(false),
            queue: Mutex::new(Queue::new(capacity)),
            unsettled: AtomicUsize::new(0),
            work: Condvar::new(),
            finished: Condvar::new(),
            on_error,
            executor,
            spawn,
            max_threads,
            idle,
            meter: Meter::default(),
        })
    }

    /// No code of a user runs under this lock, so a panic under it would be a bug here; the counts are whole even then.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pending(&self) -> usize {
        self.lock().pending()
    }

    pub(super) fn metrics(&self) -> Metrics {
        let (handed_over, peak_pending) = {
            let queue = self.lock();
            (queue.handed_over(), queue.peak_pending())
        };
        self.meter.read(handed_over, peak_pending)
    }

    /// Closes a handle here or hands it over, as the policy and the queue say.
    #[inline]
    pub(super) fn close<H, P>(self: &Arc<Pool>, handle: H, path: Option<P>)
    where
        H: Send + 'static,
        P: Into<PathBuf>,
    {
        if self.switch.hands_over() {
            self.hand_over(Handle::new(handle), path.map(boxed));
        } else {
            self.close_here(handle, path);
        }
    }

    /// Closes a handle on this thread.
    #[inline]
    pub(super) fn close_here<H, P>(&self, handle: H, path: Option<P>)
    where
        H: Send + 'static,
        P: Into<PathBuf>,
    {
        self.meter.closed_inline();
        if let Err(cause) = self.timed(Side::Caller, || handle::close(handle)) {
            self.report(handle::failure(path.map(boxed).as_deref(), cause));
        }
    }

    fn hand_over(self: &Arc<Pool>, handle: Handle, path: Option<Box<Path>>) {
        if let Handle::System(handle) = &handle
            && !self.has_room.swap(true, Ordering::Relaxed)
        {
            // Twice the capacity: the program has files of its own.
            sys::make_room_for_handles(handle, 2 * self.capacity);
        }
        let place = Place::of(&handle);
        self.hand_over_at(place, handle, path);
    }

    /// Hands over what is in the way of those who come to `place`.
    pub(super) fn hand_over_at(self: &Arc<Pool>, place: Place, handle: Handle, path: Option<Box<Path>>) {
        let workers = self.workers();
        let mut queue = self.lock();
        if queue.is_full() {
            drop(queue);
            self.meter.closed_inline();
            return self.close_now(Side::Caller, handle, path.as_deref());
        }
        self.unsettled.fetch_add(1, Ordering::Relaxed);
        queue.allow_threads(workers.unwrap_or(self.max_threads));
        let need = queue.push(handle, path, place);
        drop(queue);
        self.meet(need, workers.is_some());
    }

    fn meet(self: &Arc<Pool>, need: Need, executor_takes_work: bool) {
        match need {
            Need::Nothing => {}
            Need::Wake => self.work.notify_one(),
            Need::Start => {
                match &self.executor {
                    Some(executor) if executor_takes_work => self.start_worker(&**executor),
                    _ => self.start_thread(),
                }
                self.do_without_a_thread();
            }
        }
    }

    /// How many workers the executor takes; `None`: the pool's own threads are wanted.
    fn workers(&self) -> Option<usize> {
        let executor = self.executor.as_deref()?;
        let mut workers = 0;
        // A panic in there, as everywhere in an executor, counts as a refusal: this may be a drop.
        handle::contain(|| workers = executor.workers());
        (workers > 0).then_some(workers.min(self.max_threads))
    }

    fn start_worker(self: &Arc<Pool>, executor: &dyn Executor) {
        let worker = Worker::new(Arc::clone(self));
        handle::contain(|| executor.execute(Box::new(move || worker.run())));
    }

    /// The executor dropped a worker that it was to run: because its runtime is shutting down, or isn't there.
    ///
    /// Closes nothing here: the runtime may hold locks, and if even a thread can't be started, what waits is closed by the
    /// next wait or hand-over.
    #[cold]
    pub(super) fn replace_worker(self: &Arc<Pool>) {
        let mut queue = self.lock();
        if queue.is_empty() {
            queue.not_started();
        } else {
            drop(queue);
            self.start_thread();
        }
    }

    fn start_thread(self: &Arc<Pool>) {
        let pool = Arc::clone(self);
        if self.spawn.spawn(Box::new(move || pool.work())).is_err() && self.lock().not_started() == Need::Wake {
            self.work.notify_one();
        }
    }

    /// As long as there is no thread at all, because none could be started, this one closes what waits. The next hand-over
    /// tries again.
    fn do_without_a_thread(&self) {
        let mut queue = self.lock();
        while queue.threads() == 0
            && let Some(job) = queue.pop()
        {
            queue = self.run(Side::Caller, queue, job);
        }
    }

    /// A worker on an executor: closes what waits, if it is not too much for one turn. Else another is to go on, which has to
    /// queue up behind the runtime's other work, and may be refused: a runtime that shuts down waits for this one.
    pub(super) fn work_on_executor(self: &Arc<Pool>) {
        let mut queue = self.lock();
        queue.started();
        for _ in 0..TURN {
            let Some(job) = queue.pop() else { break };
            drop(self.run(Side::Pool, queue, job));
            if let Some(executor) = &self.executor {
                handle::contain(|| executor.yield_now());
            }
            queue = self.lock();
        }
        queue.ended();
        let need = queue.need();
        drop(queue);
        self.meet(need, self.workers().is_some());
    }

    /// A thread of the pool's own: closes what waits until nothing has come for a while.
    fn work(&self) {
        let mut queue = self.lock();
        queue.started();
        loop {
            if let Some(job) = queue.pop() {
                queue = self.run(Side::Pool, queue, job);
            } else if queue.is_shut_down() || self.idle.is_zero() {
                break;
            } else {
                queue.goes_idle();
                let (guard, timeout) = self.work.wait_timeout(queue, self.idle).unwrap_or_else(PoisonError::into_inner);
                queue = guard;
                queue.is_back();
                if timeout.timed_out() && queue.is_empty() {
                    break;
                }
            }
        }
        queue.ended();
    }

    /// Closes one job, without the lock.
    pub(super) fn run<'a>(&'a self, side: Side, queue: MutexGuard<'a, Queue>, job: Job) -> MutexGuard<'a, Queue> {
        drop(queue);
        let Job { generation, ticket, .. } = job;
        closing::begin(self.address(), generation, ticket);
        self.close_now(side, job.handle, job.path.as_deref());
        let generation = closing::end().unwrap_or(generation);
        let mut queue = self.lock();
        // With `is_idle`: whoever sees this sees what the close did.
        self.unsettled.fetch_sub(1, Ordering::Release);
        if queue.leave(generation) | queue.in_flight.leave(ticket) {
            self.finished.notify_all();
        }
        queue
    }

    fn close_now(&self, side: Side, handle: Handle, path: Option<&Path>) {
        if let Err(cause) = self.timed(side, || handle.close()) {
            self.report(handle::failure(path, cause));
        }
    }

    #[inline]
    fn timed(&self, side: Side, close: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let stands_for = if side == Side::Pool { 1 } else { self.switch.next_stands_for() };
        if stands_for == 0 {
            return close();
        }
        let begun = Instant::now();
        let result = close();
        let took = begun.elapsed();
        self.switch.record(took);
        self.meter.took(side, took, stands_for);
        result
    }

    /// Gives a failure to the callback, or keeps it for a wait.
    #[cold]
    pub(super) fn report(&self, error: Error) {
        self.meter.failed();
        #[cfg(feature = "tracing")]
        super::trace::failed(&error);
        if let Some(on_error) = &self.on_error
            && handle::contain(|| on_error(error.clone()))
        {
            return;
        }
        self.lock().keep(error);
    }

    /// Waits until all that was handed over before is closed, and takes the errors.
    pub(super) fn wait(&self) -> Vec<Error> {
        self.drain().take_errors()
    }

    /// Waits until all that was handed over before is closed.
    ///
    /// Closes on this thread what waits for one: all the executor's threads may be in here, or none may ever come.
    pub(super) fn drain(&self) -> MutexGuard<'_, Queue> {
        let (mut queue, left) = self.step_aside();
        let generation = queue.end_generation();
        while !queue.is_finished(generation) {
            queue = match queue.pop_up_to(generation) {
                Some(job) => self.run(Side::Caller, queue, job),
                None => self.finished.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
        self.step_back(&mut queue, left);
        queue
    }

    /// A thread is going to wait. A job that waits for its own pool would wait for itself, so those that this thread is
    /// closing count as closed meanwhile; [`step_back`](Pool::step_back) ends that.
    pub(super) fn step_aside(&self) -> (MutexGuard<'_, Queue>, Vec<usize>) {
        let mut queue = self.lock();
        let left = closing::leave(self.address(), |generation, ticket| {
            if queue.leave(generation) | queue.in_flight.step_aside(ticket) {
                self.finished.notify_all();
            }
        });
        (queue, left)
    }

    pub(super) fn step_back(&self, queue: &mut Queue, left: Vec<usize>) {
        closing::rejoin(left, |ticket| {
            queue.in_flight.step_back(ticket);
            queue.enter()
        });
    }

    /// Waits, sends the threads home, and prints errors that nobody took.
    pub(super) fn shut_down(&self) {
        let errors = self.wait();
        self.lock().shut_down();
        self.work.notify_all();
        print_last_resort(&errors);
    }

    /// Tells this pool from others for as long as it lives.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Empty after `shut_down`, unless it ran in the drop of a handle that this pool closed, and that handle failed
        // afterwards.
        print_last_resort(&self.lock().take_errors());
    }
}

/// Costs nothing until a path is needed: when a close fails, or has to wait.
fn boxed(path: impl Into<PathBuf>) -> Box<Path> {
    path.into().into_boxed_path()
}
