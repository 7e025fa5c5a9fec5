//! What a closer and its threads share: how a handle goes from whoever drops it to whoever closes it, and waiting.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::errors::Kept;
use super::executor::Executor;
use super::handle::{self, Handle};
use super::metrics::{Meter, Metrics, Side};
use super::policy::{Access, Policy, Switch};
use super::queue::{Job, Queue};
use super::spot::{Hinders, Spot, Target};
use super::sync::{Condvar, Mutex, MutexGuard};
use super::threads::Spawn;
use super::{inside, process};
use crate::{Error, Operation, sys};

/// How long a function waits for closes of which nobody knows whether they are in its way: those of a user's type. After that
/// nobody waits for these any more who need not.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// What receives failures in place of [`wait`](super::Closer::wait).
pub(super) type OnError = Box<dyn Fn(Error) + Send + Sync>;

/// What a [`Closer`](super::Closer) and its threads share.
pub(crate) struct Pool {
    switch: Switch,
    capacity: usize,
    /// Whether it has handed over or kept anything, so that the process knows of it.
    is_known: AtomicBool,
    queue: Mutex<Queue>,
    /// How many jobs wait or are being closed, for those who want to know without the lock.
    unsettled: AtomicUsize,
    /// A job waits, or the threads shall leave.
    pub(super) work: Condvar,
    /// A close was made that somebody may wait for.
    finished: Condvar,
    on_error: Option<OnError>,
    /// What runs the workers, if not threads of the pool's own.
    pub(super) executor: Option<Box<dyn Executor>>,
    pub(super) spawn: Box<dyn Spawn>,
    /// How long a thread of the pool's own stays without work. A worker on an executor leaves at once: the thread has other
    /// things to do.
    pub(super) idle: Duration,
    /// How often the process had forked when this was made.
    forks: usize,
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
        // Where std alone closes there is nothing to choose, and perhaps no clock.
        let policy = if process::CAN_HAND_OVER { policy } else { Policy::Never };
        Arc::new(Pool {
            switch: Switch::new(policy),
            capacity,
            is_known: AtomicBool::new(false),
            queue: Mutex::new(Queue::new(capacity, max_threads)),
            unsettled: AtomicUsize::new(0),
            work: Condvar::new(),
            finished: Condvar::new(),
            on_error,
            executor,
            spawn,
            idle,
            forks: process::forks(),
            meter: Meter::default(),
        })
    }

    /// No code of a user runs under this lock, so a panic under it would be a bug here; the counts are whole even then.
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process was forked from the one that made the pool. Its threads stayed there, and its lock may be held by
    /// one of them for ever: here it closes on the spot and touches nothing else.
    fn is_left_behind(&self) -> bool {
        self.forks != process::forks()
    }

    pub(super) fn pending(&self) -> usize {
        if self.is_left_behind() { 0 } else { self.lock().pending() }
    }

    pub(super) fn metrics(&self) -> Metrics {
        let (handed_over, peak_pending) = if self.is_left_behind() {
            (0, 0)
        } else {
            let queue = self.lock();
            (queue.handed_over(), queue.peak_pending())
        };
        self.meter.read(handed_over, peak_pending)
    }

    // Closing.

    /// Closes a handle here or hands it over, as the policy and the queue say.
    #[inline]
    pub(crate) fn close<H, P>(self: &Arc<Pool>, handle: H, path: Option<P>, access: Option<Access>)
    where
        H: Send + 'static,
        P: Into<PathBuf>,
    {
        if self.switch.is_quiet() && process::nothing_pends() && !handle::may_be_busy::<H>() {
            self.close_here(handle, path, access);
        } else {
            self.close_or_hand_over(Handle::new(handle), path.map(boxed), access);
        }
    }

    /// Closes a handle on this thread, where no other close is pending that it might overtake.
    #[inline]
    fn close_here<H, P>(self: &Arc<Pool>, handle: H, path: Option<P>, access: Option<Access>)
    where
        H: Send + 'static,
        P: Into<PathBuf>,
    {
        match handle::recognise(handle) {
            Ok(handle) => {
                let closed = self.timed(Side::Caller, access.unwrap_or(Access::Write), || sys::close(handle));
                if let Err(cause) = closed {
                    self.report(handle::failure(Operation::Close, path.map(boxed).as_deref(), cause));
                }
            }
            Err(handle) => {
                let path = path.map(boxed);
                self.close_now(Side::Caller, Handle::not_recognised(handle), path.as_deref(), access, None);
            }
        }
        self.meter.closed_inline();
    }

    /// The same where others may be pending.
    pub(crate) fn close_in_order(self: &Arc<Pool>, handle: Handle, path: Option<Box<Path>>, access: Option<Access>) {
        if !process::nothing_pends()
            && let Handle::System(handle) = &handle
            && let Some(file) = sys::regular_file(handle)
        {
            process::settle(&Target::File(file));
        }
        self.close_now(Side::Caller, handle, path.as_deref(), access, None);
        self.meter.closed_inline();
    }

    /// Whether it closes on the spot now, whatever is handed over to it.
    #[cfg(feature = "fs")]
    pub(crate) fn closes_here(&self) -> bool {
        self.switch.is_quiet()
    }

    fn close_or_hand_over(self: &Arc<Pool>, handle: Handle, path: Option<Box<Path>>, access: Option<Access>) {
        let access = access.unwrap_or_else(|| handle.access());
        let is_wanted = || self.switch.hands_over(access) || handle.is_busy() && process::CAN_HAND_OVER;
        // One of the pool's own threads gains nothing by handing over.
        if !self.is_left_behind() && is_wanted() && inside::job_of(self).is_none() && handle.leaves_room() {
            self.hand_over(handle, path, access);
        } else {
            self.close_in_order(handle, path, Some(access));
        }
    }

    fn hand_over(self: &Arc<Pool>, handle: Handle, path: Option<Box<Path>>, access: Access) {
        let spot = Spot::of(&handle).with(access);
        // No regular file: who writes to a FIFO would find a reader that has gone, and who reads from a pipe wait for its end.
        if spot == Spot::Nowhere && matches!(handle, Handle::System(_)) {
            return self.close_in_order(handle, path, Some(access));
        }
        // Closes of one file are made in their order, whichever closers they were given to.
        if let Some(file) = spot.file()
            && process::pending() > self.unsettled.load(Ordering::Relaxed)
        {
            process::settle_but(self, &Target::File(file));
        }
        self.hand_over_at(spot, handle, path, access);
    }

    /// Hands over what is in the way of those who come to `spot`.
    pub(super) fn hand_over_at(self: &Arc<Pool>, spot: Spot, handle: Handle, path: Option<Box<Path>>, access: Access) {
        self.make_known();
        let workers = self.workers();
        let mut queue = self.lock();
        if queue.is_full() {
            drop(queue);
            return self.close_in_order(handle, path, Some(access));
        }
        self.count_in();
        #[cfg(feature = "tokio")]
        if handle.is_busy() {
            let number = queue.begin_apart(spot.clone());
            drop(queue);
            return self.close_apart(number, spot, handle, path);
        }
        queue.allow_workers(workers);
        let need = queue.push(handle, path, spot);
        drop(queue);
        self.meet(need);
    }

    /// Closes on a thread that is started for it: the runtime's own would wait for each other.
    #[cfg(feature = "tokio")]
    fn close_apart(self: &Arc<Pool>, number: u64, spot: Spot, handle: Handle, path: Option<Box<Path>>) {
        use super::sync::Mutex;
        let all = Arc::new(Mutex::new(Some((spot, handle, path))));
        let close = {
            let (pool, all) = (Arc::clone(self), Arc::clone(&all));
            move || {
                let Some((spot, handle, path)) = all.lock().unwrap_or_else(PoisonError::into_inner).take() else {
                    return;
                };
                if let Some(file) = spot.file() {
                    pool.settle_before(&Target::File(file), number, PATIENCE);
                }
                pool.close_now(Side::Pool, handle, path.as_deref(), None, Some(number));
                drop(pool.finish(pool.lock(), number));
            }
        };
        if self.spawn.spawn(Box::new(close.clone())).is_err() {
            close();
        }
    }

    /// Closes one job, without the lock.
    pub(super) fn run<'a>(
        self: &'a Arc<Pool>,
        side: Side,
        queue: MutexGuard<'a, Queue>,
        job: Job,
    ) -> MutexGuard<'a, Queue> {
        drop(queue);
        let Job { number, handle, path, .. } = job;
        self.close_now(side, handle, path.as_deref(), None, Some(number));
        self.finish(self.lock(), number)
    }

    fn finish<'a>(&'a self, mut queue: MutexGuard<'a, Queue>, number: u64) -> MutexGuard<'a, Queue> {
        self.count_out();
        if queue.finish(number) {
            self.finished.notify_all();
        }
        queue
    }

    /// `number` is that of the job.
    fn close_now(
        self: &Arc<Pool>,
        side: Side,
        handle: Handle,
        path: Option<&Path>,
        access: Option<Access>,
        number: Option<u64>,
    ) {
        let access = access.unwrap_or_else(|| handle.access());
        let failed = |operation, cause| self.report(handle::failure(operation, path, cause));
        if handle.is_plain() {
            self.timed(side, access, || handle.close(failed));
        } else {
            // What such a drop closes belongs to this pool, too.
            inside::enter(self, number, || self.timed(side, access, || handle.close(failed)));
        }
    }

    #[inline]
    fn timed<R>(&self, side: Side, access: Access, close: impl FnOnce() -> R) -> R {
        if !process::CAN_HAND_OVER {
            return close();
        }
        let begun = Instant::now();
        let result = close();
        let took = begun.elapsed();
        self.switch.record(access, took);
        self.meter.took(side, took);
        result
    }

    // Errors.

    /// Gives a failure to the callback, or keeps it for a wait.
    #[cold]
    pub(super) fn report(self: &Arc<Pool>, error: Error) {
        self.meter.failed();
        #[cfg(feature = "tracing")]
        super::trace::failed(&error);
        if let Some(on_error) = &self.on_error
            && handle::contain(|| on_error(error.clone()))
        {
            return;
        }
        if self.is_left_behind() {
            return crate::error::print_last_resort([&error]);
        }
        self.make_known();
        self.lock().keep(error);
    }

    // Waiting.

    /// Waits until all that was handed over before is closed, and takes the errors.
    pub(super) fn wait(self: &Arc<Pool>) -> Kept {
        if self.is_left_behind() {
            return Kept::default();
        }
        self.drain().take_errors()
    }

    /// Waits until all that was handed over before is closed.
    ///
    /// Closes on this thread what waits for one, if that is a call of the system's. What runs code of a user's is left to the
    /// pool's threads: this one may be in the middle of something that such code would wait for.
    fn drain(self: &Arc<Pool>) -> MutexGuard<'_, Queue> {
        let mut queue = self.lock();
        let until = self.horizon(&queue);
        queue.begin_wait(until);
        while !queue.is_done(until) {
            queue = match queue.pop_plain(until) {
                Some(job) => self.help(queue, job),
                None if self.is_left_to_executor(&mut queue, until) => self.close_without_executor(queue),
                None => self.finished.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
        queue.end_wait(until);
        queue
    }

    /// Whether jobs before this number run code of a user's and have no thread but the executor's, which may never begin. Then
    /// a place for one of the pool's own is reserved.
    fn is_left_to_executor(&self, queue: &mut Queue, until: u64) -> bool {
        self.executor.is_some() && queue.has_other(until) && queue.start_own()
    }

    fn close_without_executor<'a>(self: &'a Arc<Pool>, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        drop(queue);
        self.start_thread();
        self.do_without_a_thread();
        self.lock()
    }

    /// The number before which this thread may wait for jobs: in a drop that the pool is making it is the number of that.
    fn horizon(&self, queue: &Queue) -> u64 {
        inside::job_of(self).unwrap_or_else(|| queue.now())
    }

    /// Closes a job in place of a thread.
    fn help<'a>(self: &'a Arc<Pool>, queue: MutexGuard<'a, Queue>, job: Job) -> MutexGuard<'a, Queue> {
        let mut queue = self.run(Side::Caller, queue, job);
        // Now another close of the same file may be ready, and no thread know of it.
        let need = queue.need();
        if need == super::queue::Need::Nothing {
            return queue;
        }
        drop(queue);
        self.meet(need);
        self.lock()
    }

    /// Returns when what was handed over before and is in the way of `target` is closed. Errors stay for a wait.
    ///
    /// What still waits is closed on this thread: it need not wait for those before it, and a thread of the executor
    /// that comes here needs no other thread to go on.
    /// `true` if there was something.
    pub(super) fn settle(self: &Arc<Pool>, target: &Target) -> bool {
        if self.is_left_behind() {
            return false;
        }
        let before = self.horizon(&self.lock());
        self.settle_before(target, before, PATIENCE)
    }

    /// The same, but what nobody knows of is not waited for.
    pub(super) fn settle_surely(self: &Arc<Pool>, target: &Target) -> bool {
        if self.is_left_behind() {
            return false;
        }
        let before = self.horizon(&self.lock());
        self.settle_before(target, before, Duration::ZERO)
    }

    fn settle_before(self: &Arc<Pool>, target: &Target, before: u64, patience: Duration) -> bool {
        let mut queue = self.lock();
        let mut deadline = None;
        let mut was_pending = false;
        loop {
            if let Some(job) = queue.pop_hindering(target, before) {
                queue = self.help(queue, job);
                was_pending = true;
                continue;
            }
            let left = match queue.hinders(target, before) {
                Hinders::No => return was_pending,
                Hinders::Surely => None,
                Hinders::Perhaps => {
                    let deadline = *deadline.get_or_insert_with(|| Instant::now() + patience);
                    Some(deadline.saturating_duration_since(Instant::now()))
                }
            };
            if left.is_some_and(|left| left.is_zero()) {
                if !patience.is_zero() {
                    queue.give_up_on(target, before);
                }
                return was_pending;
            }
            was_pending = true;
            if self.is_left_to_executor(&mut queue, before) {
                queue = self.close_without_executor(queue);
                continue;
            }
            queue.watchers += 1;
            queue = match left {
                None => self.finished.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.finished.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0,
            };
            queue.watchers -= 1;
        }
    }

    /// Waits until one more close is made, or makes it. `false` if none is pending, or none returned in time.
    pub(super) fn close_one(self: &Arc<Pool>) -> bool {
        if self.is_left_behind() {
            return false;
        }
        let mut queue = self.lock();
        let before = self.horizon(&queue);
        if let Some(job) = queue.pop_plain(before) {
            drop(self.help(queue, job));
            return true;
        }
        let pending = queue.pending();
        if self.is_left_to_executor(&mut queue, before) {
            queue = self.close_without_executor(queue);
        }
        let deadline = Instant::now() + PATIENCE;
        while pending > 0 && queue.pending() >= pending {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            queue.watchers += 1;
            queue = self.finished.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
            queue.watchers -= 1;
        }
        pending > 0
    }

    /// Waits, sends the threads home, and prints errors that nobody took.
    pub(super) fn shut_down(self: &Arc<Pool>) {
        if self.is_left_behind() {
            return;
        }
        let kept = self.wait();
        self.lock().shut_down();
        self.work.notify_all();
        kept.print();
    }

    /// The process ends: waits as long as closes return, and prints errors that nobody took.
    pub(super) fn end(self: &Arc<Pool>, patience: Duration) {
        if self.is_left_behind() {
            return;
        }
        let mut queue = self.lock();
        let until = self.horizon(&queue);
        let mut pending = queue.pending();
        let mut deadline = Instant::now() + patience;
        while !queue.is_done(until) {
            if let Some(job) = queue.pop_plain(until) {
                queue = self.help(queue, job);
            } else if self.is_left_to_executor(&mut queue, until) {
                queue = self.close_without_executor(queue);
            } else {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    let hung = queue.pending();
                    crate::error::print_last_resort_line(format_args!(
                        "the process ends though {hung} closes have not returned"
                    ));
                    break;
                }
                queue.watchers += 1;
                queue = self.finished.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
                queue.watchers -= 1;
            }
            if queue.pending() != pending {
                (pending, deadline) = (queue.pending(), Instant::now() + patience);
            }
        }
        queue.take_errors().print();
    }

    // The process.

    /// Makes the process's functions find this pool.
    fn make_known(self: &Arc<Pool>) {
        if !self.is_known.swap(true, Ordering::Relaxed) {
            process::add(self, self.capacity);
        }
    }

    fn count_in(&self) {
        self.unsettled.fetch_add(1, Ordering::Relaxed);
        process::count_in();
    }

    fn count_out(&self) {
        self.unsettled.fetch_sub(1, Ordering::Relaxed);
        process::count_out();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Empty after `shut_down`, unless a file that knew this pool outlived its closer, and failed afterwards.
        if !self.is_left_behind() {
            self.lock().take_errors().print();
        }
    }
}

/// Costs nothing until a path is needed: when a close fails, or has to wait.
fn boxed(path: impl Into<PathBuf>) -> Box<Path> {
    path.into().into_boxed_path()
}
