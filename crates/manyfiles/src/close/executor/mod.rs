//! What closes run on, in place of threads of their own: a runtime that the program has anyway.
//!
//! Without a choice a [`Closer`](super::Closer) starts threads of its own, as many as closes wait, and needs nothing.
//! An executor is chosen per closer, at run time, with [`Options::executor`](super::Options::executor).
//!
//! | executor | feature | closes on | at once | default policy |
//! |---|---|---|---|---|
//! | (none chosen) | | threads of its own | 64 for each volume | [`Adaptive`](super::Policy::Adaptive) |
//! | `Tokio` | `tokio` | tokio's blocking threads | 64 | [`Always`](super::Policy::Always) |
//! | your own | | what you like | what you say | by [`callers_may_block`](Executor::callers_may_block) |
//!
//! - **No async worker waits for a close.** Tokio closes on threads that are made for blocking work, from the first
//!   close on. Only where the [capacity](super::Options::capacity) is used up does the caller close, as everywhere:
//!   something has to slow it down.
//! - **No panic in a drop.** Where the runtime is not there (tokio, outside of it), or takes no more work, the closer's
//!   own threads close.
//! - **A runtime that ends loses nothing.** Work that it drops is done by the closer's own threads, and
//!   [`wait`](super::Closer::wait) closes files on the calling thread and starts a thread for all other values, so that
//!   it needs no runtime at all.
//! - **A volume that hangs** and has taken all of an executor's threads holds up no other. If the executor begins no
//!   work for 0.2 s while closes run on it, the closer's own threads close the rest. This is so for each closer on that
//!   executor, and for values of any type.
//!
//! There is none for rayon. While a rayon thread waits inside of a user's drop (`rayon::join`), it does other work,
//! which may wait for that very drop; and a thread that closes does not compute, so that a pool of one thread for each
//! core loses most of the gain. Use a closer without an executor there.
//!
//! `wait` blocks its thread. In async code call it where blocking is allowed:
//! `tokio::task::spawn_blocking(|| closer.wait())`.

#[cfg(feature = "tokio")]
mod tokio;

#[cfg(feature = "tokio")]
pub use tokio::Tokio;

/// A close that sleeps costs no CPU; against closes of 2 ms, 64 threads gain 25 times, 16 gain 16.8 and 4 gain 4.2
/// (docs/measurements.md, "Mounts whose close is slow").
pub(super) const THREADS: usize = 64;

/// Runs a closer's work. Implement it to close on a runtime that this crate does not know.
///
/// It is dropped with the closer, and that may happen on a thread that does its work: its own drop must not wait for
/// them. While a thread does this work it may do nothing else, not even where a drop in it blocks.
///
/// ```
/// use manyfiles::close::{Closer, Executor};
/// use std::sync::Mutex;
/// use std::sync::mpsc::{self, Sender};
///
/// /// One thread that does what it is sent.
/// struct Channel(Mutex<Sender<Box<dyn FnOnce() + Send>>>);
///
/// impl Executor for Channel {
///     fn execute(&self, work: Box<dyn FnOnce() + Send>) {
///         if let Err(refused) = self.0.lock().unwrap().send(work) {
///             drop(refused); // the thread is gone; the closer helps itself
///         }
///     }
///
///     fn workers(&self) -> usize {
///         1
///     }
/// }
///
/// let (sender, receiver) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
/// let thread = std::thread::spawn(move || receiver.into_iter().for_each(|work| work()));
/// let closer = Closer::options().executor(Channel(Mutex::new(sender))).build();
/// closer.close(std::fs::File::open("Cargo.toml")?);
/// closer.wait()?;
/// drop(closer); // and with it the sender: the thread ends
/// thread.join().expect("it does not panic");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Executor: Send + Sync {
    /// Runs `work` once, soon, on a thread that may block; returns without waiting for it.
    ///
    /// `work` closes what waits, a few dozen handles at most; for more it asks for another turn. It never panics. To
    /// drop it without running it is safe, now or later, on any thread: the closer's own threads then do it. That is
    /// how an executor says that it is shut down, and a panic in here counts as that too.
    fn execute(&self, work: Box<dyn FnOnce() + Send>);

    /// How many pieces of work may run at once: no more are handed to [`execute`](Executor::execute) until one returns.
    /// Asked at each hand-over, so it should be cheap. 0: none now, and the closer's own threads close. Default: 64.
    fn workers(&self) -> usize {
        THREADS
    }

    /// Whether the threads that hand over may be made to wait for a close. If not, as in async code, a closer's default
    /// policy is [`Always`](super::Policy::Always) and not [`Adaptive`](super::Policy::Adaptive), which closes fast
    /// ones on the spot and has to see some slow ones first. Default: they may.
    fn callers_may_block(&self) -> bool {
        true
    }
}
