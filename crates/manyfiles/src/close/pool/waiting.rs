//! Waiting for what is pending: all of it, one of it, or the end of the process.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{PATIENCE, Pool};
use crate::close::inside;
use crate::close::metrics::Side;
use crate::close::queue::{Job, Queue};
use crate::close::sync::MutexGuard;
use crate::errors::Collected;

impl Pool {
    /// Waits until all that was handed over before is closed, and takes the errors.
    pub(in crate::close) fn wait(self: &Arc<Pool>) -> Collected {
        if self.is_left_behind() {
            return Collected::default();
        }
        self.drain().take_errors()
    }

    /// Waits until all that was handed over before is closed.
    ///
    /// Makes on this thread the closes that wait for a thread, if they are calls of the system. Closes that run code of
    /// a user are left to the pool's threads: this thread may be in the middle of something that such code would wait
    /// for.
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

    /// Whether jobs before this number run code of a user and have no thread but the executor's, which may never begin.
    /// Then a place for a thread of the pool's own is reserved.
    pub(super) fn is_left_to_executor(&self, queue: &mut Queue, until: u64) -> bool {
        self.executor.is_some() && queue.has_other(until) && queue.start_own()
    }

    pub(super) fn close_without_executor<'a>(
        self: &'a Arc<Pool>,
        queue: MutexGuard<'a, Queue>,
    ) -> MutexGuard<'a, Queue> {
        drop(queue);
        self.start_thread();
        self.do_without_a_thread();
        self.lock()
    }

    /// This thread may wait for jobs before this number. Inside of a drop that the pool is making, it is the number of
    /// that drop's job.
    pub(super) fn horizon(&self, queue: &Queue) -> u64 {
        inside::job_of(self).unwrap_or_else(|| queue.now())
    }

    /// Closes a job in place of a thread.
    pub(super) fn help<'a>(self: &'a Arc<Pool>, queue: MutexGuard<'a, Queue>, job: Job) -> MutexGuard<'a, Queue> {
        let queue = self.run(Side::Caller, queue, job);
        // Another close of the same file may be ready now, and no thread may know of it.
        self.meet_all(queue)
    }

    /// Waits until one more close is made, or makes it. `false` if none is pending, or none returned in time.
    pub(in crate::close) fn close_one(self: &Arc<Pool>) -> bool {
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

    /// Waits, ends the threads, and prints errors that no call has taken.
    pub(in crate::close) fn shut_down(self: &Arc<Pool>) {
        if self.is_left_behind() {
            return;
        }
        let kept = self.wait();
        self.lock().shut_down();
        self.work.notify_all();
        kept.print();
    }

    /// The process ends: waits as long as closes return, and prints errors that no call has taken.
    pub(in crate::close) fn end(self: &Arc<Pool>, patience: Duration) {
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
}
