//! Where and when a handle is closed.
//!
//! [`FastClose`] wraps a file whose drop shall not stall the program; [`Closer`] is the queue behind it, and can be
//! owned.
//!
//! - **No error is lost.** [`Closer::wait`] returns when all that was handed over before is closed, with every failure:
//!   path (if it was given), and what the operating system said. Dropping a `Closer` waits too. Errors that no call has
//!   taken are printed, by that drop or when the process ends. The close is the one call that is made on a handle: NFS
//!   and FUSE tell an error once.
//! - **Errors have an owner.** The errors of a `Closer` are returned by its own `wait`, and by no other. [`FastClose`]
//!   has no room for an owner: its errors belong to the global closer.
//! - **In order.** Closes of one file are made in the order in which they were handed over, to whichever closers. The
//!   functions of [`fs`](crate::fs) see files closed that were dropped before.
//! - **Bounded.** When as many handles are pending as allowed, the caller closes its own: from any thread, without
//!   deadlock.
//! - **Adaptive.** While closes are faster than a hand-over they are made on the spot. See [`Policy`].
//! - **Elastic.** Up to 64 threads for each volume come as slow closes pile up, and leave when there is nothing to do.
//!   A volume that hangs holds up no other. No signal handler of the program runs on them.
//! - **At home in a runtime.** An [`executor`] puts the closes on tokio's threads, or your own.
//! - **Contained.** A panic in a handle's drop is reported like an error, and the threads live on. If no thread can be
//!   started, the caller closes.
//!
//! A closed file is complete for other programs, but not durable: nothing here syncs.
//!
//! # When the process ends, or forks
//!
//! At the end of the process (when `main` returns or panics, or by `std::process::exit` on Unix) pending closes of all
//! closers are waited for, those of detached threads too, and errors that no call has taken are printed to standard
//! error. On Windows `std::process::exit` ends the process at once. Nothing can be done about `abort`, a signal, or a
//! power cut.
//!
//! In a child that was forked, a closer that its parent made closes on the spot, and prints errors at once: its threads
//! stayed with the parent. Waits return at once. Handles that were pending at the fork stay open in the child until it
//! ends or calls exec: wait before the fork where that matters (the reader of a pipe would wait for its end). A closer
//! that the child makes is like any other.

#![deny(unsafe_code)]

#[cfg(feature = "tokio")]
mod busy;
mod closer;
mod dropping;
pub mod executor;
mod fast_close;
mod global;
mod handle;
mod inside;
mod metrics;
mod options;
mod panics;
mod passthrough;
mod policy;
mod pool;
mod process;
mod queue;
mod recognise;
mod spawn;
mod spot;
mod sync;
#[cfg(feature = "tracing")]
mod trace;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use handle::Handle;
pub(crate) use inside::pool as pool_that_closes;
pub(crate) use policy::Access;
pub(crate) use pool::Pool;
pub(crate) use process::{close_one, forks, is_in_the_way, nothing_pends, settle, settle_surely};
pub(crate) use recognise::{Wrapper, recognise_also};
pub(crate) use spot::Affected;

pub use closer::Closer;
pub use executor::Executor;
pub use fast_close::{FastClose, FastCloseable};
pub(crate) use global::global;
pub use global::{Guard, guard, metrics, set_global, wait};
pub use metrics::Metrics;
pub use options::Options;
pub use policy::Policy;
