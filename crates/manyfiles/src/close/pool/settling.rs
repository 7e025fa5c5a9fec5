//! Waiting for the closes that are in the way of what the caller is about to do, and for no other closes.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{PATIENCE, Pool};
use crate::close::queue::Queue;
use crate::close::spot::{Affected, Hinders};
use crate::close::sync::MutexGuard;

impl Pool {
    /// Returns when the closes that were handed over before and concern `affected` are made. Their errors are not
    /// taken: the next `wait` returns them. `true` if there was such a close.
    ///
    /// A close that no thread has begun is made on this thread. So that close does not wait for the closes queued
    /// before it, and a thread of the executor that comes here needs no other thread to go on.
    pub(in crate::close) fn settle(self: &Arc<Pool>, affected: &Affected) -> bool {
        if self.is_left_behind() {
            return false;
        }
        let before = self.horizon(&self.lock());
        self.settle_before(affected, before, PATIENCE)
    }

    /// Whether a close that was handed over before concerns `affected`, or may concern it and is worth waiting for.
    pub(in crate::close) fn is_in_the_way(self: &Arc<Pool>, affected: &Affected) -> bool {
        if self.is_left_behind() {
            return false;
        }
        let queue = self.lock();
        let before = self.horizon(&queue);
        self.learn_paths(queue, affected, before).hinders(affected, before) != Hinders::No
    }

    /// As `settle`, but closes that only may concern `affected` are not waited for.
    pub(in crate::close) fn settle_surely(self: &Arc<Pool>, affected: &Affected) -> bool {
        if self.is_left_behind() {
            return false;
        }
        let before = self.horizon(&self.lock());
        self.settle_before(affected, before, Duration::ZERO)
    }

    /// Asks for the paths of what waits, and waits for the answers to those who close and have just asked: the kernel
    /// alone answers, at once.
    fn learn_paths<'a>(
        self: &'a Arc<Pool>,
        mut queue: MutexGuard<'a, Queue>,
        affected: &Affected,
        before: u64,
    ) -> MutexGuard<'a, Queue> {
        queue.learn_paths(affected);
        while let Some(asked) = queue.being_asked(affected, before) {
            drop(queue);
            asked.wait();
            queue = self.lock();
        }
        queue
    }

    pub(super) fn settle_before(self: &Arc<Pool>, affected: &Affected, before: u64, patience: Duration) -> bool {
        let mut queue = self.learn_paths(self.lock(), affected, before);
        let mut deadline = None;
        let mut was_pending = false;
        loop {
            if let Some(job) = queue.pop_hindering(affected, before) {
                queue = self.help(queue, job);
                was_pending = true;
                continue;
            }
            let left = match queue.hinders(affected, before) {
                Hinders::No => return was_pending,
                Hinders::Surely => None,
                Hinders::Perhaps => {
                    let deadline = *deadline.get_or_insert_with(|| Instant::now() + patience);
                    Some(deadline.saturating_duration_since(Instant::now()))
                }
            };
            if left.is_some_and(|left| left.is_zero()) {
                if !patience.is_zero() {
                    queue.give_up_on(affected, before);
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
}
