//! Whether a close is handed over or made on the spot.

#[cfg(not(loom))]
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// When a [`Closer`](super::Closer) hands closes over to its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// While closes are slow. Every fourth close of a thread is timed, and every one after a slow one; the second that takes
    /// half a millisecond starts the handing over, and so do many that take 20 µs or more. Some fifty fast ones end it.
    #[default]
    Adaptive,
    /// Always, however fast closes are: for handles whose drop does more than to close, and for threads that must not wait,
    /// as in async code.
    Always,
    /// Never: the thread that drops a handle closes it. Errors are kept all the same.
    Never,
}

/// What a hand-over costs, waking a thread included: 5–10 µs on the thread that hands over and as much on the one that
/// takes. ext4 closes a rewritten file in 9.5 µs on average, its rare outliers included (docs/measurements.md, "What a
/// small file costs"): that must stay below.
const HAND_OVER_NANOS: u32 = 20_000;

/// So much more than hand-overs must closes have cost before handing over begins. ext4's outliers of 194 µs (one in
/// 100) and 862 µs (one in 1,000) come too rarely to add up to it.
const EXCESS_LIMIT_NANOS: u32 = 1_000_000;

/// What one close counts at most: more than half the limit, so that two closes of 2 ms are enough, and less than the
/// limit, so that one is not (a thread that loses its core in mid-close is away for milliseconds).
const ONE_CLOSE_NANOS: u32 = 600_000;

const HANDING_OVER: u32 = 1 << 31;

/// By how much recent closes cost more than hand-overs would have: a bucket that every close fills with its time and
/// drains by the price of a hand-over. Full: hand over. Empty: stop. Between: as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Excess {
    nanos: u32,
    handing_over: bool,
}

impl Excess {
    fn after(self, took: Duration) -> Excess {
        let took = took.as_nanos().min(u128::from(ONE_CLOSE_NANOS)) as u32;
        let nanos = (self.nanos + took).saturating_sub(HAND_OVER_NANOS).min(EXCESS_LIMIT_NANOS);
        let handing_over = match nanos {
            0 => false,
            EXCESS_LIMIT_NANOS => true,
            _ => self.handing_over,
        };
        Excess { nanos, handing_over }
    }

    fn from_bits(bits: u32) -> Excess {
        Excess { nanos: bits & !HANDING_OVER, handing_over: bits & HANDING_OVER != 0 }
    }

    fn to_bits(self) -> u32 {
        self.nanos | if self.handing_over { HANDING_OVER } else { 0 }
    }
}

/// One close in so many is timed while they are fast. Two readings of the clock take 50 ns, 1 % of writing a small file.
const SAMPLE: u32 = 4;

/// Whether it is this thread's turn to time a close. The first of each thread is.
#[cfg(not(loom))]
#[inline]
fn is_sample() -> bool {
    thread_local! {
        static CLOSES: Cell<u32> = const { Cell::new(0) };
    }
    // A thread that is ending has no count any more, and nothing to learn for.
    CLOSES.try_with(|closes| closes.replace((closes.get() + 1) % SAMPLE) == 0).unwrap_or(false)
}

/// A model has to run the same way each time.
#[cfg(loom)]
fn is_sample() -> bool {
    true
}

/// The policy and what it has learnt, shared by all threads.
///
/// Relaxed loads and stores: two threads that record at once may lose one of two samples, and nothing else depends on
/// them.
#[derive(Debug)]
pub(super) struct Switch {
    adaptive: bool,
    bits: AtomicU32,
}

impl Switch {
    pub(super) fn new(policy: Policy) -> Switch {
        let bits = if policy == Policy::Always { HANDING_OVER } else { 0 };
        Switch { adaptive: policy == Policy::Adaptive, bits: AtomicU32::new(bits) }
    }

    #[inline]
    pub(super) fn hands_over(&self) -> bool {
        self.bits.load(Ordering::Relaxed) & HANDING_OVER != 0
    }

    /// For how many closes the time of the caller's next one stands; 0: it needn't be timed. While closes are fast, of each
    /// thread's only some are.
    #[inline]
    pub(super) fn next_stands_for(&self) -> u32 {
        match self.bits.load(Ordering::Relaxed) {
            0 if is_sample() => SAMPLE,
            0 => 0,
            _ => 1,
        }
    }

