//! Where and when a handle is closed.
//!
//! [`FastClose`] wraps a file whose drop shall not stall the program; [`Closer`] is the queue behind it, and can be
//! owned.
//!
//! - **No error is lost.** [`Closer::wait`] returns when all that was handed over before is closed, with every failure:
//!   path (if it was given), and what the operating system said. Dropping a `Closer` waits too. A [`guard`] does so for
//!   the global one at the end of `main`.
//! - **Bounded.** When as many handles are pending as allowed, the caller closes its own: from any thread, without
//!   deadlock.
//! - **Adaptive.** While closes are faster than a hand-over they are made on the spot. See [`Policy`].
//! - **Elastic.** Up to 64 threads come as slow closes pile up, and leave when there is nothing to do.
//! - **Contained.** A panic in a handle's drop is reported like an error, and the threads live on. If no thread can be
//!   started, the caller closes.
//!
//! A closed file is complete for other programs, but not durable: nothing here syncs.
//!
//! A process that forks without calling exec leaves the threads behind: its child must close nothing through a closer
//! that was in use before the fork, nor wait for it or drop it, and the handles that were pending then stay open in the
//! child.

#![deny(unsafe_code)]

mod closer;
mod errors;
mod fast_close;
mod global;
mod handle;
mod options;
mod passthrough;
mod policy;
mod pool;
mod queue;
mod sync;

#[cfg(test)]
mod tests;

pub use closer::Closer;
pub use errors::CloseErrors;
pub use fast_close::{FastClose, FastCloseable};
pub use global::{Guard, guard, set_global, wait};
pub use options::Options;
pub use policy::Policy;
