//! Waiting awake, for what comes within microseconds.

use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_micros(10);

/// Lets other threads run for some microseconds, without going to sleep if there are none.
pub(super) fn look_away() {
    let begun = Instant::now();
    while begun.elapsed() < LOOK {
        std::thread::yield_now();
    }
}
