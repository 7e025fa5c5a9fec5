//! [`Interrupt`]: whether a run is to stop before its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Result, bail};

/// A run asks it now and then whether to go on. Asking is cheap: one load.
#[derive(Debug)]
pub struct Interrupt {
    is_set: AtomicBool,
    /// `None`: no run is ever interrupted.
    deadline: Mutex<Option<Instant>>,
}

impl Interrupt {
    /// Lets every run come to its end.
    pub const fn never() -> Interrupt {
        Interrupt { is_set: AtomicBool::new(false), deadline: Mutex::new(None) }
    }

    pub(crate) fn at(deadline: Instant) -> Interrupt {
        Interrupt { is_set: AtomicBool::new(false), deadline: Mutex::new(Some(deadline)) }
    }

    /// Fails when it is time to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_set() {
            bail!("stopped");
        }
        Ok(())
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    /// Goes on until this time.
    pub(crate) fn reset(&self, deadline: Instant) {
        let mut own = self.locked();
        *own = Some(deadline);
        self.is_set.store(false, Ordering::Relaxed);
    }

    /// Sets it if the caller was told to stop, or if the deadline is over.
    pub(crate) fn look(&self, stopped: bool) {
        // The lock is held until the flag is set: a deadline that is over must not interrupt the work that comes next.
        let deadline = self.locked();
        if stopped || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.is_set.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        *self.locked()
    }

    fn locked(&self) -> MutexGuard<'_, Option<Instant>> {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
