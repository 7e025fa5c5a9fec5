//! Why a trace cannot be explained.

use std::io;

/// Why a trace cannot be explained. Damaged lines are no error: they are counted in the report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It has no content.
    #[error("the file is empty")]
    Empty,
    /// Its first bytes say that it is something else. The text says what it is, and what to do.
    #[error("{0}")]
    WrongKind(&'static str),
    /// It is none of the formats.
    #[error(
        "not a trace that is known: expected a Process Monitor export (CSV or XML), the output of 'strace -f -T -ttt' \
         or of \
         'perf trace'"
    )]
    Unknown,
    /// It cannot be read.
    #[error("cannot read it: {0}")]
    Read(#[from] io::Error),
}

impl Error {
    /// What the operating system said, if it was asked.
    pub fn raw_os_error(&self) -> Option<i32> {
        match self {
            Error::Read(error) => error.raw_os_error(),
            _ => None,
        }
    }
}
