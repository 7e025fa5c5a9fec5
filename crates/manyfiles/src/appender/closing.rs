//! [`Closing`]: closing an appender without blocking a task.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::appender::Appender;
use crate::appender::commit::wakers::wake;
use crate::appender::sync::{Builder, Mutex, MutexGuard};
use crate::error::print_last_resort;
use crate::{Result, Written};

/// The future that [`Appender::close_async`] returns, of what [`Appender::close`] returns. It belongs to no runtime.
#[must_use = "its result says whether everything is durable"]
pub struct Closing(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    result: Option<Result<Written>>,
    waker: Option<Waker>,
    /// The future was dropped: no one will ask for the result.
    is_dropped: bool,
    /// The failure was told by another call.
    was_told: bool,
}

/// Closing waits, writes and syncs.
const STACK: usize = 128 << 10;

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Closing {
    pub(super) fn begin(appender: Appender) -> Closing {
        let was_told = appender.group.is_told();
        let shared = Arc::new(Mutex::new(Shared { was_told, ..Shared::default() }));
        // The thread takes it, or this thread if no other can be started.
        let appender = Arc::new(Mutex::new(Some(appender)));
        let (closes, theirs) = (Arc::clone(&shared), Arc::clone(&appender));
        let builder = Builder::new().name("manyfiles-close".into()).stack_size(STACK);
        if builder.spawn(move || close(&theirs, &closes)).is_err() {
            close(&appender, &shared);
        }
        Closing(shared)
    }
}

impl Appender {
    /// [`close`](Appender::close) for tasks: begins at once, on a thread of its own, and returns a future of its
    /// result. (If no thread can be started, this blocks.) Dropping the future stops nothing; a failure that no call
    /// has told of is then printed to standard error.
    ///
    /// ```
    /// # async fn example(path: &std::path::Path) -> manyfiles::Result<()> {
    /// let appender = manyfiles::appender::Appender::open(path)?;
    /// appender.append(b"one line\n")?.await?;
    /// let written = appender.close_async().await?;
    /// assert_eq!(written.durable, 9);
    /// # Ok(()) }
    /// ```
    pub fn close_async(self) -> Closing {
        Closing::begin(self)
    }
}

fn close(appender: &Mutex<Option<Appender>>, shared: &Mutex<Shared>) {
    let appender = appender.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(appender) = appender else { return };
    let result = appender.close();
    let mut shared = lock(shared);
    if shared.is_dropped {
        print_untold(&shared, result.err());
        return;
    }
    shared.result = Some(result);
    let waker = shared.waker.take();
    drop(shared);
    wake(Vec::from_iter(waker));
}

fn print_untold(shared: &Shared, error: Option<crate::Error>) {
    if !shared.was_told {
        print_last_resort(&error);
    }
}

impl Future for Closing {
    type Output = Result<Written>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Written>> {
        // An executor's code, as is what drops it: without the lock.
        let waker = context.waker().clone();
        let mut shared = lock(&self.0);
        if let Some(result) = &shared.result {
            let result = result.clone();
            shared.was_told = true;
            return Poll::Ready(result);
        }
        let replaced = shared.waker.replace(waker);
        drop(shared);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for Closing {
    /// The appender is closed all the same. A failure that no call has told of is printed to standard error.
    fn drop(&mut self) {
        let mut shared = lock(&self.0);
        shared.is_dropped = true;
        let error = shared.result.take().and_then(Result::err);
        print_untold(&shared, error);
        let waker = shared.waker.take();
        drop(shared);
        drop(waker);
    }
}

impl fmt::Debug for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closing").finish_non_exhaustive()
    }
}
