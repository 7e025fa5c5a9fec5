//! Futures of a receipt, for any runtime: they need no reactor, only to be polled when they say so.
//!
//! Executors' code (a waker's clone, wake and drop) may panic and may call back, so none of it runs under a lock, and a
//! panic in it ends nothing but itself.

use std::collections::BTreeMap;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::appender::commit::group::Group;
use crate::appender::commit::state::State;
use crate::appender::commit::wakers::{Goal, wake};
use crate::appender::receipt::Receipt;
use crate::appender::sync::Builder;
use crate::{Operation, Result};

/// How long the thread that waits for tasks stays when there is none.
#[cfg(not(loom))]
const IDLE: Duration = Duration::from_millis(100);
/// Loom knows no timeouts.
#[cfg(loom)]
const IDLE: Duration = Duration::ZERO;

/// A helper waits, writes and syncs.
const STACK: usize = 128 << 10;

impl State {
    /// The wakers of tasks that have what they wait for, or a failure.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        let everybody = self.progress.has_failed();
        let (written, durable) = (self.progress.written(), self.progress.durable());
        let mut ready = Vec::new();
        for (waiting, done) in [(&mut self.wakers.written, written), (&mut self.wakers.durable, durable)] {
            if waiting.first_key_value().is_none_or(|(key, _)| key.0 > done && !everybody) {
                continue;
            }
            let rest = if everybody { BTreeMap::new() } else { waiting.split_off(&(done + 1, 0)) };
            ready.extend(std::mem::replace(waiting, rest).into_values());
        }
        ready
    }

    /// What a task is told that waits for this.
    fn told(&mut self, goal: Goal, record: u64) -> Option<Result<()>> {
        let is_reached = match goal {
            Goal::Written => self.progress.is_written(record),
            Goal::Durable => self.progress.is_durable(record),
        };
        if is_reached { Some(Ok(())) } else { self.progress.tell().map(Err) }
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
        let (group, record, goal) = (&self.receipt.group, self.receipt.record, self.goal);
        group.check_call(Operation::Sync)?;
        if let Some(told) = group.lock().told(goal, record) {
            return Poll::Ready(told);
        }
        // An executor's code, as is what drops it.
        let mut waker = Some(context.waker().clone());
        let mut state = group.lock();
        if let Some(told) = state.told(goal, record) {
            drop(state);
            return Poll::Ready(told);
        }
        let id = *self.id.get_or_insert_with(|| {
            state.wakers.next += 1;
            if goal == Goal::Durable {
                group.arrives(&mut state, record);
            }
            state.wakers.next
        });
        let replaced = waker.take().and_then(|waker| state.wakers.of(goal).insert((record, id), waker));
        let starts = !std::mem::replace(&mut state.helpers[goal as usize], true);
        drop(state);
        drop(replaced);
        if !starts {
            group.tasks[goal as usize].notify_one();
        } else if !start_helper(group, goal) {
            // No thread: then this thread does what the helper would, for all tasks that count on one, and blocks.
            work(group, goal, Duration::ZERO);
            if let Some(told) = group.lock().told(goal, record) {
                return Poll::Ready(told);
            }
        }
        Poll::Pending
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(id) = self.id
            && self.receipt.group.check_call(Operation::Sync).is_ok()
        {
            let removed = self.receipt.group.lock().wakers.of(self.goal).remove(&(self.receipt.record, id));
            drop(removed); // an executor's code, without the lock
        }
    }
}

fn start_helper(group: &Arc<Group>, goal: Goal) -> bool {
    let helper = Arc::clone(group);
    let builder = Builder::new().name("manyfiles-append".into()).stack_size(STACK);
    builder.spawn(move || work(&helper, goal, IDLE)).is_ok()
}

/// Waits on behalf of tasks, as any other thread would. There is one for each goal, so that a task that waits for a
/// write never waits for a sync. Ends when no task has come for a while.
fn work(group: &Group, goal: Goal, idle: Duration) {
    let mut state = group.lock();
    loop {
        if let Some(record) = state.wakers.most(goal) {
            // A failure has woken the tasks, and each of them will see it. A task that has gone has not been told.
            match goal {
                Goal::Written => {
                    drop(state);
                    drop(group.try_write(record));
                }
                Goal::Durable => drop(group.try_sync(record, state)),
            }
            // Tasks that came just now may wait for what was reached before, or failed.
            let mut now = group.lock();
            let wakers = now.take_wakers();
            drop(now);
            wake(wakers);
            state = group.lock();
        } else if idle.is_zero() {
            break;
        } else {
            let waited = group.tasks[goal as usize].wait_timeout(state, idle);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() && state.wakers.most(goal).is_none() {
                break;
            }
        }
    }
    state.helpers[goal as usize] = false;
}

/// The future that [`Receipt::durable`] returns.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct UntilDurable(Waiting);

/// The future that [`Receipt::written`] returns.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct UntilWritten(Waiting);

impl UntilDurable {
    pub(super) fn new(receipt: Receipt) -> UntilDurable {
        UntilDurable(Waiting { receipt, goal: Goal::Durable, id: None })
    }
}

impl UntilWritten {
    pub(super) fn new(receipt: Receipt) -> UntilWritten {
        UntilWritten(Waiting { receipt, goal: Goal::Written, id: None })
    }
}

impl Receipt {
    /// [`wait_written`](Receipt::wait_written) for tasks: a future that belongs to no runtime.
    ///
    /// A thread is started to wait on behalf of the tasks, and ends when none has come for a while. (If none can be
    /// started, the future blocks.) Dropping the future leaves the record on its way.
    pub fn written(&self) -> UntilWritten {
        UntilWritten::new(self.clone())
    }

    /// [`wait_durable`](Receipt::wait_durable) for tasks. Awaiting the receipt itself does the same. See
    /// [`written`](Receipt::written).
    ///
    /// ```
    /// # async fn example(appender: std::sync::Arc<manyfiles::appender::Appender>) -> manyfiles::Result<()> {
    /// let receipt = appender.append(b"one line\n")?;
    /// receipt.durable().await?;
    /// appender.append(b"and another\n")?.await?;
    /// # Ok(()) }
    /// ```
    pub fn durable(&self) -> UntilDurable {
        UntilDurable::new(self.clone())
    }
}

impl IntoFuture for Receipt {
    type Output = Result<()>;
    type IntoFuture = UntilDurable;

    fn into_future(self) -> UntilDurable {
        UntilDurable::new(self)
    }
}

impl Future for UntilDurable {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.poll(context)
    }
}

impl Future for UntilWritten {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.poll(context)
    }
}
