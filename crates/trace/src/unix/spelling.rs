//! [`Spelling`]: which program printed a trace.

use super::record::{Event, Record};
use super::{perf, strace};

/// One of the two spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Strace,
    Perf,
}

impl Spelling {
    pub(super) fn parse(self, line: &[u8]) -> Option<Record<'_>> {
        match self {
            Spelling::Strace => strace::parse(line),
            Spelling::Perf => perf::parse(line),
        }
    }

    /// Whether the line is a call in this spelling.
    pub(crate) fn recognises(self, line: &[u8]) -> bool {
        self.parse(line)
            .is_some_and(|record| !matches!(record.event, Event::Note | Event::Attached { .. } | Event::Summary))
    }
}
