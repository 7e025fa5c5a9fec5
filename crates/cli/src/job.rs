//! What `unpack` and `copy` have in common: entries from somewhere, to be written below one folder.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::dry_run::Plan;
use crate::session::Session;
use crate::terminal::InputRead;

/// A job whose arguments have been checked, so that it can begin.
pub trait Job {
    /// What it is called.
    fn words(&self) -> Words;

    /// The folder that everything is written below.
    fn root(&self) -> &Path;

    /// Whether permissions are kept as they are, whatever the umask, if no option says so.
    fn keeps_permissions(&self) -> bool;

    /// Tells how far the reading is, from any thread.
    fn input_read(&self) -> Box<dyn Fn() -> InputRead + Send>;

    /// Reads all inputs and hands their entries to the session's tree.
    fn write(&self, session: &Session) -> Vec<Source>;

    /// Reads all inputs and adds their entries to the plan.
    fn list(&self, plan: &mut Plan) -> Vec<Source>;
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

/// An archive, a file or a folder that was to be read.
#[derive(Clone, Debug)]
pub struct Source {
    /// As it was given.
    pub path: PathBuf,
    /// Why it could not be read, or not to its end.
    pub error: Option<String>,
}

/// Why a job cannot begin, a line each.
#[derive(Clone, Debug)]
pub struct CannotBegin(pub Vec<String>);

impl CannotBegin {
    pub fn because(message: impl fmt::Display) -> CannotBegin {
        CannotBegin(vec![message.to_string()])
    }
}
