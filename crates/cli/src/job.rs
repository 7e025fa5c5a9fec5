//! What `unpack` and `copy` have in common: entries from somewhere, to be written below one folder.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::dry_run::Plan;
use crate::session::Session;
use crate::terminal::{AboutEntry, InputRead};

/// A job whose arguments have been checked, so that it can begin.
pub trait Job {
    /// What it is called.
    fn words(&self) -> Words;

    /// The folder that everything is written below.
    fn root(&self) -> &Path;

    /// Whether permissions are kept as they are, whatever the umask, if no option says so.
    fn keeps_permissions(&self) -> bool;

    /// Whether of several entries of one path the last is what remains, whatever is to be done with what was there before.
    fn last_wins(&self) -> bool;

    /// Tells how far the reading is, from any thread.
    fn input_read(&self) -> Box<dyn Fn() -> InputRead + Send>;

    /// Tells, from any thread, what is known of the entry that is to get a path below the root.
    fn about(&self) -> AboutEntry;

    /// Reads all inputs and hands their entries to the session's tree.
    fn write(&self, session: &Session) -> Read;

    /// Reads all inputs and adds their entries to the plan.
    fn list(&self, plan: &mut Plan) -> Read;
}

/// What a job is called in sentences and in the report.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The subcommand.
    pub command: &'static str,
    /// "*unpacked* 83,731 entries".
    pub done: &'static str,
    /// What it reads, in the report.
    pub sources: &'static str,
}

/// What a job found while it read.
#[derive(Clone, Debug, Default)]
pub struct Read {
    pub sources: Vec<Source>,
    /// The patterns of `--include` that nothing matched.
    pub unmatched: Vec<String>,
    /// Sockets, which nothing is made of.
    pub sockets: Vec<PathBuf>,
    /// Entries that belong to others in the source, and not in the copy.
    pub other_owners: u64,
    /// Entries that have attributes or access control lists in the source, and not in the copy.
    pub with_attributes: u64,
}

impl Read {
    /// Whether a source could not be read, or not to its end.
    pub fn is_cut_short(&self) -> bool {
        self.sources.iter().any(|source| source.error.is_some())
    }

    /// The patterns that something is wrong with: what was not read to its end might have had what they match.
    pub fn wrong_patterns(&self) -> &[String] {
        if self.is_cut_short() { &[] } else { &self.unmatched }
    }
}

/// An archive, a file or a folder that was to be read.
#[derive(Clone, Debug)]
pub struct Source {
    /// As it was given.
    pub path: PathBuf,
    /// Why it could not be read, or not to its end.
    pub error: Option<String>,
    /// What is strange about it, though all of it was read.
    pub warning: Option<String>,
}

impl Source {
    /// One that was read to its end.
    pub fn whole(path: &Path) -> Source {
        Source { path: path.to_path_buf(), error: None, warning: None }
    }
}

/// Why a job cannot begin, a line each.
#[derive(Clone, Debug)]
pub struct CannotBegin(pub Vec<String>);

impl CannotBegin {
    pub fn because(message: impl fmt::Display) -> CannotBegin {
        CannotBegin(vec![message.to_string()])
    }
}
