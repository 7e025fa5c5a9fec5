//! How many threads the `blocking` crate has, which are those of smol and async-std too.

use std::sync::OnceLock;

use crate::close::pool::THREADS;

/// How many of them may close at once: at most half. The drop of an async-std file waits for a write that another of these
/// threads has to make, so if all closed at once, none could go on.
pub(super) fn workers() -> usize {
    static WORKERS: OnceLock<usize> = OnceLock::new();
    *WORKERS.get_or_init(|| {
        let setting = std::env::var("BLOCKING_MAX_THREADS").ok().and_then(|threads| threads.parse().ok());
        share(setting)
    })
}

/// The crate's own reading of its setting: 1 to 10,000, and 500 without one.
fn share(setting: Option<usize>) -> usize {
    let threads = setting.map_or(500, |threads| threads.clamp(1, 10_000));
    (threads / 2).min(THREADS)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_threads_are_left_to_others() {
        let cases =
            [(None, 64), (Some(0), 0), (Some(1), 0), (Some(2), 1), (Some(7), 3), (Some(100), 50), (Some(20_000), 64)];
        for (setting, workers) in cases {
            assert_eq!(share(setting), workers, "{setting:?}");
        }
    }
}
