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

/// The ratio of two medians, and its 95 % confidence interval by bootstrap: both samples drawn anew, with replacement,
/// 4,000 times. The same measurements always give the same interval.
pub fn ratio(over: &[f64], under: &[f64]) -> Estimate {
    const DRAWS: usize = 4_000;
    let mut state = 1u64;
    let mut draw = |from: &[f64]| {
        let pick = |_| {
            // Knuth's MMIX generator; its upper bits are good enough to pick one of a few dozen.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            from[((u128::from(state) * from.len() as u128) >> 64) as usize]
        };
        median(&(0..from.len()).map(pick).collect::<Vec<_>>())
    };
    let ratios: Vec<f64> = (0..DRAWS).map(|_| draw(over) / draw(under)).collect();
    Estimate { value: median(over) / median(under), low: quantile(&ratios, 0.025), high: quantile(&ratios, 0.975) }
}

/// The median and its 95 % confidence interval, by the same method.
pub fn estimate(values: &[f64]) -> Estimate {
    ratio(values, &[1.0])
}

/// A figure and the ends of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What the medians say.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
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
    fn the_interval_holds_the_ratio_and_widens_with_the_noise() {
        let calm = ratio(&[2.0, 2.01, 1.99, 2.0, 2.0], &[1.0, 1.0, 1.01, 0.99, 1.0]);
        let noisy = ratio(&[1.0, 3.0, 2.0, 2.5, 1.5], &[0.5, 1.5, 1.0, 1.2, 0.8]);
        for r in [calm, noisy] {
            assert!(r.low <= r.value && r.value <= r.high, "{r:?}");
        }
        let median = estimate(&[2.0, 4.0, 3.0]);
        assert_eq!((median.low, median.value, median.high), (2.0, 3.0, 4.0));
        assert!(noisy.high - noisy.low > calm.high - calm.low);
    }
}
