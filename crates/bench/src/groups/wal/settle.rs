//! What peers have made ready before a run.

use std::fs::{self, File};
use std::path::Path;

use anyhow::Result;

/// Makes durable what a peer has made ready, so that no run pays for that.
pub(super) fn settle(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        File::open(entry?.path())?.sync_all()?;
    }
    Ok(())
}
