//! [`Random`]: what chance decides in the model, the same for the same seed.

/// A generator of numbers, the same for the same seed: Knuth's MMIX, upper bits.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0 >> 16 << 16) * u128::from(limit)) >> 64) as u64
    }

    /// True once in `n` times, on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

impl Default for Random {
    fn default() -> Random {
        Random(1)
    }
}
