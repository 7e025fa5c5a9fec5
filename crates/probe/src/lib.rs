//! What many files cost on one file system: measured there, shown, and explained.
//!
//! [`Options::run`] writes some thousand small files in a folder of its own below the one it is given, with one thread
//! and with many, and times every call. [`Findings`] hold every time; [`Advice`] says in words what is slow, what
//! helps, and by how much, where the probe measured that. The files are removed before it returns, also where it fails
//! or is stopped.
//!
//! - **Bounded**: by the seconds it is given, 24,000 files of 4 KiB at most, and an eighth of the free space.
//! - **Nothing is estimated**: each factor is the ratio of two things that were measured there.

#![deny(unsafe_code)]

mod advice;
mod findings;
mod measure;
mod observer;
mod options;
mod series;
mod show;
mod step;

pub use advice::Advice;
pub use findings::Findings;
pub use manyfiles_measure::{Failure, Place, Samples};
pub use measure::LEAST_SPACE;
pub use observer::Observer;
pub use options::Options;
pub use series::Series;
pub use step::Step;
