//! [`Wakers`]: the tasks that wait for records.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Tasks that wait, by record.
#[derive(Debug, Default)]
pub(in crate::appender) struct Wakers {
    pub(in crate::appender) written: BTreeMap<(u64, u64), Waker>,
    pub(in crate::appender) durable: BTreeMap<(u64, u64), Waker>,
    /// Tells tasks that wait for the same record apart.
    pub(in crate::appender) next: u64,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::appender) enum Goal {
    Written,
    Durable,
}

impl Wakers {
    pub(in crate::appender) fn of(&mut self, goal: Goal) -> &mut BTreeMap<(u64, u64), Waker> {
        match goal {
            Goal::Written => &mut self.written,
            Goal::Durable => &mut self.durable,
        }
    }

    /// What to wait for so that all these have what they wait for.
    pub(in crate::appender) fn most(&mut self, goal: Goal) -> Option<u64> {
        self.of(goal).last_key_value().map(|(key, _)| key.0)
    }
}

/// Wakes tasks. Their executors' code runs here, so no lock is held. A panic in it is the executor's own: it is printed
/// as any other, and the threads that share the syncs go on.
pub(in crate::appender) fn wake(wakers: Vec<Waker>) {
    for waker in wakers {
        drop(catch_unwind(AssertUnwindSafe(|| waker.wake())));
    }
}
