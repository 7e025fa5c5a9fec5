//! What the project's measurements share: `probe`, `bench` and the benchmarks against peers.
//!
//! - [`contest`]: entrants take turns round by round, each output is checked, the first round warms up.
//! - [`stats`]: medians, and how far to trust them. [`chart`] draws them, [`curves`] what changes over time.
//! - [`noise`]: whether other programs were in the way.
//! - [`Samples`]: every time that one call took.
//! - [`Place`]: what file system a folder is on. [`Scratch`]: a folder there that is gone at the end.

#![deny(unsafe_code)]

pub mod chart;
pub mod contest;
mod cpu;
pub mod curves;
pub mod noise;
mod place;
mod samples;
mod scratch;
pub mod stats;

pub use cpu::cpu_seconds;
pub use place::Place;
pub use samples::Samples;
pub use scratch::{Scratch, remove_tree};

/// Why there is nothing to tell.
#[derive(Debug)]
pub enum Failure {
    /// A call failed that has to work.
    Failed(manyfiles::Error),
    /// There is too little room to measure: this many bytes are free.
    NoSpace(u64),
    /// The observer stopped it.
    Stopped,
}

impl From<manyfiles::Error> for Failure {
    fn from(error: manyfiles::Error) -> Failure {
        Failure::Failed(error)
    }
}
