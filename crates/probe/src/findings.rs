//! What was found.

use manyfiles_measure::{Place, noise};

use crate::advice::Advice;
use crate::series::Series;

/// Everything that a probe found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Where.
    pub place: Place,
    /// What was done, in the order in which it was.
    pub series: Vec<Series>,
    /// What is slow, and what helps; empty where nothing is.
    pub advice: Vec<Advice>,
    /// The share of the time, from 0 to 1, in which other programs had the processor that this one wanted, before or
    /// after.
    pub taken_by_others: f64,
}

impl Findings {
    /// Whether other programs took so much of the processor that the times say little about the file system.
    pub fn is_noisy(&self) -> bool {
        self.taken_by_others >= noise::NOISY
    }
}