    /// Learns from a close, whichever thread made it.
    #[inline]
    pub(super) fn record(&self, took: Duration) {
        if !self.adaptive {
            return;
        }
        let bits = self.bits.load(Ordering::Relaxed);
        // The usual case, fast after fast, writes nothing: threads that close at once don't fight for the cache line.
        if bits != 0 || took.as_nanos() > u128::from(HAND_OVER_NANOS) {
            self.bits.store(Excess::from_bits(bits).after(took).to_bits(), Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn micros(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    /// How many closes of `took` it takes until the switch says `handing_over`.
    fn closes_until(switch: &Switch, handing_over: bool, took: Duration) -> Option<usize> {
        (1..=10_000).find(|_| {
            switch.record(took);
            switch.hands_over() == handing_over
        })
    }

    #[test]
    fn the_second_close_of_two_milliseconds_starts_the_handing_over() {
        assert_eq!(closes_until(&Switch::new(Policy::Adaptive), true, micros(2_000)), Some(2));
    }

    #[test]
    fn one_outlier_of_any_length_does_not() {
        let switch = Switch::new(Policy::Adaptive);
        switch.record(Duration::MAX);
        assert!(!switch.hands_over());
        assert_eq!(closes_until(&switch, true, micros(1)), None);
    }

    #[test]
    fn closes_somewhat_slower_than_a_hand_over_start_it_later() {
        assert_eq!(closes_until(&Switch::new(Policy::Adaptive), true, micros(120)), Some(10));
        assert_eq!(closes_until(&Switch::new(Policy::Adaptive), true, micros(40)), Some(50));
        assert_eq!(closes_until(&Switch::new(Policy::Adaptive), true, micros(20)), None);
    }

    #[test]
    fn a_run_of_fast_closes_ends_it_and_a_few_do_not() {
        let switch = Switch::new(Policy::Adaptive);
        closes_until(&switch, true, micros(2_000)).unwrap();
        let run = closes_until(&switch, false, micros(1)).unwrap();
        assert!((30..=60).contains(&run), "{run}");

        closes_until(&switch, true, micros(2_000)).unwrap();
        for _ in 0..1_000 {
            (0..20).for_each(|_| switch.record(micros(1)));
            switch.record(micros(2_000));
            assert!(switch.hands_over());
        }
    }

    #[test]
    fn one_slow_close_in_ten_is_worth_handing_over() {
        let switch = Switch::new(Policy::Adaptive);
        for n in 0..100 {
            switch.record(micros(if n % 10 == 0 { 2_000 } else { 1 }));
        }
        assert!(switch.hands_over());
    }

    #[test]
    fn the_outliers_of_ext4_never_start_it() {
        // Files truncated and rewritten: most closes take 6 µs, the slowest in 100 takes 194 and in 1,000 it takes 862.
        let switch = Switch::new(Policy::Adaptive);
        for n in 0..100_000 {
            switch.record(micros(match n % 1_000 {
                0 => 862,
                n if n % 100 == 0 => 194,
                _ => 6,
            }));
            assert!(!switch.hands_over(), "close {n}");
        }
    }

    #[test]
    fn one_fast_close_in_four_is_timed_and_every_one_after_a_slow_one() {
        let switch = Switch::new(Policy::Adaptive);
        let timed = |n| {
            let mut times: Vec<_> = (0..n).map(|_| switch.next_stands_for()).filter(|times| *times > 0).collect();
            assert_eq!(times.iter().sum::<u32>(), n, "each close is stood for");
            times.dedup();
            times
        };
        assert_eq!(timed(40), [4]);
        switch.record(micros(2_000));
        assert_eq!(timed(40), [1]);
        (0..100).for_each(|_| switch.record(micros(1)));
        assert_eq!(timed(40), [4]);
    }

    #[test]
    fn always_and_never_learn_nothing() {
        for (policy, hands_over) in [(Policy::Always, true), (Policy::Never, false)] {
            let switch = Switch::new(policy);
            (0..10).for_each(|_| switch.record(micros(2_000)));
            (0..1_000).for_each(|_| switch.record(micros(1)));
            assert_eq!(switch.hands_over(), hands_over);
        }
    }
}
