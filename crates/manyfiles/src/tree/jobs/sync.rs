//! The primitives that jobs wait with: the standard library's, or loom's to try their orders.

#[cfg(not(loom))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[cfg(loom)]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub(super) use std::sync::PoisonError;
