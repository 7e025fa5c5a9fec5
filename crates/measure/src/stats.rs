//! Medians and how far to trust them.

/// The middle value; the mean of the two middle ones if their number is even.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value below which the given part of the values lies, interpolated.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    assert!(!values.is_empty(), "nothing was measured");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = part * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// The distance of the fastest and the slowest, as a part of the median.
pub fn spread(values: &[f64]) -> f64 {
    (quantile(values, 1.0) - quantile(values, 0.0)) / median(values)
}

/// If the [`spread`] of a reference is more than this, the machine was too busy: no comparison with that reference can
/// be trusted.
pub const NOISY: f64 = 0.3;

/// The ratios of pairs, as a median and its interval. The two of a pair were measured in the same round: what hurts a
/// whole round hurts both, and is not in their ratio.
pub fn paired(pairs: &[(f64, f64)]) -> Estimate {
    // As logarithms, so that the ratio the other way round is the inverse, the middle of an even number included.
    let logs: Vec<f64> = pairs.iter().map(|(over, under)| (over / under).ln()).collect();
    let Estimate { value, low, high, confidence } = estimate(&logs);
    Estimate { value: value.exp(), low: low.exp(), high: high.exp(), confidence }
}

/// The median and its confidence interval: from the k-th smallest to the k-th largest of the values, where k is the
/// largest with which that covers the median of all that could be measured with a probability of 95 % or more. That
/// probability is a binomial one, whatever the values' distribution is (the interval of the sign test; Conover,
/// Practical Nonparametric Statistics, 3.2). It takes six values to reach 95 %; with fewer, the interval goes from the
/// smallest to the largest, and its [`confidence`](Estimate::confidence) is less.
pub fn estimate(values: &[f64]) -> Estimate {
    let count = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // The probability that exactly `n` of them are below the median, for n = 0, 1, ...
    let mut exactly = 0.5_f64.powi(count as i32);
    let (mut below, mut confidence) = (0, 1.0 - 2.0 * exactly);
    for n in 1..count.div_ceil(2) {
        exactly *= (count - n + 1) as f64 / n as f64;
        if confidence - 2.0 * exactly < CONFIDENCE {
            break;
        }
        (below, confidence) = (n, confidence - 2.0 * exactly);
    }
    Estimate { value: median(values), low: sorted[below], high: sorted[count - 1 - below], confidence }
}

/// What an interval covers where there are values enough.
pub const CONFIDENCE: f64 = 0.95;

/// A figure and the ends of its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How often such an interval holds the true median, from 0 to 1: [`CONFIDENCE`] or more from six values on.
    pub confidence: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn the_interval_leaves_out_as_many_as_it_may() {
        // The ranks are those of tables for the sign test.
        for (count, low, high, confidence) in
            [(1, 1, 1, 0.0), (3, 1, 3, 0.75), (6, 1, 6, 0.969), (7, 1, 7, 0.984), (9, 2, 8, 0.961), (15, 4, 12, 0.965)]
        {
            let estimate = estimate(&(1..=count).rev().map(f64::from).collect::<Vec<_>>());
            assert_eq!((estimate.low, estimate.high), (f64::from(low), f64::from(high)), "{count}");
            assert!((estimate.confidence - confidence).abs() < 0.001, "{count}: {estimate:?}");
        }
    }

    #[test]
    fn the_other_way_round_a_ratio_is_the_inverse() {
        let pairs = [(2.0, 1.0), (3.0, 1.0), (2.5, 1.0), (9.0, 2.0), (1.0, 1.0), (2.0, 1.5)];
        let (there, back) = (paired(&pairs), paired(&pairs.map(|(a, b)| (b, a))));
        for (there, back) in [(there.value, back.value), (there.low, back.high), (there.high, back.low)] {
            assert!((there * back - 1.0).abs() < 1e-9, "{there} and {back}");
        }
    }

    #[test]
    fn a_round_that_was_slow_for_both_changes_nothing() {
        let calm = paired(&[(2.0, 1.0); 7]);
        let mut rounds = [(2.0, 1.0); 7];
        rounds[3] = (20.0, 10.0);
        assert_eq!(paired(&rounds), calm);
        assert_eq!((calm.low, calm.high), (calm.value, calm.value));
    }

    /// Numbers between 0 and 1, the same in every run.
    struct Draws(u64);

    impl Draws {
        fn next(&mut self) -> f64 {
            // Knuth's MMIX generator.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Roughly normal: twelve uniform ones added up.
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.next()).sum::<f64>() - 6.0
        }
    }

    /// Machines as benchmarks meet them. Each gives the time of an entrant that takes 1 in the middle.
    type Machine = fn(&mut Draws) -> f64;

    const MACHINES: [(&str, Machine); 4] = [
        ("quiet", |draws| 1.0 + 0.02 * draws.normal()),
        ("skewed", |draws| (0.3 * draws.normal()).exp()),
        ("now and then ten times slower", |draws| {
            (0.1 * draws.normal()).exp() * if draws.next() < 0.1 { 10.0 } else { 1.0 }
        }),
        ("heavy tails", |draws| {
            let (a, b) = (draws.normal(), draws.normal());
            1.0 + 0.01 * (a / b).abs()
        }),
    ];

    /// How often the interval holds the ratio of two entrants, the first of which takes twice the second's time, and
    /// which both suffer from a slow round.
    #[test]
    fn intervals_cover_what_they_say() {
        const TIMES: usize = 4_000;
        for (name, machine) in MACHINES {
            for rounds in [3, 5, 7, 9, 15, 45] {
                let mut draws = Draws(rounds);
                let mut stated = 0.0;
                let held = (0..TIMES).filter(|_| {
                    let round = |_| {
                        let slow = (0.5 * draws.normal()).exp();
                        (2.0 * slow * machine(&mut draws), slow * machine(&mut draws))
                    };
                    let ratio = paired(&(0..rounds).map(round).collect::<Vec<_>>());
                    stated = ratio.confidence;
                    ratio.low <= 2.0 && 2.0 <= ratio.high
                });
                let held = held.count() as f64 / TIMES as f64;
                assert!((held - stated).abs() < 0.015, "{name}, {rounds} rounds: {held}, and {stated} is stated");
                assert!(rounds < 6 || stated >= CONFIDENCE, "{rounds} rounds: {stated}");
            }
        }
    }
}
