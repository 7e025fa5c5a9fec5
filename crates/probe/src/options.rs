//! [`Options`]: what can be chosen, and the start.

use std::path::Path;
use std::time::Duration;

use manyfiles_measure::{Failure, Place, Scratch, noise};

use crate::advice;
use crate::findings::Findings;
use crate::measure;
use crate::observer::Observer;

/// What to measure with: `Options::new().time(…).run(…)`.
#[derive(Clone, Debug)]
pub struct Options {
    time: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

impl Options {
    /// Five seconds.
    pub const fn new() -> Options {
        Options { time: Duration::from_secs(5) }
    }

    /// How long to measure, all steps together. Making room before and tidying up after come on top.
    pub const fn time(mut self, time: Duration) -> Options {
        self.time = time;
        self
    }

    /// Measures in a folder of its own below `dir`, which is removed again.
    ///
    /// # Errors
    /// The first call that failed, with its path; what was written is removed even then.
    pub fn run(&self, dir: &Path, observer: &dyn Observer) -> Result<Findings, Failure> {
        let place = Place::of(dir)?;
        let files = measure::Amount::fitting(place.free_bytes)?;
        let scratch = Scratch::below(dir, ".manyfiles-probe-")?;
        let before = noise::taken_by_others();
        let measured = measure::all(scratch.path(), self.time, files, observer);
        let after = noise::taken_by_others();
        let removed = scratch.remove();
        let series = measured?;
        removed?;
        let advice = advice::advise(&series, &place);
        Ok(Findings { place, series, advice, taken_by_others: before.max(after) })
    }
}
