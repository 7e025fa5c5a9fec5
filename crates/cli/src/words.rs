//! What a job is called, and why it cannot begin.

use std::fmt;

/// What a job is called in sentences and in the report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// The subcommand.
    pub command: &'static str,
    /// "*unpacked* 83,731 entries".
    pub done: &'static str,
    /// What it reads, in the report.
    pub sources: &'static str,
}

/// Why a job cannot begin, a line each.
#[derive(Clone, Debug)]
pub(crate) struct CannotBegin(pub Vec<String>);

impl CannotBegin {
    pub(crate) fn because(message: impl fmt::Display) -> CannotBegin {
        CannotBegin(vec![message.to_string()])
    }
}
