//! What all closers of the process have in common: which of them have pending closes, and what happens to these closes
//! when the process forks or ends.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::Duration;

use super::pool::Pool;
use super::spot::Target;
use crate::sys;

/// Whether closes can be handed over at all: on other systems the standard library tells nothing of a close, and some
/// have neither threads nor a clock.
pub(super) const CAN_HAND_OVER: bool = cfg!(any(unix, windows));

/// At the end of the process closes are waited for as long as one returns within this time: a server that takes this
/// long has gone, and std would wait for it too, but a user's drop that waits for something else must not keep the
/// process for ever.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(30);

/// How many closes are pending, of all closers.
///
/// Release and Acquire: a thread that reads 0 sees the effects of all closes.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// How often this process has been forked from another.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// Whether the process ends, and has waited for what was pending.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Closers that have, or had, something pending.
static POOLS: Mutex<Vec<Weak<Pool>>> = Mutex::new(Vec::new());

pub(super) fn count_in() {
    PENDING.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn count_out() {
    PENDING.fetch_sub(1, Ordering::Release);
}

pub(super) fn pending() -> usize {
    PENDING.load(Ordering::Acquire)
}

/// Whether all is closed that was handed over to any closer, as far as this thread knows. Costs one load.
#[inline]
pub(crate) fn nothing_pends() -> bool {
    PENDING.load(Ordering::Acquire) == 0
}

pub(super) fn forks() -> usize {
    static REGISTERED: Once = Once::new();
    // Without room for another handler a child is not noticed, and must close nothing, as documented.
    REGISTERED.call_once(|| sys::around_forks(before_fork, in_parent, in_child).unwrap_or(()));
    FORKS.load(Ordering::Relaxed)
}

thread_local! {
    /// The list's lock. A thread holds it while it forks, so that no other thread, which the child does not have, does.
    static HELD: Cell<Option<MutexGuard<'static, Vec<Weak<Pool>>>>> = const { Cell::new(None) };
}

extern "C" fn before_fork() {
    HELD.try_with(|held| held.set(Some(known()))).unwrap_or(());
}

extern "C" fn in_parent() {
    drop(HELD.try_with(Cell::take));
}

/// The parent's threads, and the locks that they hold, stayed behind.
extern "C" fn in_child() {
    drop(HELD.try_with(Cell::take));
    FORKS.fetch_add(1, Ordering::Relaxed);
    PENDING.store(0, Ordering::Relaxed);
    super::watch::in_child();
}

fn known() -> MutexGuard<'static, Vec<Weak<Pool>>> {
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on this pool's pending closes are found, and waited for when the process ends. `capacity` of them may be
/// pending.
pub(super) fn add(pool: &Arc<Pool>, capacity: usize) {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // If the system has no room for another handler, errors that no call has taken are not printed.
        sys::at_exit(at_exit).unwrap_or(());
        make_room(capacity);
    });
    let mut pools = known();
    pools.retain(|pool| pool.strong_count() > 0);
    // Several threads may add it, each before it hands over.
    if !pools.iter().any(|known| std::ptr::eq(known.as_ptr(), &raw const **pool)) {
        pools.push(Arc::downgrade(pool));
    }
}

/// Lets the table of descriptors grow now, before threads share it: see [`sys::make_room_for_handles`]. It takes some
/// handle, which is none of the program's: a copy's close would be a flush of the file, and take its once-only error.
fn make_room(capacity: usize) {
    #[cfg(target_os = "linux")]
    if let Ok((any, _)) = std::io::pipe() {
        // Twice the capacity: the program has files of its own.
        sys::make_room_for_handles(any, 2 * capacity);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = capacity;
}

pub(super) fn pools() -> Vec<Arc<Pool>> {
    known().iter().filter_map(Weak::upgrade).collect()
}

/// Whether a pending close concerns `target`, or may concern it.
pub(crate) fn is_in_the_way(target: &Target) -> bool {
    !nothing_pends() && pools().iter().any(|pool| pool.is_in_the_way(target))
}

/// Returns when the pending closes that concern `target` are made, whichever closers they were handed over to. Their
/// errors are not taken: the next `wait` returns them. `true` if there was such a close.
pub(crate) fn settle(target: &Target) -> bool {
    !nothing_pends() && pools().iter().fold(false, |was_pending, pool| pool.settle(target) | was_pending)
}

/// The same, but closes that only may concern `target` are not waited for.
pub(crate) fn settle_surely(target: &Target) -> bool {
    !nothing_pends() && pools().iter().fold(false, |was_pending, pool| pool.settle_surely(target) | was_pending)
}

/// The same without one closer.
pub(super) fn settle_but(own: &Arc<Pool>, target: &Target) {
    pools().iter().filter(|pool| !Arc::ptr_eq(pool, own)).for_each(|pool| {
        pool.settle(target);
    });
}

/// Waits until a close that is pending has been made, or makes it. `false` if there is none, or none returned in time.
pub(crate) fn close_one() -> bool {
    !nothing_pends() && pools().iter().any(Pool::close_one)
}

/// The process ends by `exit`, or `main` has returned or panicked.
extern "C" fn at_exit() {
    super::handle::contain(|| pools().iter().for_each(|pool| pool.end(PATIENCE_AT_THE_END)));
    // Functions that were registered before this one run after it, and may close files.
    ENDED.store(true, Ordering::Relaxed);
    super::handle::contain(|| pools().iter().for_each(|pool| pool.print_errors()));
}

/// Whether the process ends, and has waited for what was pending.
pub(super) fn has_ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}
