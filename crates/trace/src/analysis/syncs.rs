//! Syncs: the first of each file, and the others; and writes that wait for the disk.

use hashbrown::{DefaultHashBuilder, HashMap};

use crate::call::Call;
use crate::open_file::OpenFile;
use crate::report::{A_BATCH, Sum, Syncs as Found};

/// So many processes are told apart. Those of the rest are taken for one file each.
const MOST_PROCESSES: usize = 1 << 14;

#[derive(Default)]
pub(super) struct Syncs {
    found: Found,
    /// First syncs of files, by the process that could have made a batch of them.
    first: HashMap<u32, Sum, DefaultHashBuilder>,
}

impl Syncs {
    /// `before`: this file was synced before, by whatever handle.
    pub(super) fn synced(&mut self, call: &Call<'_>, file: &OpenFile, before: bool) {
        if file.seems_a_folder() {
            return self.found.folders.add(call);
        }
        if before {
            return self.found.again.add(call);
        }
        self.found.first.add(call);
        if self.first.len() < MOST_PROCESSES || self.first.contains_key(&file.owner) {
            self.first.entry(file.owner).or_default().add(call);
        }
    }

    /// A write that waited for the disk.
    pub(super) fn wrote(&mut self, call: &Call<'_>) {
        self.found.durable_writes.add(call);
    }

    pub(super) fn finish(mut self) -> Found {
        for first in self.first.values().filter(|first| first.calls >= A_BATCH) {
            self.found.in_batches.plus(first);
            self.found.batches += 1;
        }
        self.found
    }
}
