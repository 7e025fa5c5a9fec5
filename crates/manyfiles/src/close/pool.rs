//! The threads that close: as many as closes wait, none when nothing does.

use std::cell::Cell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::handle::{self, Handle};
use super::policy::{Policy, Switch};
use super::queue::{Job, Need, Queue};
use super::sync::{Builder, Condvar, LocalKey, Mutex, MutexGuard, thread_local};
use crate::{Error, sys};

/// How long a thread waits for the next close before it ends. The slowest closes that we know of take 10 ms, so a
/// program that is busy keeps its threads; starting one again costs some 30 µs.
pub(super) const IDLE: Duration = Duration::from_millis(100);

/// Closing takes little stack; a user type's drop, an `on_error` or the printing of a panic's backtrace take some.
/// Untouched stack costs address space only.
const STACK: usize = 256 << 10;

/// What receives failures in place of [`wait`](super::Closer::wait).
pub(super) type OnError = Box<dyn Fn(Error) + Send + Sync>;

/// Starts a worker: on a thread of its own, or on what else runs blocking work.
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
    /// A job waits, or the threads shall leave.
    work: Condvar,
    /// A generation is finished.
    finished: Condvar,
    on_error: Option<OnError>,
    spawn: Box<dyn Spawn>,
    idle: Duration,
}

thread_local! {
    /// The job that this thread is closing: its pool's address and its generation.
    // Not `const { … }`: loom's macro does not know it.
    static CLOSING: Cell<Option<(usize, u64)>> = Cell::default();
}

impl Pool {
    pub(super) fn new(
        policy: Policy,
        capacity: usize,
        max_threads: usize,
        on_error: Option<OnError>,
        spawn: Box<dyn Spawn>,
        idle: Duration,
    ) -> Arc<Pool> {
        Arc::new(Pool {
            switch: Switch::new(policy),
            capacity,
            has_room: AtomicBool::new(false),
            queue: Mutex::new(Queue::new(capacity, max_threads)),
            work: Condvar::new(),
            finished: Condvar::new(),
            on_error,
            spawn,
            idle,
        })
    }

    /// No code of a user runs under this lock, so a panic under it would be a bug here; the counts are whole even then.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pending(&self) -> usize {
        self.lock().pending()
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
        } else if let Err(cause) = self.timed(|| handle::close(handle)) {
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
        let mut queue = self.lock();
        if queue.is_full() {
            drop(queue);
            return self.close_now(handle, path.as_deref());
        }
        let need = queue.push(handle, path);
        drop(queue);
        match need {
            Need::Nothing => {}
            Need::Wake => self.work.notify_one(),
            Need::Start => self.start(),
        }
    }

    fn start(self: &Arc<Pool>) {
        let pool = Arc::clone(self);
        if self.spawn.spawn(Box::new(move || pool.work())).is_err() {
            self.do_without_a_thread();
        }
    }

    /// No thread could be started. As long as there is none at all, this one closes what waits. The next hand-over
    /// tries again.
    #[cold]
    fn do_without_a_thread(self: &Arc<Pool>) {
        let mut queue = self.lock();
        if queue.not_started() == Need::Wake {
            self.work.notify_one();
        }
        while queue.threads() == 0
            && let Some(job) = queue.pop()
        {
            queue = self.run(queue, job);
        }
    }

    /// A worker: closes what waits until nothing has come for a while.
    fn work(&self) {
        let mut queue = self.lock();
        queue.started();
        loop {
            if let Some(job) = queue.pop() {
                queue = self.run(queue, job);
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
    fn run<'a>(&'a self, queue: MutexGuard<'a, Queue>, job: Job) -> MutexGuard<'a, Queue> {
        drop(queue);
        let outer = with(&CLOSING, |closing| closing.replace(Some((self.address(), job.generation))));
        self.close_now(job.handle, job.path.as_deref());
        let generation = match with(&CLOSING, |closing| closing.replace(outer.flatten())) {
            Some(Some((_, generation))) => generation,
            _ => job.generation,
        };
        let mut queue = self.lock();
        if queue.leave(generation) {
            self.finished.notify_all();
        }
        queue
    }

    fn close_now(&self, handle: Handle, path: Option<&Path>) {
        if let Err(cause) = self.timed(|| handle.close()) {
            self.report(handle::failure(path, cause));
        }
    }

    #[inline]
    fn timed(&self, close: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if !self.switch.wants_times() {
            return close();
        }
        let begun = Instant::now();
        let result = close();
        self.switch.record(begun.elapsed());
        result
    }

    /// Gives a failure to the callback, or keeps it for a wait.
    #[cold]
    fn report(&self, error: Error) {
        if let Some(on_error) = &self.on_error
            && handle::contain(|| on_error(error.clone()))
        {
            return;
        }
        self.lock().keep(error);
    }

    /// Waits until all that was handed over before is closed, and takes the errors.
    pub(super) fn wait(&self) -> Vec<Error> {
        let mut queue = self.lock();
        let own = with(&CLOSING, Cell::get).flatten().filter(|(pool, _)| *pool == self.address());
        // A job that waits for its own pool would wait for itself. It counts as closed meanwhile, and joins again
        // afterwards.
        if let Some((_, generation)) = own
            && queue.leave(generation)
        {
            self.finished.notify_all();
        }
        let generation = queue.end_generation();
        while !queue.is_finished(generation) {
            queue = self.finished.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        if own.is_some() {
            let generation = queue.enter();
            with(&CLOSING, |closing| closing.set(Some((self.address(), generation))));
        }
        queue.take_errors()
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

/// Errors that nobody took. Better on standard error than nowhere.
pub(super) fn print_last_resort<'a>(errors: impl IntoIterator<Item = &'a Error>) {
    for error in errors {
        // Where standard error is closed too there is nobody left to tell, and a drop must not panic.
        drop(writeln!(io::stderr(), "manyfiles: {error}"));
    }
}

/// `None` when the thread is ending and its locals are gone; then it closes no job.
fn with<R>(
    key: &'static LocalKey<Cell<Option<(usize, u64)>>>,
    f: impl FnOnce(&Cell<Option<(usize, u64)>>) -> R,
) -> Option<R> {
    key.try_with(f).ok()
}

/// Costs nothing until a path is needed: when a close fails, or has to wait.
fn boxed(path: impl Into<PathBuf>) -> Box<Path> {
    path.into().into_boxed_path()
}
