//! The standard library's locks and threads, or loom's, which run a test once for every order its threads can take.

#[cfg(not(loom))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(super) use std::thread::Builder;
#[cfg(not(loom))]
pub(super) use std::thread_local;

#[cfg(loom)]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub(super) use loom::thread::Builder;
#[cfg(loom)]
pub(super) use loom::thread_local;
