//! What is buffered for one file, in memory that all files share.

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

/// Bytes that are not written yet. It has no memory until [`grow`](Buffer::grow) finds some.
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// What was taken from the budget.
    capacity: usize,
    /// How much of it is filled before it is written: all, or what ends the file's block.
    limit: usize,
    budget: Arc<Budget>,
}

impl Buffer {
    pub(super) fn new(budget: &Arc<Budget>) -> Buffer {
        Buffer { bytes: Vec::new(), capacity: 0, limit: 0, budget: Arc::clone(budget) }
    }

    /// Makes room that suits a file of which so many bytes have been written so far: nothing for one that is written once, sixteen
    /// times as much as it has for one that goes on. Where the budget is used up, less or none. Only when it is empty.
    /// (Memory that is not filled is not touched, so a large buffer for a small file costs no more than a part of the budget.)
    pub(super) fn grow(&mut self, written: u64) {
        debug_assert!(self.bytes.is_empty());
        if written > 0 && self.capacity < LARGEST {
            let wanted = usize::try_from(written).unwrap_or(LARGEST).saturating_mul(16).clamp(SMALLEST, LARGEST);
            let wanted = wanted.next_power_of_two();
            if wanted > self.capacity && self.budget.take(wanted - self.capacity) {
                self.capacity = wanted;
                self.bytes = Vec::with_capacity(wanted);
            }
        }
        // The page cache of ext4 takes whole aligned blocks a fifth faster. Half a buffer is not worth a call for that.
        let to_block = match self.capacity {
            0 => 0,
            capacity => capacity - (written % capacity as u64) as usize,
        };
        self.limit = if to_block >= self.capacity / 2 { to_block } else { self.capacity };
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether bytes so many are better written at once than gathered.
    pub(super) fn is_small_for(&self, len: usize) -> bool {
        len > self.capacity / 2
    }

    /// Takes all of `bytes`, or says that they don't fit.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        let fits = bytes.len() <= self.limit - self.bytes.len();
        if fits {
            self.bytes.extend_from_slice(bytes);
        }
        fits
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.budget.give_back(self.capacity);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_grows_with_the_file_and_stops_at_what_gains_something() {
        let budget = Budget::new(usize::MAX);
        let mut buffer = Buffer::new(&budget);
        for (written, capacity) in
            [(0, 0), (1, 4 << 10), (512, 8 << 10), (4 << 10, 64 << 10), (100, 64 << 10), (1 << 40, 256 << 10)]
        {
            buffer.grow(written);
            assert_eq!(buffer.capacity, capacity, "{written}");
        }
    }

    #[test]
    fn what_is_written_ends_where_blocks_do_unless_little_is_left_to_there() {
        let mut buffer = Buffer::new(&Budget::new(usize::MAX));
        for (written, limit) in [
            (4 << 10, 60 << 10),
            (64 << 10, 192 << 10),
            (256 << 10, 256 << 10),
            (300 << 10, 212 << 10),
            (500 << 10, 256 << 10),
            (512 << 10, 256 << 10),
        ] {
            buffer.grow(written);
            assert_eq!(buffer.limit, limit, "{written}");
        }
    }

    #[test]
    fn all_buffers_together_stay_within_the_budget_and_give_back_what_they_had() {
        let budget = Budget::new(300 << 10);
        let mut first = Buffer::new(&budget);
        first.grow(1 << 20);
        let mut second = Buffer::new(&budget);
        second.grow(1 << 20);
        assert_eq!((first.capacity, second.capacity), (256 << 10, 0));
        assert!(!second.push(b"x") && second.push(b""));
        second.grow(1);
        assert_eq!(second.capacity, 4 << 10);
        drop(first);
        second.grow(1 << 20);
        assert_eq!(second.capacity, 256 << 10);
        drop(second);
        assert_eq!(budget.0.load(Ordering::Relaxed), 300 << 10);
    }
}
