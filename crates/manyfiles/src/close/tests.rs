//! What can only be seen from inside: threads that cannot be started, and, under loom, every order in which threads can
//! run.

#[cfg(not(loom))]
mod without_threads;

#[cfg(loom)]
mod orders;
