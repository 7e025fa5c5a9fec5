//! [`Observer`]: hears how far the measuring is.

use crate::step::Step;

/// Hears how far [`Options::run`](crate::Options::run) is, and may stop it.
pub trait Observer: Sync {
    /// A step begins; `done` of the whole work is behind, from 0 to 1.
    fn begins(&self, step: Step, threads: usize, done: f64);

    /// Whether to stop. Asked before each file.
    fn stopped(&self) -> bool;
}
