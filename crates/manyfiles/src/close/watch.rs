//! Whether executors begin the work that they are given.
//!
//! An executor's threads may all be in closes that hang. Work that it is given then waits behind them, and no call on it
//! tells. So while work of some closer runs on an executor and other work has not begun, a thread looks now and then
//! which closers have work that is late: those start threads of their own.
//!
//! While no such work runs at all, it is not closes that hold the executor up, and nothing is late: its other tasks come
//! first, as in any queue.

use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::time::Duration;

/// How often the thread looks. Work is late that has not begun at two looks, while none of the same closer's began in
/// between.
const PAUSE: Duration = Duration::from_millis(100);

/// How many pieces of work executors have got and not begun, of all closers.
///
/// Sequentially consistent, as all in here: of the last piece to be given and the last one to begin, one sees the other.
static GIVEN: AtomicIsize = AtomicIsize::new(0);

/// How many run.
static RUNNING: AtomicIsize = AtomicIsize::new(0);

/// Whether there is a thread that looks.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// An executor gets a piece of work. `look` is called now and then while work may be late: it finds the closers whose work is.
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
    const STACK: usize = 64 << 10;
    let thread = std::thread::Builder::new().name("manyfiles-watch".into()).stack_size(STACK);
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
        // Work that was given since the question relied on this thread, unless it has started another.
        if !is_needed() || IS_WATCHED.swap(true, Ordering::SeqCst) {
            return;
        }
    }
}
