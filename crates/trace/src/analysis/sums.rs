//! Sums of calls: for a thread, a file, a folder.

use super::ranking::Summed;
use crate::call::{Call, Effect, Kind};
use crate::report::Sum;

#[derive(Default)]
pub(super) struct Thread {
    pub sum: Sum,
    pub file_time: u64,
    pub program: Box<[u8]>,
    pub files_made: u64,
}

#[derive(Default)]
pub(super) struct File {
    pub sum: Sum,
    pub by_kind: [u64; Kind::Wait as usize],
    pub opens: u64,
    pub synced: bool,
    /// The process that last closed the file after it had been open for writing, and how long that close took.
    pub last_writer: u32,
    pub last_close: u64,
}

#[derive(Default)]
pub(super) struct Folder {
    pub sum: Sum,
}

impl Summed for Thread {
    fn sum(&self) -> &Sum {
        &self.sum
    }
}

impl Summed for File {
    fn sum(&self) -> &Sum {
        &self.sum
    }
}

impl Summed for Folder {
    fn sum(&self) -> &Sum {
        &self.sum
    }
}

impl Sum {
    pub(super) fn add(&mut self, call: &Call<'_>) {
        self.calls += 1;
        self.failed += u64::from(call.failed);
        self.nanos = self.nanos.saturating_add(call.duration.unwrap_or(0));
        if let Effect::Read(bytes) | Effect::Wrote { bytes, .. } = call.effect {
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }
}
