//! What is refused because something is in use.

use std::io;
use std::path::Path;

/// Does `work` once. Elsewhere a virus scanner may have a file open for a moment.
pub(crate) fn while_in_use<T>(_paths: &[&Path], mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    work()
}
