//! What can only be seen from inside: under loom, every order in which threads can run.

#[cfg(loom)]
mod orders;
