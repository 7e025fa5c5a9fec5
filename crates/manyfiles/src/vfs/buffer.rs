//! How much is buffered for one file, of the memory that all files share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory that all buffers of a `Vfs` may have together.
#[derive(Debug)]
pub(super) struct Budget(AtomicUsize);

impl Budget {
    pub(super) fn new(bytes: usize) -> Arc<Budget> {
        Arc::new(Budget(AtomicUsize::new(bytes)))
    }

    /// Takes so much if it is there.
    fn take(&self, bytes: usize) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Beyond this a buffer gains nothing (docs/measurements.md, "Records into one file").
const LARGEST: usize = 256 << 10;
const SMALLEST: usize = 4 << 10;

/// One file's share of the budget: nothing before it [grows](Share::grow).
pub(super) struct Share {
    bytes: usize,
    budget: Arc<Budget>,
}

impl Share {
    pub(super) fn new(budget: &Arc<Budget>) -> Share {
        Share { bytes: 0, budget: Arc::clone(budget) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes what suits a file of which this many bytes have been written so far: nothing for one that is written once,
    /// sixteen times as much as it has for one that goes on. Where the budget is used up, no more than it has. Says
    /// whether it grew. (Memory that is not filled is not touched, so a large buffer for a small file costs no more
    /// than a part of the budget.)
    pub(super) fn grow(&mut self, written: u64) -> bool {
        if written == 0 || self.bytes >= LARGEST {
            return false;
        }
        let wanted = usize::try_from(written).unwrap_or(LARGEST).saturating_mul(16).clamp(SMALLEST, LARGEST);
        let wanted = wanted.next_power_of_two();
        let grows = wanted > self.bytes && self.budget.take(wanted - self.bytes);
        if grows {
            self.bytes = wanted;
        }
        grows
    }

    /// How much of it is filled before it is written: all, or what ends the file's block.
    pub(super) fn limit(&self, written: u64) -> usize {
        // The page cache of ext4 takes whole aligned blocks a fifth faster. Half a buffer is not worth a call for that.
        let to_block = match self.bytes {
            0 => 0,
            bytes => bytes - (written % bytes as u64) as usize,
        };
        if to_block >= self.bytes / 2 { to_block } else { self.bytes }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_grows_with_the_file_and_stops_at_what_gains_something() {
        let budget = Budget::new(usize::MAX);
        let mut share = Share::new(&budget);
        for (written, bytes) in
            [(0, 0), (1, 4 << 10), (512, 8 << 10), (4 << 10, 64 << 10), (100, 64 << 10), (1 << 40, 256 << 10)]
        {
            share.grow(written);
            assert_eq!(share.bytes(), bytes, "{written}");
        }
    }

    #[test]
    fn what_is_written_ends_where_blocks_do_unless_little_is_left_to_there() {
        let mut share = Share::new(&Budget::new(usize::MAX));
        for (written, limit) in [
            (4 << 10, 60 << 10),
            (64 << 10, 192 << 10),
            (256 << 10, 256 << 10),
            (300 << 10, 212 << 10),
            (500 << 10, 256 << 10),
            (512 << 10, 256 << 10),
        ] {
            share.grow(written);
            assert_eq!(share.limit(written), limit, "{written}");
        }
    }

    #[test]
    fn all_buffers_together_stay_within_the_budget_and_give_back_what_they_had() {
        let budget = Budget::new(300 << 10);
        let mut first = Share::new(&budget);
        assert!(first.grow(1 << 20));
        let mut second = Share::new(&budget);
        assert!(!second.grow(1 << 20));
        assert_eq!((first.bytes(), second.bytes(), second.limit(1 << 20)), (256 << 10, 0, 0));
        assert!(second.grow(1));
        assert_eq!(second.bytes(), 4 << 10);
        drop(first);
        assert!(second.grow(1 << 20));
        assert_eq!(second.bytes(), 256 << 10);
        drop(second);
        assert_eq!(budget.0.load(Ordering::Relaxed), 300 << 10);
    }
}
