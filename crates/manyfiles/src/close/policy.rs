//! Whether a close is handed over or made on the spot.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// When a [`Closer`](super::Closer) hands closes over to its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// While closes are slow. Every close is timed, those of files that were read apart from those that were written
    /// to. Two closes of half a millisecond start the handing over, or two of ten among some hundred fast ones, or many
    /// of 20 µs and more. A run of fast closes ends it.
    #[default]
    Adaptive,
    /// Always, however fast closes are: for handles whose drop does more than to close, and for threads that must not
    /// wait, as in async code.
    Always,
    /// Never: the thread that drops a handle closes it. Errors are kept all the same.
    Never,
}

/// What a handle was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// What a hand-over costs, waking a thread included: 5–10 µs on the thread that hands over and as much on the one that
/// takes. ext4 closes a rewritten file in 9.5 µs on average, its rare outliers included (docs/measurements.md, "What a
/// small file costs"): that must stay below.
const HAND_OVER_NANOS: u64 = 20_000;

/// By how much recent closes cost more than hand-overs would have. Every close fills the bucket with its time and
/// drains it by the price of a hand-over. There are two buckets, for two kinds of slowness.
struct Bucket {
    /// What one close counts at most. It is less than the bucket holds, so that one slow close does not fill it: a
    /// thread that loses its core in mid-close is away for milliseconds. It is more than half of what the bucket holds,
    /// so that two slow closes fill it.
    one_close: u64,
    holds: u64,
}

/// Closes that are slow as a rule. ext4's outliers of 194 µs (one in 100) and 862 µs (one in 1,000) come too rarely.
const OFTEN: Bucket = Bucket { one_close: 600_000, holds: 1_000_000 };

/// Closes that are slow now and then, and then very: it takes 500 fast closes to drain one of 10 ms. If a program loses
/// its core in the middle of one close in thousands, the bucket stays empty. If the bucket fills by mistake, 600 closes
/// are handed over. That costs 6 ms at most, half of the time that filled it.
const RARELY: Bucket = Bucket { one_close: 10_000_000, holds: 12_000_000 };

impl Bucket {
    fn after(&self, level: u64, took: u64) -> u64 {
        (level + took.min(self.one_close)).saturating_sub(HAND_OVER_NANOS).min(self.holds)
    }
}

/// The levels of both buckets. One of them full: hand over. Both empty: stop. Between: as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Excess {
    often: u64,
    rarely: u64,
    handing_over: bool,
}

const HANDING_OVER: u64 = 1 << 63;

impl Excess {
    fn after(self, took: Duration) -> Excess {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let often = OFTEN.after(self.often, took);
        let rarely = RARELY.after(self.rarely, took);
        let is_full = often == OFTEN.holds || rarely == RARELY.holds;
        let is_empty = often == 0 && rarely == 0;
        Excess { often, rarely, handing_over: is_full || (self.handing_over && !is_empty) }
    }

    fn from_bits(bits: u64) -> Excess {
        Excess { often: bits & 0xffff_ffff, rarely: bits >> 32 & 0x7fff_ffff, handing_over: bits & HANDING_OVER != 0 }
    }

    fn to_bits(self) -> u64 {
        self.often | self.rarely << 32 | if self.handing_over { HANDING_OVER } else { 0 }
    }
}

/// The policy and what it has learnt of closes, shared by all threads.
///
/// Relaxed loads and stores: two threads that record at once may lose one of two times, and nothing else depends on
/// them.
#[derive(Debug)]
pub(super) struct Switch {
    adaptive: bool,
    reads: AtomicU64,
    writes: AtomicU64,
}

impl Switch {
    pub(super) fn new(policy: Policy) -> Switch {
        let bits = || AtomicU64::new(if policy == Policy::Always { HANDING_OVER } else { 0 });
        Switch { adaptive: policy == Policy::Adaptive, reads: bits(), writes: bits() }
    }

