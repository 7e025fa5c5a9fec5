//! How many threads, from how long files take. Pure: times go in, a number comes out.

use std::time::Duration;

/// A file that takes this long in calls that sleep is on a file system that waits for something: a network, a virus
/// scanner, a FUSE process. Small files on local ones take 5–25 µs, their p99 200 (docs/measurements.md, "What a small
/// file costs").
pub(in crate::tree) const SLOW: Duration = Duration::from_micros(300);

/// The most threads that wait for a slow file system. 64 closing threads were where the gain levelled off for a
/// producer of files on a 2 ms mount (25 times a plain loop; tokio::fs 27–45; docs/measurements.md, "Mounts whose close
/// is slow"); open and write may wait as well.
pub(in crate::tree) const MOST_THREADS: usize = 128;

/// What a file costs without the waiting: a core is busy with another file meanwhile. Where files wait for a process of
/// this machine, that takes time of the same cores: with a FUSE process 2,300 files took 1.05 to 1.1 times as long with
/// 128 threads as with 64 (docs/measurements.md, "Mounts whose close is slow").
const BUSY: Duration = Duration::from_micros(60);

/// How many times as many threads there are after each time that files tell of waiting. The first files are few, and
/// what they tell may be an accident; so not all threads come at once.
const STEP: usize = 16;

/// The times of the last files: the shortest tells the file system's own latency, because a busy machine or a contended
/// folder only makes some of them longer.
#[derive(Debug, Default)]
pub(in crate::tree) struct Pace {
    recent: [Duration; 16],
    count: usize,
}

impl Pace {
    /// Notes the time that one small file took, as far as it was spent sleeping: zero if it didn't sleep.
    pub(in crate::tree) fn note(&mut self, waited: Duration) {
        self.recent[self.count % self.recent.len()] = waited;
        self.count += 1;
    }

    /// Whether any file has been noted.
    pub(in crate::tree) fn is_known(&self) -> bool {
        self.count > 0
    }

    /// What every file has to wait.
    pub(in crate::tree) fn latency(&self) -> Duration {
        let known = self.count.min(self.recent.len());
        self.recent[..known].iter().min().copied().unwrap_or_default()
    }
}

/// How many threads to have where a file waits for `latency`, with `now` of them at work and `cores` that fit a fast
/// file system: so many that each core always has a file to work on, reached in [`STEP`]s.
pub(in crate::tree) fn threads_for(latency: Duration, cores: usize, now: usize) -> usize {
    if latency < SLOW || cores == 1 {
        return cores;
    }
    let enough = cores * (1 + (latency.as_nanos() / BUSY.as_nanos()) as usize);
    enough.min(now.max(1) * STEP).clamp(cores, MOST_THREADS.max(cores))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    #[test]
    fn a_fast_file_system_gets_a_thread_for_each_core() {
        assert_eq!(threads_for(us(0), 2, 2), 2);
        assert_eq!(threads_for(us(25), 8, 8), 8);
        assert_eq!(threads_for(us(25), 2, 128), 2, "and loses the others when it turns fast again");
    }

    #[test]
    fn a_slow_one_gets_more_in_steps_up_to_the_most() {
        let steps: Vec<_> =
            std::iter::successors(Some(2), |&now| Some(threads_for(us(2000), 2, now))).take(4).collect();
        assert_eq!(steps, [2, 32, 68, 68]);
        assert!(threads_for(us(400), 2, 128) < 20, "a shorter wait needs fewer");
        assert_eq!(threads_for(us(100_000), 2, 128), MOST_THREADS);
    }

    #[test]
    fn one_thread_was_asked_for_and_stays_one() {
        assert_eq!(threads_for(us(5000), 1, 1), 1);
    }

    #[test]
    fn one_slow_file_among_fast_ones_says_nothing_and_one_fast_among_slow_ones_brings_it_back() {
        let mut pace = Pace::default();
        assert_eq!(pace.latency(), us(0));
        pace.note(us(900));
        assert_eq!(pace.latency(), us(900));
        pace.note(us(5));
        assert_eq!(pace.latency(), us(5));
        (0..16).for_each(|_| pace.note(us(2000)));
        assert_eq!(pace.latency(), us(2000));
        pace.note(us(7));
        assert_eq!(pace.latency(), us(7));
    }
}
