//! How content is passed on: piece by piece, and what stops it.

use std::io;

use crate::tree::content::cut_short;
use crate::{Error, sys};

/// The buffer for copying through memory: from 256 KiB on, larger ones gain nothing (docs/measurements.md,
/// "Records into one file").
pub(in crate::tree) const BUFFER: usize = 256 << 10;

/// Large content is written in pieces of this size, so that a cancellation and the progress don't wait for the end.
pub(super) const PIECE: usize = 1 << 20;

/// What stopped a write.
pub(super) enum Stop {
    /// The bytes to be written could not be read.
    Read(io::Error),
    /// The file that it is a copy of could not be read, or changed meanwhile.
    Source(Error),
    Write(io::Error),
    Cancelled,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        if sys::is_unreadable(&error) {
            return Stop::Read(cut_short());
        }
        Stop::Write(error)
    }
}
