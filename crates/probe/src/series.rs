//! [`Series`]: the times of one step.

use std::time::Duration;

use manyfiles_measure::Samples;

use crate::step::Step;

/// One step's work, by one thread or by many.
#[derive(Clone, Debug)]
pub struct Series {
    /// What was done to each file.
    pub step: Step,
    /// How many threads did it at once.
    pub threads: usize,
    /// To how many files.
    pub files: u64,
    /// How long all that took.
    pub elapsed: Duration,
    /// Each call's times, in the order of the calls.
    pub operations: Vec<(&'static str, Samples)>,
}

impl Series {
    /// The time from one finished file to the next.
    pub fn per_file(&self) -> Duration {
        self.elapsed.div_f64(self.files.max(1) as f64)
    }

    /// Files a second.
    pub fn rate(&self) -> f64 {
        self.files as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The times of one call.
    pub fn of(&self, operation: &str) -> Option<&Samples> {
        self.operations.iter().find(|(name, _)| *name == operation).map(|(_, samples)| samples)
    }
}
