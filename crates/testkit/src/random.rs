//! [`Random`]: the same numbers for the same seed, on every machine.

/// SplitMix64: small, fast, and good enough to choose tests with. Not for secrets.
///
/// ```
/// use manyfiles_testkit::Random;
/// let (mut one, mut other) = (Random::new(7), Random::new(7));
/// assert_eq!(one.next(), other.next());
/// assert!(one.below(10) < 10);
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Any number.
    #[allow(clippy::should_implement_trait)] // It has no end, so an `Option` would be of no use.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// True in `of_hundred` of a hundred cases, on average.
    pub fn percent(&mut self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// The seeds of a test that makes `usual` [`cases`], from `first` on: the same every time. `MANYFILES_SEED` is one to try
/// alone, `MANYFILES_FIRST_SEED` another one to begin with.
pub fn seeds(first: u64, usual: u32) -> std::ops::Range<u64> {
    let number = |name| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
    };
    if let Some(alone) = number("MANYFILES_SEED") {
        return alone..alone + 1;
    }
    let first = number("MANYFILES_FIRST_SEED").unwrap_or(first);
    first..first + u64::from(cases(usual))
}

/// How many random cases a test makes: so many as it names, or those times `MANYFILES_CASES`. A night takes more than a
/// test command has time for.
pub fn cases(usual: u32) -> u32 {
    let times = std::env::var("MANYFILES_CASES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    usual.saturating_mul(times)
}
