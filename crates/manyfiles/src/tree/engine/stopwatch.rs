//! [`Stopwatch`]: where a thread's time goes, with few readings of the clock.

use std::time::{Duration, Instant};

use super::counts::Counts;

/// Splits a thread's time into files, and some of the files into operations, with one reading of the clock between two.
#[derive(Debug)]
pub(in crate::tree) struct Stopwatch {
    file: Instant,
    lap: Instant,
    split: bool,
}

impl Stopwatch {
    pub(in crate::tree) fn start() -> Stopwatch {
        let now = Instant::now();
        Stopwatch { file: now, lap: now, split: true }
    }

    /// The time since the start or the last lap, if this file is split.
    pub(in crate::tree) fn lap(&mut self) -> Duration {
        if !self.split {
            return Duration::ZERO;
        }
        let now = Instant::now();
        now - std::mem::replace(&mut self.lap, now)
    }

    /// Whether the file that begins now is split. To read the clock between all operations of small files would take 2
    /// % of the time that it measures.
    pub(super) fn split_this(&mut self, split: bool) {
        self.split = split;
    }

    /// Ends a file, begins the next, and returns what the one that ended took.
    pub(super) fn next_file(&mut self, counts: &mut Counts) -> Duration {
        let now = Instant::now();
        let took = now - self.file;
        if !self.split {
            counts.unsplit += took;
        }
        (self.file, self.lap) = (now, now);
        took
    }
}
