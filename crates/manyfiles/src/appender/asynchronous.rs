//! Futures of a receipt, for any runtime: they need no reactor, only to be polled when they say so.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::group::Group;
use super::receipt::Receipt;
use super::state::State;
use super::sync::Builder;
use crate::Result;

/// How long the thread that waits for tasks stays when there is none.
#[cfg(not(loom))]
const IDLE: Duration = Duration::from_millis(100);
/// Loom knows no timeouts.
#[cfg(loom)]
const IDLE: Duration = Duration::ZERO;

/// The helper waits, writes and syncs.
const STACK: usize = 128 << 10;

/// Tasks that wait, by record.
#[derive(Debug, Default)]
pub(super) struct Wakers {
    written: BTreeMap<(u64, u64), Waker>,
    durable: BTreeMap<(u64, u64), Waker>,
    /// Tells those who wait for the same record apart.
    next: u64,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    Written,
    Durable,
}

impl Wakers {
    fn of(&mut self, goal: Goal) -> &mut BTreeMap<(u64, u64), Waker> {
        match goal {
            Goal::Written => &mut self.written,
            Goal::Durable => &mut self.durable,
        }
    }

    /// What to wait for so that all these have what they wait for.
    fn most(&self) -> Option<(Goal, u64)> {
        // Those that need no sync first: they need not wait for one.
        let written = self.written.last_key_value().map(|(key, _)| (Goal::Written, key.0));
        written.or_else(|| self.durable.last_key_value().map(|(key, _)| (Goal::Durable, key.0)))
    }
}

impl State {
    /// Those who wait for nothing any more.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        let everybody = self.failure.is_some();
        let mut ready = Vec::new();
        for (waiting, done) in [(&mut self.wakers.written, self.written), (&mut self.wakers.durable, self.durable)] {
            if waiting.first_key_value().is_none_or(|(key, _)| key.0 > done && !everybody) {
                continue;
            }
            let rest = if everybody { BTreeMap::new() } else { waiting.split_off(&(done + 1, 0)) };
            ready.extend(std::mem::replace(waiting, rest).into_values());
        }
        ready
    }

    fn is_reached(&self, goal: Goal, record: u64) -> bool {
        record <= if goal == Goal::Written { self.written } else { self.durable }
    }
}

/// A future of a receipt.
#[derive(Debug)]
struct Waiting {
    receipt: Receipt,
    goal: Goal,
    /// The number that this has among the wakers.
    id: Option<u64>,
}

impl Waiting {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Receipt { group, record } = &self.receipt;
        let mut state = group.lock();
        if state.is_reached(self.goal, *record) {
            return Poll::Ready(Ok(()));
        }
        if let Some(failure) = state.failure() {
            return Poll::Ready(Err(failure));
        }
        let id = *self.id.get_or_insert_with(|| {
            state.wakers.next += 1;
            if self.goal == Goal::Durable {
                group.arrives(&mut state, *record);
            }
            state.wakers.next
        });
        let replaced = state.wakers.of(self.goal).insert((*record, id), context.waker().clone());
        let starts = !std::mem::replace(&mut state.helper, true);
        drop(state);
        drop(replaced); // an executor's code
        if !starts {
            group.tasks.notify_one();
        } else if !start_helper(group) {
            // No thread: then this one does it, and blocks.
            let result = help(self.goal, group, *record);
            return Poll::Ready(result);
        }
        Poll::Pending
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let removed = self.receipt.group.lock().wakers.of(self.goal).remove(&(self.receipt.record, id));
            drop(removed); // an executor's code, without the lock
        }
    }
}

fn start_helper(group: &Arc<Group>) -> bool {
    let helper = Arc::clone(group);
    let started = Builder::new().name("manyfiles-append".into()).stack_size(STACK).spawn(move || work(&helper));
    if started.is_err() {
        group.lock().helper = false;
    }
    started.is_ok()
}

/// Waits on behalf of tasks, as any other thread would.
fn work(group: &Group) {
    let mut state = group.lock();
    loop {
        if let Some((goal, record)) = state.wakers.most() {
            drop(state);
            // A failure has woken the tasks, and each of them will see it.
            help(goal, group, record).unwrap_or(());
            state = group.lock();
        } else if IDLE.is_zero() {
            break;
        } else {
            let (guard, timeout) = group.tasks.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() && state.wakers.most().is_none() {
                break;
            }
        }
    }
    state.helper = false;
}

fn help(goal: Goal, group: &Group, record: u64) -> Result<()> {
    match goal {
        Goal::Written => group.wait_written(record),
        Goal::Durable => group.wait_durable(record),
    }
}

/// The future that [`Receipt::durable`] returns.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Durable(Waiting);

/// The future that [`Receipt::written`] returns.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Written(Waiting);

impl Durable {
    pub(super) fn new(receipt: Receipt) -> Durable {
        Durable(Waiting { receipt, goal: Goal::Durable, id: None })
    }
}

impl Written {
    pub(super) fn new(receipt: Receipt) -> Written {
        Written(Waiting { receipt, goal: Goal::Written, id: None })
    }
}

impl Future for Durable {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.poll(context)
    }
}

impl Future for Written {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.poll(context)
    }
}
