//! [`Origin`]: the process to which something belongs. A forked child has a copy of it, and not what it stands for.

use std::io;

/// The process in which it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin(u32);

impl Default for Origin {
    fn default() -> Origin {
        Origin(std::process::id())
    }
}

impl Origin {
    /// Whether this is a forked child of that process.
    pub(crate) fn is_a_parent(self) -> bool {
        self.0 != std::process::id()
    }

    /// Has to come before what only that process may do.
    pub(crate) fn check(self) -> io::Result<()> {
        if self.is_a_parent() { Err(io::Error::other(MEANING)) } else { Ok(()) }
    }
}

const MEANING: &str = "this process was forked after that was opened, and has a copy of it only; open it in the process \
                       that uses it";
