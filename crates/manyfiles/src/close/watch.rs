//! Whether executors begin the work that they are given.
//!
//! An executor's threads may all be in closes that hang. Work that the executor is given then waits behind these
//! closes, and the executor does not tell. So while work of some closer runs on an executor and other work has not
//! begun, a thread looks now and then which closers have work that is late: these closers start threads of their own.
//!
//! While no such work runs at all, no close holds the executor up, and no work is late: the executor's other tasks come
//! first, as in any queue.

use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::time::Duration;

/// How often the thread looks. Work is late if it has not begun at two looks in a row, and no work of the same closer
/// began in between.
const PAUSE: Duration = Duration::from_millis(100);

/// How many pieces of work executors have got and not begun, of all closers.
///
/// Sequentially consistent, as all counters here: if one piece of work is given while another begins, at least one of
/// the two threads sees both counts.
static GIVEN: AtomicIsize = AtomicIsize::new(0);

/// How many run.
static RUNNING: AtomicIsize = AtomicIsize::new(0);

/// Whether there is a thread that looks.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// An executor gets a piece of work. `look` is called now and then while work may be late: it looks for the closers
/// that have late work.
pub(super) fn given(look: fn()) {
    GIVEN.fetch_add(1, Ordering::SeqCst);
    watch_if_needed(look);
}

/// An executor has dropped a piece of work that it had not begun.
pub(super) fn dropped() {
    GIVEN.fetch_sub(1, Ordering::SeqCst);
}

/// A piece of work that was given and runs.
pub(super) struct Running(());

impl Running {
    pub(super) fn begin(look: fn()) -> Running {
        GIVEN.fetch_sub(1, Ordering::SeqCst);
        RUNNING.fetch_add(1, Ordering::SeqCst);
        watch_if_needed(look);
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The threads that ran or watched stayed with the parent.
pub(super) fn in_child() {
    GIVEN.store(0, Ordering::SeqCst);
    RUNNING.store(0, Ordering::SeqCst);
    IS_WATCHED.store(false, Ordering::SeqCst);
}

fn is_needed() -> bool {
    GIVEN.load(Ordering::SeqCst) > 0 && RUNNING.load(Ordering::SeqCst) > 0
}

fn watch_if_needed(look: fn()) {
    if is_needed() && !IS_WATCHED.swap(true, Ordering::SeqCst) && !start(look) {
        IS_WATCHED.store(false, Ordering::SeqCst);
    }
}

/// `false`: there is no thread to be had. The next piece of work tries again.
#[cfg(not(loom))]
fn start(look: fn()) -> bool {
    let thread = std::thread::Builder::new().name("manyfiles-watch".into()).stack_size(super::spawn::STACK);
    crate::sys::spawn_quiet(thread, move || watch(look)).is_ok()
}

/// A model looks by itself.
#[cfg(loom)]
fn start(look: fn()) -> bool {
    let _ = (look, watch, PAUSE);
    false
}

fn watch(look: fn()) {
    loop {
        std::thread::sleep(PAUSE);
        if is_needed() {
            look();
            continue;
        }
        IS_WATCHED.store(false, Ordering::SeqCst);
        // Work that was given after the question above relied on this thread, unless another thread has been started
        // for it.
        if !is_needed() || IS_WATCHED.swap(true, Ordering::SeqCst) {
            return;
        }
    }
}
