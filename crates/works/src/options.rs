//! What can be chosen for [`bench`](crate::bench()), and what hears of its course.

use std::time::Duration;

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Counted rounds of each work, where the time suffices. At least [`LEAST_ROUNDS`].
    pub rounds: usize,
    /// When to end, all works together. Tidying up afterwards comes on top.
    pub time: Duration,
    /// Works whose name doesn't contain this are left out.
    pub only: String,
    /// Let closing a file take so much longer, where that is possible: see [`Work::closes_can_be_simulated`](crate::Work::closes_can_be_simulated).
    pub simulate_close: Option<Duration>,
}

/// A median of fewer rounds says nothing.
pub const LEAST_ROUNDS: usize = 3;

impl Default for Options {
    /// Seven rounds of everything, a minute.
    fn default() -> Options {
        Options { rounds: 7, time: Duration::from_secs(60), only: String::new(), simulate_close: None }
    }
}

/// Hears how far [`bench`](crate::bench()) is, and may stop it.
pub trait Observer: Sync {
    /// A run begins; round 0 warms up. `done` of the whole time may be behind, from 0 to 1.
    fn begins(&self, work: &str, entrant: &str, round: usize, done: f64);

    /// Whether to stop. Asked several times a second, from another thread.
    fn stopped(&self) -> bool;
}
