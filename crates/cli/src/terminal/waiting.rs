//! [`Waiting`]: how long answers were waited for, which says nothing of how fast the work is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time that passed until questions were answered. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<Mutex<Waited>>);

#[derive(Default)]
struct Waited {
    before: Duration,
    since: Option<Instant>,
}

impl Waiting {
    /// Asks, and counts the time that takes.
    pub(crate) fn during<T>(&self, ask: impl FnOnce() -> T) -> T {
        self.lock().since = Some(Instant::now());
        let answer = ask();
        let mut waited = self.lock();
        let this = waited.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        waited.before += this;
        answer
    }

    /// All of it until now.
    pub(crate) fn so_far(&self) -> Duration {
        let waited = self.lock();
        waited.before + waited.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, Waited> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
