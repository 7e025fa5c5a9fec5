//! [`Limit`]: which of the limits an archive went over.

use std::fmt;

/// Which of the [`Limits`](crate::Limits) was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::entries`](crate::Limits::entries).
    Entries,
    /// [`Limits::bytes`](crate::Limits::bytes).
    Bytes,
    /// [`Limits::ratio`](crate::Limits::ratio).
    Ratio,
}

impl Limit {
    /// The command's option that raises the limit.
    pub fn option(self) -> &'static str {
        match self {
            Limit::Entries => "--max-entries",
            Limit::Bytes => "--max-bytes",
            Limit::Ratio => "--max-ratio",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Entries => "number of entries",
            Limit::Bytes => "bytes of content",
            Limit::Ratio => "ratio of unpacked to compressed size",
        })
    }
}
