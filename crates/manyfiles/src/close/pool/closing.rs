//! How a handle goes from the thread that drops it to the thread that closes it, and the close itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Pool;
use crate::close::handle::{self, Handle};
use crate::close::metrics::Side;
use crate::close::policy::Access;
use crate::close::queue::{Job, Queue};
use crate::close::spot::{Affected, Spot};
use crate::close::sync::MutexGuard;
use crate::close::{inside, process, recognise};
use crate::{Operation, sys};

impl Pool {
    /// Closes a handle here or hands it over, as the policy and the queue say.
    #[inline]
    pub(crate) fn close<H, P>(self: &Arc<Pool>, handle: H, path: Option<P>, access: Option<Access>)
    where
        H: Send + 'static,
        P: Into<PathBuf>,
    {
        if self.switch.is_quiet() && process::nothing_pends() && !recognise::may_be_busy::<H>() {
            self.close_here(handle, path, access);
        } else {
            self.close_or_hand_over(recognise::handle_of(handle), path.map(boxed), access);
        }
    }

    /// Closes a handle on this thread, where no other close is pending that it might overtake.
    #[inline]
    fn close_here<H, P>(self: &Arc<Pool>, handle: H, path: Option<P>, access: Option<Access>)
    where
        H: Send + 'static,
        P: Into<PathBuf>,
    {
        match recognise::recognise(handle) {
            Ok(handle) => {
                let closed = self.timed(Side::Caller, access.unwrap_or(Access::Write), || sys::close(handle));
                if let Err(cause) = closed {
                    self.report(handle::failure(Operation::Close, path.map(boxed).as_deref(), cause));
                }
            }
            Err(handle) => {
                let path = path.map(boxed);
                self.close_now(Side::Caller, recognise::not_recognised(handle), path.as_deref(), access, None);
            }
        }
        self.meter.closed_inline();
    }

    /// Closes a handle on this thread, after closes of the same file that are pending.
    pub(crate) fn close_in_order(self: &Arc<Pool>, handle: Handle, path: Option<Box<Path>>, access: Option<Access>) {
        if !process::nothing_pends()
            && let Handle::System(handle) = &handle
            && let Some(file) = sys::regular_file(handle)
        {
            process::settle(&Affected::File(file));
        }
        self.close_now(Side::Caller, handle, path.as_deref(), access, None);
        self.meter.closed_inline();
    }

    /// Whether the pool closes everything on the spot now.
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
        // Not a regular file. A delayed close of a pipe or FIFO would be seen at its other end: a reader would go on
        // waiting for the end, and a writer would write to a reader that has gone.
        if spot == Spot::Nowhere && matches!(handle, Handle::System(_)) {
            return self.close_in_order(handle, path, Some(access));
        }
        // Closes of one file are made in their order, whichever closers they were given to.
        if let Some(file) = spot.file()
            && process::pending() > self.unsettled.load(Ordering::Relaxed)
        {
            process::settle_but(self, &Affected::File(file));
        }
        self.hand_over_at(spot, handle, path, access);
    }

    /// Queues a close. Operations that concern `spot` wait for it.
    pub(in crate::close) fn hand_over_at(
        self: &Arc<Pool>,
        spot: Spot,
        handle: Handle,
        path: Option<Box<Path>>,
        access: Access,
    ) {
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

    /// Closes on a thread that is started for this close: the runtime's own threads would wait for each other.
    #[cfg(feature = "tokio")]
    fn close_apart(self: &Arc<Pool>, number: u64, spot: Spot, handle: Handle, path: Option<Box<Path>>) {
        use std::sync::PoisonError;

        use super::PATIENCE;
        use crate::close::sync::Mutex;
        let all = Arc::new(Mutex::new(Some((spot, handle, path))));
        let close = {
            let (pool, all) = (Arc::clone(self), Arc::clone(&all));
            move || {
                let Some((spot, handle, path)) = all.lock().unwrap_or_else(PoisonError::into_inner).take() else {
                    return;
                };
                if let Some(file) = spot.file() {
                    pool.settle_before(&Affected::File(file), number, PATIENCE);
                }
                pool.close_now(Side::Pool, handle, path.as_deref(), None, Some(number));
                // Another close of the same file may be ready now.
                drop(pool.meet_all(pool.finish(pool.lock(), number)));
            }
        };
        if self.spawn.spawn(Box::new(close.clone())).is_err() {
            close();
        }
    }

    /// Closes one job, without the lock.
    pub(in crate::close) fn run<'a>(
        self: &'a Arc<Pool>,
        side: Side,
        queue: MutexGuard<'a, Queue>,
        job: Job,
    ) -> MutexGuard<'a, Queue> {
        drop(queue);
        job.ask_path();
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

    /// `number`: the job's, if the close was handed over.
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
            // Files that such a drop closes belong to this pool, too.
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
}

/// Costs nothing until a path is needed: when a close fails, or has to wait.
fn boxed(path: impl Into<PathBuf>) -> Box<Path> {
    path.into().into_boxed_path()
}
