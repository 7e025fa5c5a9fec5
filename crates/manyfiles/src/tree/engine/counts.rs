//! What the report counts, added up by each thread for itself and then together.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use crate::sys::Things;
use crate::tree::{NotKept, Progress, Report, Times};

/// Writing this much takes no longer than opening the file.
pub(super) const TELLING_SIZE: u64 = 64 << 10;

/// Counts of one thread, since it last added them to the [`Totals`].
#[derive(Debug, Default)]
pub(in crate::tree) struct Counts {
    pub(in crate::tree) files: u64,
    pub(super) cloned: u64,
    pub(super) shared: u64,
    pub(super) folders: u64,
    pub(super) symlinks: u64,
    pub(super) hard_links: u64,
    pub(super) nodes: u64,
    pub(super) skipped: u64,
    pub(super) resumed: u64,
    pub(super) resumed_bytes: u64,
    pub(super) partial: u64,
    pub(in crate::tree) not_kept: NotKept,
    pub(in crate::tree) bytes: u64,
    /// Bytes written, also of files that are not complete yet, or will not be.
    pub(super) written: u64,
    pub(in crate::tree) times: Times,
    /// Time of files that was not measured by operation: it is split as that of the others was.
    pub(super) unsplit: Duration,
}

/// Counts of all threads.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) accepted: AtomicU64,
    pub(super) done: AtomicU64,
    pub(super) not_written: AtomicU64,
    written: AtomicU64,
    files: AtomicU64,
    cloned: AtomicU64,
    shared: AtomicU64,
    folders: AtomicU64,
    symlinks: AtomicU64,
    hard_links: AtomicU64,
    nodes: AtomicU64,
    skipped: AtomicU64,
    resumed: AtomicU64,
    resumed_bytes: AtomicU64,
    partial: AtomicU64,
    not_kept: [AtomicU64; 6],
    bytes: AtomicU64,
    /// Nanoseconds.
    times: [AtomicU64; 6],
    /// Threads that are inside a close.
    pub(super) closing: AtomicUsize,
}

impl Totals {
    pub(super) fn add(&self, counts: &mut Counts) {
        let mut counts = std::mem::take(counts);
        counts.split();
        let add = |total: &AtomicU64, count: u64| {
            if count != 0 {
                total.fetch_add(count, Relaxed);
            }
        };
        add(&self.files, counts.files);
        add(&self.cloned, counts.cloned);
        add(&self.shared, counts.shared);
        add(&self.folders, counts.folders);
        add(&self.symlinks, counts.symlinks);
        add(&self.hard_links, counts.hard_links);
        add(&self.nodes, counts.nodes);
        add(&self.skipped, counts.skipped);
        add(&self.resumed, counts.resumed);
        add(&self.resumed_bytes, counts.resumed_bytes);
        add(&self.partial, counts.partial);
        for (total, count) in self.not_kept.iter().zip(not_kept_as_array(&counts.not_kept)) {
            add(total, count);
        }
        add(&self.bytes, counts.bytes);
        add(&self.written, counts.written);
        for (total, time) in self.times.iter().zip(as_array(counts.times)) {
            add(total, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    pub(super) fn wrote(&self, bytes: u64) {
        self.written.fetch_add(bytes, Relaxed);
    }

    pub(super) fn fill(&self, report: &mut Report) {
        let get = |total: &AtomicU64| total.load(Relaxed);
        report.files = get(&self.files);
        report.cloned = get(&self.cloned);
        report.shared = get(&self.shared);
        report.folders = get(&self.folders);
        report.symlinks = get(&self.symlinks);
        report.hard_links = get(&self.hard_links);
        report.nodes = get(&self.nodes);
        report.skipped = get(&self.skipped);
        report.resumed = get(&self.resumed);
        report.resumed_bytes = get(&self.resumed_bytes);
        report.partial = get(&self.partial);
        report.bytes = get(&self.bytes);
        let [entries, xattrs, acls, owners, flags, space] = std::array::from_fn(|n| get(&self.not_kept[n]));
        report.not_kept = NotKept { entries, xattrs, acls, owners, flags, space };
        report.not_written = get(&self.not_written);
        let [folders, open, write, metadata, sync, close] =
            std::array::from_fn(|n| Duration::from_nanos(get(&self.times[n])));
        report.times = Times { folders, open, write, metadata, sync, close };
    }

    pub(super) fn fill_progress(&self, progress: &mut Progress) {
        progress.entries_accepted = self.accepted.load(Relaxed);
        progress.entries_done = self.done.load(Relaxed);
        progress.bytes_written = self.written.load(Relaxed);
        progress.closing = self.closing.load(Relaxed);
    }
}

fn not_kept_as_array(all: &NotKept) -> [u64; 6] {
    [all.entries, all.xattrs, all.acls, all.owners, all.flags, all.space]
}

fn as_array(times: Times) -> [Duration; 6] {
    [times.folders, times.open, times.write, times.metadata, times.sync, times.close]
}

impl Counts {
    /// Counts an entry that did not get these.
    pub(super) fn lose(&mut self, things: Things) {
        let all = &mut self.not_kept;
        all.entries += u64::from(!things.is_empty());
        for (count, thing) in [
            (&mut all.xattrs, Things::XATTRS),
            (&mut all.acls, Things::ACLS),
            (&mut all.owners, Things::OWNERS),
            (&mut all.flags, Things::FLAGS),
            (&mut all.space, Things::SPACE),
        ] {
            *count += u64::from(things.has(thing));
        }
    }

    /// Shares out what was not measured by operation.
    fn split(&mut self) {
        let measured: Duration = as_array(self.times).iter().sum();
        let unsplit = std::mem::take(&mut self.unsplit);
        if measured.is_zero() {
            self.times.write += unsplit;
            return;
        }
        let share = |time: &mut Duration| *time += unsplit.mul_f64(time.div_duration_f64(measured));
        let Times { folders, open, write, metadata, sync, close } = &mut self.times;
        [folders, open, write, metadata, sync, close].into_iter().for_each(share);
    }
}
