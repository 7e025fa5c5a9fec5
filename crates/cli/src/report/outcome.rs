//! [`Outcome`]: a job that is over.

use std::path::PathBuf;
use std::time::Duration;

use manyfiles::tree::Report;

use crate::read::Read;
use crate::words::Words;

/// Exit status: some entries failed or were refused.
pub(crate) const INCOMPLETE: u8 = 1;
/// Exit status: wrong usage, or an input that cannot be read, or not to its end.
pub(crate) const UNREADABLE: u8 = 2;

/// A job that is over.
pub(crate) struct Outcome {
    pub words: Words,
    /// The folder that everything is below.
    pub root: PathBuf,
    pub read: Read,
    pub report: Report,
    pub elapsed: Duration,
    /// How much of that passed until questions were answered.
    pub asked: Duration,
    /// The signal that stopped it before its end.
    pub signal: Option<i32>,
    /// Whether every failure has been named, and none only counted.
    pub each_is_named: bool,
}

impl Outcome {
    /// The exit status.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.signal {
            Some(signal) => 128 + signal as u8,
            None if self.read.is_cut_short() => UNREADABLE,
            None if self.read.is_damaged() => INCOMPLETE,
            None if !self.report.is_complete() || !self.read.wrong_patterns().is_empty() => INCOMPLETE,
            None => 0,
        }
    }
}
