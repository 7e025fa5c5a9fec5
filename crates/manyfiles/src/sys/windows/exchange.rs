//! Exchanging names, which Windows cannot.

use std::io;
use std::path::Path;

/// Windows has no such call.
pub(crate) fn exchange(_one: &Path, _other: &Path) -> io::Result<bool> {
    Ok(false)
}
