//! [`Samples`]: every time that one operation took.

use std::time::Duration;

/// The times of one operation, sorted. Never empty.
#[derive(Clone, Debug)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// `None` if there are none.
    pub fn new(mut times: Vec<Duration>) -> Option<Samples> {
        times.sort_unstable();
        (!times.is_empty()).then_some(Samples(times))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The time that this share of them, from 0 to 1, stays below or at.
    pub fn quantile(&self, share: f64) -> Duration {
        let last = self.0.len() - 1;
        self.0[((share * last as f64).round() as usize).min(last)]
    }

    /// Half of them took no longer.
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        self.quantile(1.0)
    }

    /// Their sum by their number.
    pub fn mean(&self) -> Duration {
        self.total() / u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// The mean of all but the longest hundredth: those are mostly times when something else had the processor.
    pub fn trimmed_mean(&self) -> Duration {
        let kept = &self.0[..self.0.len() - self.0.len() / 100];
        kept.iter().sum::<Duration>() / u32::try_from(kept.len()).unwrap_or(u32::MAX)
    }

    /// Their sum.
    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }

    /// How many fall into each of the buckets, which end at these times; the last takes what is longer, too.
    pub fn buckets(&self, ends: &[Duration]) -> Vec<usize> {
        let mut counts = vec![0; ends.len()];
        for time in &self.0 {
            let at = ends.partition_point(|end| end <= time).min(ends.len() - 1);
            counts[at] += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(times: &[u64]) -> Samples {
        Samples::new(times.iter().map(|&time| Duration::from_micros(time)).collect()).unwrap()
    }

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let samples = micros(&[5, 1, 2, 4, 3]);
        assert_eq!(samples.median(), Duration::from_micros(3));
        assert_eq!(samples.quantile(0.0), Duration::from_micros(1));
        assert_eq!(samples.max(), Duration::from_micros(5));
        assert_eq!(samples.mean(), Duration::from_micros(3));
        let mut times = vec![2; 99];
        times.push(50_000);
        assert_eq!(micros(&times).trimmed_mean(), Duration::from_micros(2));
        assert!(Samples::new(Vec::new()).is_none());
    }

    #[test]
    fn each_time_falls_into_one_bucket_and_the_longest_into_the_last() {
        let ends = [1, 10, 100].map(Duration::from_micros);
        assert_eq!(micros(&[0, 1, 9, 10, 99, 100, 5_000]).buckets(&ends), [1, 2, 4]);
    }
}
