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
//! - **At home in a runtime.** An [`executor`] puts the closes on rayon's threads, tokio's, or your own.
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
mod closing;
mod errors;
pub mod executor;
mod fast_close;
mod global;
mod handle;
mod metrics;
mod options;
mod passthrough;
mod policy;
mod pool;
mod queue;
mod settle;
mod sync;
#[cfg(feature = "tracing")]
mod trace;
mod worker;

#[cfg(test)]
mod tests;

#[cfg(feature = "fs")]
pub(crate) use global::{close_at, close_here_at, is_idle, settle, settle_all};
#[cfg(feature = "fs")]
pub(crate) use settle::Name;

pub use closer::Closer;
pub use errors::CloseErrors;
pub use executor::Executor;
pub use fast_close::{FastClose, FastCloseable};
#[cfg(feature = "writer")]
pub(crate) use global::global;
pub use global::{Guard, guard, metrics, set_global, wait};
pub use metrics::Metrics;
pub use options::Options;
pub use policy::Policy;
