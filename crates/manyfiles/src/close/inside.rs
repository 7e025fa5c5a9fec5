//! The value with a drop of its own that this thread is closing just now. Such a drop may close other values, and wait.
//!
//! - What such a drop closes is closed on the spot, and the errors go to the closer that is closing the value. A file
//!   that another closer opened stays with that closer.
//! - A wait inside of such a drop is for what was handed over before the value: never for the value itself, and never
//!   in a circle.

use std::cell::RefCell;
use std::sync::Arc;

use super::pool::Pool;
use super::sync::thread_local;

struct Inside {
    pool: Arc<Pool>,
    /// The number of the job, if the value was handed over.
    number: Option<u64>,
}

thread_local! {
    // Not `const { … }`: loom's macro does not know it.
    static INSIDE: RefCell<Vec<Inside>> = RefCell::default();
}

/// Does `work`, which closes a value for `pool`.
pub(super) fn enter<R>(pool: &Arc<Pool>, number: Option<u64>, work: impl FnOnce() -> R) -> R {
    struct Leave(bool);
    impl Drop for Leave {
        fn drop(&mut self) {
            if self.0 {
                drop(with(|inside| inside.pop()));
            }
        }
    }
    let entered = with(|inside| inside.push(Inside { pool: Arc::clone(pool), number })).is_some();
    let _leave = Leave(entered);
    work()
}

/// The pool that is closing a value on this thread.
#[inline]
pub(crate) fn pool() -> Option<Arc<Pool>> {
    with(|inside| inside.last().map(|last| Arc::clone(&last.pool))).flatten()
}

/// Whether this thread is making a close that was handed over to `pool`; which one.
pub(super) fn job_of(pool: &Pool) -> Option<u64> {
    with(|inside| {
        let of_pool = inside.iter().filter(|one| std::ptr::eq(&*one.pool, pool));
        of_pool.filter_map(|one| one.number).min()
    })
    .flatten()
}

/// `None` when the thread is ending and its locals are gone.
fn with<R>(f: impl FnOnce(&mut Vec<Inside>) -> R) -> Option<R> {
    INSIDE.try_with(|inside| f(&mut inside.borrow_mut())).ok()
}