    /// Whether nothing is handed over, and no recent close gives a reason to. Then what a handle was opened for makes
    /// no difference.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.reads.load(Ordering::Relaxed) | self.writes.load(Ordering::Relaxed) == 0
    }

    pub(super) fn hands_over(&self, access: Access) -> bool {
        self.of(access).load(Ordering::Relaxed) & HANDING_OVER != 0
    }

    /// Learns from a close, whichever thread made it.
    #[inline]
    pub(super) fn record(&self, access: Access, took: Duration) {
        if !self.adaptive {
            return;
        }
        let learnt = self.of(access);
        let bits = learnt.load(Ordering::Relaxed);
        // The usual case, fast after fast, writes nothing: threads that close at once don't fight for the cache line.
        if bits != 0 || took.as_nanos() > u128::from(HAND_OVER_NANOS) {
            learnt.store(Excess::from_bits(bits).after(took).to_bits(), Ordering::Relaxed);
        }
    }

    fn of(&self, access: Access) -> &AtomicU64 {
        match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Access::{Read, Write};
    use super::*;

    fn micros(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    /// How many closes of `took` it takes until the switch says `handing_over`.
    fn closes_until(switch: &Switch, handing_over: bool, took: Duration) -> Option<usize> {
        (1..=10_000).find(|_| {
            switch.record(Write, took);
            switch.hands_over(Write) == handing_over
        })
    }

    fn adaptive() -> Switch {
        Switch::new(Policy::Adaptive)
    }

    #[test]
    fn the_second_close_of_two_milliseconds_starts_the_handing_over() {
        assert_eq!(closes_until(&adaptive(), true, micros(2_000)), Some(2));
    }

    #[test]
    fn one_outlier_of_any_length_does_not() {
        let switch = adaptive();
        switch.record(Write, Duration::MAX);
        assert!(!switch.hands_over(Write));
        assert_eq!(closes_until(&switch, true, micros(1)), None);
        assert!(switch.is_quiet());
    }

    #[test]
    fn closes_somewhat_slower_than_a_hand_over_start_it_later() {
        assert_eq!(closes_until(&adaptive(), true, micros(120)), Some(10));
        assert_eq!(closes_until(&adaptive(), true, micros(40)), Some(50));
        assert_eq!(closes_until(&adaptive(), true, micros(20)), None);
    }

    #[test]
    fn a_run_of_fast_closes_ends_it_and_a_few_do_not() {
        let switch = adaptive();
        closes_until(&switch, true, micros(2_000)).unwrap();
        let run = closes_until(&switch, false, micros(1)).unwrap();
        assert!((30..=300).contains(&run), "{run}");

        closes_until(&switch, true, micros(2_000)).unwrap();
        for _ in 0..1_000 {
            (0..20).for_each(|_| switch.record(Write, micros(1)));
            switch.record(Write, micros(2_000));
            assert!(switch.hands_over(Write));
        }
    }

    #[test]
    fn slow_closes_are_noticed_in_whatever_rhythm_they_come() {
        for (every, slow) in [
            (2, 2_000),
            (3, 2_000),
            (4, 2_000),
            (5, 2_000),
            (8, 2_000),
            (10, 2_000),
            (20, 10_000),
            (40, 10_000),
            (64, 10_000),
            (100, 10_000),
        ] {
            let switch = adaptive();
            for n in 1..=every * 4 {
                switch.record(Write, micros(if n % every == 0 { slow } else { 1 }));
            }
            assert!(switch.hands_over(Write), "one in {every} takes {slow} µs");
            for n in 1..=every * 100 {
                switch.record(Write, micros(if n % every == 0 { slow } else { 1 }));
                assert!(switch.hands_over(Write), "one in {every} takes {slow} µs, close {n}");
            }
        }
    }

    #[test]
    fn reads_and_writes_are_told_apart() {
        let switch = adaptive();
        for _ in 0..10 {
            switch.record(Read, micros(1));
            switch.record(Write, micros(2_000));
        }
        assert!(switch.hands_over(Write) && !switch.hands_over(Read) && !switch.is_quiet());
    }

    #[test]
    fn the_outliers_of_ext4_never_start_it() {
        // Files truncated and rewritten: most closes take 6 µs, the slowest in 100 takes 194 and in 1,000 it takes 862.
        let switch = adaptive();
        for n in 0..100_000 {
            switch.record(
                Write,
                micros(match n % 1_000 {
                    0 => 862,
                    n if n % 100 == 0 => 194,
                    _ => 6,
                }),
            );
            assert!(!switch.hands_over(Write), "close {n}");
        }
    }

    #[test]
    fn a_thread_that_loses_its_core_in_one_close_of_two_thousand_does_not_start_it() {
        let switch = adaptive();
        for n in 0..100_000 {
            switch.record(Write, micros(if n % 2_000 == 0 { 8_000 } else { 2 }));
            assert!(!switch.hands_over(Write), "close {n}");
        }
    }

    #[test]
    fn always_and_never_learn_nothing() {
        for (policy, hands_over) in [(Policy::Always, true), (Policy::Never, false)] {
            let switch = Switch::new(policy);
            (0..10).for_each(|_| switch.record(Write, micros(2_000)));
            (0..1_000).for_each(|_| switch.record(Read, micros(1)));
            assert_eq!([switch.hands_over(Write), switch.hands_over(Read)], [hands_over; 2]);
        }
    }
}
