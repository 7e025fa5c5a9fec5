//! [`Read`]: what a job found in its sources.

use std::path::{Path, PathBuf};

/// What a job found while it read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    pub sources: Vec<Source>,
    /// The patterns of `--include` that nothing matched.
    pub unmatched: Vec<String>,
    /// Sockets, which are not copied.
    pub sockets: Vec<PathBuf>,
    /// Entries that belong to others in the source, and not in the copy.
    pub other_owners: u64,
    /// Entries that have attributes or access control lists in the source, and not in the copy.
    pub with_attributes: u64,
    /// Whether all that can be kept of these was to be kept.
    pub keeps_attributes: bool,
    /// Entries whose absolute paths lost their root.
    pub rooted: u64,
}

impl Read {
    /// Whether a source could not be read, or not to its end.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.sources.iter().any(|source| source.error.is_some())
    }

    /// Whether a source was damaged, and reading went on behind that.
    pub(crate) fn is_damaged(&self) -> bool {
        self.sources.iter().any(|source| source.damage > 0)
    }

    /// The patterns that count as wrong. If a source was not read to its end, none does: the rest might have matched.
    pub(crate) fn wrong_patterns(&self) -> &[String] {
        if self.is_cut_short() { &[] } else { &self.unmatched }
    }
}

/// An archive, a file or a folder that was to be read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// As it was given.
    pub path: PathBuf,
    /// Why it could not be read, or not to its end.
    pub error: Option<String>,
    /// What is strange about it, though all of it was read.
    pub warning: Option<String>,
    /// How many places were damaged that reading went on behind.
    pub damage: u64,
}

impl Source {
    /// One that was read to its end.
    pub(crate) fn whole(path: &Path) -> Source {
        Source { path: path.to_path_buf(), error: None, warning: None, damage: 0 }
    }
}
