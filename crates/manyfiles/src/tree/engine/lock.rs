//! Locks that go on after a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A poisoned lock means a bug in this crate. What it guards is consistent between any two statements that can panic,
/// and the report must still be made.
pub(in crate::tree::engine) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
