//! What all closers of the process have in common: which of them have pending closes, and what happens to these closes
//! when the process forks or ends.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::spot::Affected;
use super::{panics, watch};
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

/// What all closers of a process are asked together.
pub(super) trait Member: Send + Sync {
    /// Makes the closes that concern `affected`, or waits until they are made. `true` if there were any.
    fn settle(self: Arc<Self>, affected: &Affected) -> bool;

    /// The same, but closes that only may concern `affected` are left out.
    fn settle_surely(self: Arc<Self>, affected: &Affected) -> bool;

    /// Whether there are closes that concern `affected`.
    fn is_in_the_way(self: Arc<Self>, affected: &Affected) -> bool;

    /// Makes one close, or waits until one is made. `false` if none is pending, or none returned in time.
    fn close_one(self: Arc<Self>) -> bool;

    /// Closes on threads of its own what an executor should have begun.
    fn replace_late_workers(self: Arc<Self>);

    /// Waits for all closes, as long as one returns within `patience`.
    fn end(self: Arc<Self>, patience: Duration);

    /// Prints the errors that no call has taken.
    fn print_errors(&self);
}

type Members = Vec<Weak<dyn Member>>;

/// Closers that have, or had, something pending.
static MEMBERS: Mutex<Members> = Mutex::new(Vec::new());

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

/// How often this process has been forked from another. Costs two loads.
pub(crate) fn forks() -> usize {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if is_first(&REGISTERED) {
        // Without room for another handler a child is not noticed, and must close nothing, as documented.
        sys::around_forks(before_fork, in_parent, in_child).unwrap_or(());
    }
    FORKS.load(Ordering::Relaxed)
}

/// Whether this is the first call for that flag. Nobody waits for whoever was the first: in a child that is forked
/// meanwhile, that would be for ever.
fn is_first(has_begun: &AtomicBool) -> bool {
    !has_begun.load(Ordering::Relaxed) && !has_begun.swap(true, Ordering::Relaxed)
}

thread_local! {
    /// The list's lock. A thread holds it while it forks, so that no other thread, which the child does not have, does.
    static HELD: Cell<Option<MutexGuard<'static, Members>>> = const { Cell::new(None) };
}

extern "C" fn before_fork() {
    // A thread whose own values are gone already ends, and forks without the lock.
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
    watch::in_child();
}

fn known() -> MutexGuard<'static, Members> {
    MEMBERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on this closer's pending closes are found, and waited for when the process ends. `capacity` of them may be
/// pending.
pub(super) fn add(member: &Arc<dyn Member>, capacity: usize) {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if is_first(&REGISTERED) {
        // If the system has no room for another handler, errors that no call has taken are not printed.
        sys::at_exit(at_exit).unwrap_or(());
        make_room(capacity);
    }
    let mut members = known();
    members.retain(|known| known.strong_count() > 0);
    // Several threads may add it, each before it hands over.
    if !members.iter().any(|known| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(member))) {
        members.push(Arc::downgrade(member));
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
    let _ = capacity; // growing a table costs others nothing there
}

fn members() -> Vec<Arc<dyn Member>> {
    known().iter().filter_map(Weak::upgrade).collect()
}

/// Does `what` with each closer that may have something pending.
pub(super) fn for_each(what: impl FnMut(Arc<dyn Member>)) {
    members().into_iter().for_each(what);
}

/// Whether a pending close concerns `affected`, or may concern it.
pub(crate) fn is_in_the_way(affected: &Affected) -> bool {
    !nothing_pends() && members().into_iter().any(|member| member.is_in_the_way(affected))
}

/// Returns when the pending closes that concern `affected` are made, whichever closers they were handed over to. Their
/// errors are not taken: the next `wait` returns them. `true` if there was such a close.
pub(crate) fn settle(affected: &Affected) -> bool {
    !nothing_pends() && members().into_iter().fold(false, |was_pending, member| member.settle(affected) | was_pending)
}

/// The same, but closes that only may concern `affected` are not waited for.
pub(crate) fn settle_surely(affected: &Affected) -> bool {
    let settle = |was_pending, member: Arc<dyn Member>| member.settle_surely(affected) | was_pending;
    !nothing_pends() && members().into_iter().fold(false, settle)
}

/// As [`settle`], without one closer.
pub(super) fn settle_but<M: Member>(own: &Arc<M>, affected: &Affected) {
    for_each(|member| {
        if !std::ptr::addr_eq(Arc::as_ptr(&member), Arc::as_ptr(own)) {
            member.settle(affected);
        }
    });
}

/// Waits until a close that is pending has been made, or makes it. `false` if there is none, or none returned in time.
pub(crate) fn close_one() -> bool {
    !nothing_pends() && members().into_iter().any(Member::close_one)
}

/// The process ends by `exit`, or `main` has returned or panicked.
extern "C" fn at_exit() {
    panics::contain(|| for_each(|member| member.end(PATIENCE_AT_THE_END)));
    // Exit handlers that were registered earlier run after this one, and may close files.
    ENDED.store(true, Ordering::Relaxed);
    panics::contain(|| for_each(|member| member.print_errors()));
}

/// Whether the process ends, and has waited for what was pending.
pub(super) fn has_ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}
