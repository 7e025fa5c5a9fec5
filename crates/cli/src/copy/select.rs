//! [`Selection`]: which of the entries found are copied, and under which path.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use manyfiles::{Error, Operation};

use super::target::{Placed, Target};
use crate::args;
use crate::filter::{EntryPath, Filter};
use crate::human::{bytes, entries};
use crate::walk::Found;

/// Called with each entry and each error of the walk.
pub(super) type Visit<'a> = dyn FnMut(Result<&Found, Error>) -> ControlFlow<()> + 'a;

/// Shows the selected entries, with the folders that they need.
pub(super) struct Selection<'a> {
    pub args: &'a args::Copy,
    pub target: &'a Target,
    pub filter: &'a Filter,
    pub budget: Budget,
    pub visit: &'a mut Visit<'a>,
    /// The limit that was reached.
    pub over: Option<String>,
    /// The paths of all entries but folders, if two entries may come to have one path: the second would destroy the
    /// first.
    pub taken: Option<HashSet<PathBuf>>,
}

impl Selection<'_> {
    /// Takes an entry of the walk, and says whether the walk is to look into it.
    pub(super) fn found(&mut self, placed: &Placed, found: &Found) -> ControlFlow<(), bool> {
        let place = entry_path(placed, found);
        if !self.filter.selects(place) {
            return ControlFlow::Continue(!self.filter.excludes(place));
        }
        self.folders_above(found)?;
        self.show(found)?;
        ControlFlow::Continue(true)
    }

    /// Shows the folders on the way to a selected entry that are not selected themselves. Folders that are made for the
    /// entry get the source's permissions and time. Folders that are there already stay as they are.
    fn folders_above(&mut self, found: &Found) -> ControlFlow<()> {
        let Some(folder) = found.above.as_ref().filter(|folder| !folder.is_done.get()) else {
            return ControlFlow::Continue(());
        };
        self.folders_above(folder)?;
        folder.is_done.set(true);
        let is_there = match strip(&folder.path, self.args.options.strip_components) {
            Some(path) if path == Path::new(".") => self.target.root_id.is_some(),
            Some(path) => fs::symlink_metadata(self.target.root.join(path)).is_ok(),
            None => true,
        };
        if is_there { ControlFlow::Continue(()) } else { self.show(folder) }
    }

    fn show(&mut self, found: &Found) -> ControlFlow<()> {
        found.is_done.set(true);
        let stripped = match self.args.options.strip_components {
            0 => None,
            n => match strip(&found.path, n) {
                Some(path) => Some(Found { path, ..found.clone() }),
                None => return ControlFlow::Continue(()),
            },
        };
        let shown = stripped.as_ref().unwrap_or(found);
        if let Some(taken) = self.taken.as_mut().filter(|_| !shown.metadata.is_dir())
            && !taken.insert(shown.path.clone())
        {
            let why = format!("another entry of this run has this path; {} is not copied", shown.source.display());
            let why = io::Error::new(io::ErrorKind::AlreadyExists, why);
            return (self.visit)(Err(Error::new(Operation::Create, &shown.path, why)));
        }
        if let Err(limit) = self.budget.spend(&found.metadata) {
            self.over = Some(self.limit_message(limit));
            return ControlFlow::Break(());
        }
        (self.visit)(Ok(shown))
    }

    fn limit_message(&self, limit: Limit) -> String {
        match limit {
            Limit::Entries => {
                format!("stopped: there are more than {} (--max-entries)", entries(self.args.max_entries.0))
            }
            Limit::Bytes => format!("stopped: the files have more than {} (--max-bytes)", bytes(self.args.max_bytes.0)),
        }
    }
}

/// The path that patterns are matched with: a file that was given by itself has its name alone.
fn entry_path<'a>(placed: &'a Placed, found: &'a Found) -> EntryPath<'a> {
    if found.above.is_none()
        && !found.metadata.is_dir()
        && let Some(name) = found.source.file_name()
    {
        return EntryPath::from(Path::new(name));
    }
    EntryPath::below(placed.name.as_deref(), &found.below)
}

/// How much may still be copied.
pub(super) struct Budget {
    pub entries: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy)]
enum Limit {
    Entries,
    Bytes,
}

impl Budget {
    fn spend(&mut self, metadata: &Metadata) -> Result<(), Limit> {
        let bytes = if metadata.is_file() { metadata.len() } else { 0 };
        self.entries = self.entries.checked_sub(1).ok_or(Limit::Entries)?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Limit::Bytes)?;
        Ok(())
    }
}

/// The path without its first `n` parts; `None` if the path has only that many. The root stays the root.
fn strip(path: &Path, n: usize) -> Option<PathBuf> {
    if n == 0 || path == Path::new(".") {
        return Some(path.to_path_buf());
    }
    let mut parts = path.components();
    parts.by_ref().take(n).for_each(drop);
    let rest = parts.as_path();
    (!rest.as_os_str().is_empty()).then(|| rest.to_path_buf())
}
