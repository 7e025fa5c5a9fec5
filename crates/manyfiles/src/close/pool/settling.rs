//! Waiting for the closes that are in the way of what somebody is about to do, and for no others.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{PATIENCE, Pool};
use crate::close::spot::{Hinders, Target};

impl Pool {
    /// Returns when what was handed over before and is in the way of `target` is closed. Errors stay for a wait.
    ///
    /// What still waits is closed on this thread: it need not wait for those before it, and a thread of the executor
    /// that comes here needs no other thread to go on.
    /// `true` if there was something.
    pub(in crate::close) fn settle(self: &Arc<Pool>, target: &Target) -> bool {
        if self.is_left_behind() {
            return false;
        }
        let before = self.horizon(&self.lock());
        self.settle_before(target, before, PATIENCE)
    }

    /// The same, but what nobody knows of is not waited for.
    pub(in crate::close) fn settle_surely(self: &Arc<Pool>, target: &Target) -> bool {
        if self.is_left_behind() {
            return false;
        }
        let before = self.horizon(&self.lock());
        self.settle_before(target, before, Duration::ZERO)
    }

    pub(super) fn settle_before(self: &Arc<Pool>, target: &Target, before: u64, patience: Duration) -> bool {
        let mut queue = self.lock();
        queue.learn_names(target);
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
}
