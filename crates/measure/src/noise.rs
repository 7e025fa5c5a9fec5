//! Whether the machine is quiet enough for times to mean something.

use std::time::{Duration, Instant};

/// How long to look, each time.
const LOOK: Duration = Duration::from_millis(25);

/// A thread that only reads the clock sees it go on by less than this, unless it has lost the processor.
const GAP: Duration = Duration::from_micros(200);

/// From this share on, times are more about other programs than about the file system.
pub const NOISY: f64 = 0.1;

/// The share of the time, from 0 to 1, in which a thread that never waits does not have a processor.
pub fn taken_by_others() -> f64 {
    let begun = Instant::now();
    let (mut last, mut lost) = (begun, Duration::ZERO);
    while last - begun < LOOK {
        let now = Instant::now();
        if now - last >= GAP {
            lost += now - last;
        }
        last = now;
    }
    lost.div_duration_f64(last - begun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_share() {
        let share = taken_by_others();
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}
