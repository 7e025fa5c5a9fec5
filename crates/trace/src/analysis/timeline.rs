//! Time by kind of call over the run, in bins that widen as the run goes on.

use crate::call::{Call, Kind};
use crate::report::{Axis, Timeline};

const BINS: usize = 128;

/// Over time, and over the number of calls, for traces that don't say when.
#[derive(Default)]
pub(super) struct Timelines {
    by_time: Bins,
    by_calls: Bins,
    end: u64,
    timed: bool,
}

struct Bins {
    width: u64,
    bins: Vec<[u64; Kind::ALL.len()]>,
    used: usize,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { width: 1, bins: vec![[0; Kind::ALL.len()]; BINS], used: 0 }
    }
}

impl Timelines {
    pub(super) fn add(&mut self, call: &Call<'_>, number: u64) {
        let time = call.duration.unwrap_or(0);
        if let Some(start) = call.start {
            let end = start.saturating_add(time);
            self.by_time.add(call.kind, start, end, time);
            self.timed = true;
            self.end = self.end.max(end);
        }
        self.by_calls.add(call.kind, number - 1, number - 1, time);
    }

    /// From the first call's begin to the last one's end.
    pub(super) fn span(&self) -> Option<u64> {
        self.timed.then_some(self.end)
    }

    pub(super) fn finish(self) -> Timeline {
        let (axis, bins) = if self.timed { (Axis::Time, self.by_time) } else { (Axis::Calls, self.by_calls) };
        Timeline { axis, width: bins.width, bins: bins.bins[..bins.used].to_vec() }
    }
}

impl Bins {
    /// Spreads `amount` over the bins from `start` to `end`.
    fn add(&mut self, kind: Kind, start: u64, end: u64, amount: u64) {
        while end / self.width >= BINS as u64 {
            self.widen();
        }
        let (first, last) = ((start / self.width) as usize, (end / self.width) as usize);
        self.used = self.used.max(last + 1);
        if first == last {
            let bin = &mut self.bins[first][kind as usize];
            *bin = bin.saturating_add(amount);
            return;
        }
        for at in first..=last {
            let from = start.max(at as u64 * self.width);
            let to = end.min((at as u64).saturating_add(1).saturating_mul(self.width));
            let bin = &mut self.bins[at][kind as usize];
            *bin = bin.saturating_add(to - from);
        }
    }

    fn widen(&mut self) {
        for at in 0..BINS / 2 {
            for kind in 0..Kind::ALL.len() {
                self.bins[at][kind] = self.bins[2 * at][kind].saturating_add(self.bins[2 * at + 1][kind]);
            }
        }
        self.bins[BINS / 2..].fill([0; Kind::ALL.len()]);
        self.used = self.used.div_ceil(2);
        self.width = self.width.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_spread_over_the_bins_it_was_spent_in_and_none_is_lost() {
        let mut bins = Bins::default();
        let mut total = 0;
        for (start, length) in [(0, 10), (5, 1000), (2_000_000, 3_000_000), (u64::MAX / 2, 7), (3, 0)] {
            bins.add(Kind::Close, start, start + length, length);
            total += length;
            assert_eq!(bins.bins.iter().map(|bin| bin[Kind::Close as usize]).sum::<u64>(), total);
        }
        assert!(bins.used <= BINS && bins.width >= u64::MAX / 2 / BINS as u64);
        bins.add(Kind::Close, u64::MAX, u64::MAX, 1);
    }
}
