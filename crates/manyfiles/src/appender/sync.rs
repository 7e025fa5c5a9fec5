//! The standard library's locks and threads, or loom's, which run a test once for every order its threads can take.

#[cfg(not(loom))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(not(loom))]
pub(super) use std::thread::Builder;

#[cfg(loom)]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(loom)]
pub(super) use loom::thread::Builder;
