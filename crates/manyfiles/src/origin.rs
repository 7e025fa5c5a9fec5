//! [`Origin`]: the process to which something belongs. A forked child has a copy of it, and not what it stands for.

use std::io;
use std::sync::{Arc, OnceLock};

use crate::close::forks;

/// The process in which it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    process: u32,
    forks: usize,
}

impl Default for Origin {
    fn default() -> Origin {
        Origin { process: std::process::id(), forks: count() }
    }
}

/// How often this process has been forked from another, by the C library's `fork`.
fn count() -> usize {
    // Miri knows no handlers for forks, and none can happen there.
    if cfg!(miri) { 0 } else { forks() }
}

impl Origin {
    /// Whether this is a forked child of that process.
    pub(crate) fn is_a_parent(self) -> bool {
        self.forks != count() || self.process != std::process::id()
    }

    /// Has to come before what only that process may do.
    pub(crate) fn check(self) -> io::Result<()> {
        if self.is_a_parent() { Err(io::Error::other(MEANING)) } else { Ok(()) }
    }

    /// Has to come before a call takes a lock: a thread that the child does not have may have held it at the fork.
    ///
    /// Costs two loads and no system call, so that every call can ask. A child that was made without the C library is
    /// only noticed by [`check`](Origin::check).
    #[inline]
    pub(crate) fn check_call(self) -> io::Result<()> {
        if self.forks == count() { Ok(()) } else { Err(io::Error::other(MEANING)) }
    }
}

/// What `cell` has; made, if it has nothing. Two threads may make it, and one of both is thrown away: who waited for
/// another thread to make it would wait for ever in a child that is forked meanwhile.
#[inline]
pub(crate) fn get_or_make<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(value) => value,
        None => {
            let made = make();
            cell.get_or_init(|| made)
        }
    }
}

/// Leaves a forked child's copy as it is for ever. A thread of the parent may have been changing it at the fork, so that
/// it is half one thing and half another, and its parts cannot be dropped. Its descriptors stay open until the child
/// ends, or becomes another program.
pub(crate) fn leave<T>(copy: &Arc<T>) {
    std::mem::forget(Arc::clone(copy));
}

const MEANING: &str = "this process was forked after that was opened, and has a copy of it only; open it in the process \
                       that uses it";
