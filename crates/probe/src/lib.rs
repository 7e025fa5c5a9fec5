//! What many files cost on one file system: measured there, shown, and explained.
//!
//! [`probe`] writes some thousand small files in a folder of its own below the one it is given, with one thread and with many, and
//! times every call. [`Findings`] hold every time; [`Advice`] says in words what is slow and what helps, by how
//! much where that was measured too. The files are gone when it returns, also where it fails or is stopped.
//!
//! - **Bounded**: by the seconds it is given, 24,000 files of 4 KiB at most, and an eighth of the free space.
//! - **Nothing is estimated**: each factor is the ratio of two things that were measured there.

#![deny(unsafe_code)]

mod advice;
mod findings;
mod measure;
mod show;

use std::path::Path;
use std::time::Duration;

use manyfiles_measure::{Scratch, noise};

pub use advice::Advice;
pub use findings::{Findings, Series};
pub use manyfiles_measure::{Failure, Place, Samples};
pub use measure::{LEAST_SPACE, Step};

/// What can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long to measure, all steps together. Making room before and tidying up after come on top.
    pub time: Duration,
}

impl Default for Options {
    /// Five seconds.
    fn default() -> Options {
        Options { time: Duration::from_secs(5) }
    }
}

/// Hears how far a [`probe`] is, and may stop it.
pub trait Observer: Sync {
    /// A step begins; `done` of the whole work is behind, from 0 to 1.
    fn begins(&self, step: Step, threads: usize, done: f64);

    /// Whether to stop. Asked before each file.
    fn stopped(&self) -> bool;
}

/// Measures in a folder of its own below `dir`, which is removed again.
///
/// # Errors
/// The first call that failed, with its path; what was written is removed even then.
pub fn probe(dir: &Path, options: &Options, observer: &dyn Observer) -> Result<Findings, Failure> {
    let place = Place::of(dir)?;
    let files = measure::Amount::fitting(place.free_bytes)?;
    let scratch = Scratch::below(dir, ".manyfiles-probe-")?;
    let before = noise::taken_by_others();
    let measured = measure::all(scratch.path(), options.time, files, observer);
    let after = noise::taken_by_others();
    let removed = scratch.remove();
    let series = measured?;
    removed?;
    let advice = advice::advise(&series, &place);
    Ok(Findings { place, series, advice, taken_by_others: before.max(after) })
}
