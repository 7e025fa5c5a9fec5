//! Times: of files, and now.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Timespec, Timestamps};
use rustix::io::retry_on_intr as again;

use super::Handle;

/// `None` stays as it is.
pub(crate) fn set_times(file: &Handle, modified: Option<SystemTime>, accessed: Option<SystemTime>) -> io::Result<()> {
    let times = timestamps(modified, accessed);
    Ok(again(|| rustix::fs::futimens(file, &times))?)
}

/// `None` stays as it is.
pub(super) fn timestamps(modified: Option<SystemTime>, accessed: Option<SystemTime>) -> Timestamps {
    let omit = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT as _ };
    Timestamps { last_access: accessed.map_or(omit, timespec), last_modification: modified.map_or(omit, timespec) }
}

fn timespec(time: SystemTime) -> Timespec {
    let (seconds, nanoseconds) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, |seconds| -seconds);
            match before.subsec_nanos() {
                0 => (seconds, 0),
                nanoseconds => (seconds.saturating_sub(1), 1_000_000_000 - nanoseconds),
            }
        }
    };
    Timespec { tv_sec: seconds as _, tv_nsec: nanoseconds as _ }
}

pub(super) fn system_time(seconds: i64, nanoseconds: u32) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let base = if seconds >= 0 { UNIX_EPOCH.checked_add(whole) } else { UNIX_EPOCH.checked_sub(whole) };
    base.and_then(|base| base.checked_add(Duration::from_nanos(nanoseconds.into()))).unwrap_or(UNIX_EPOCH)
}

/// Milliseconds on a clock that never goes back. It steps with the kernel's ticks, every 1 to 10 ms, and reading it
/// takes 5 ns, where the exact one takes 25 to 40.
#[cfg(target_os = "linux")]
#[cfg_attr(loom, allow(dead_code, reason = "no time passes in a model"))]
pub(crate) fn coarse_milliseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    now.tv_sec as u64 * 1_000 + now.tv_nsec as u64 / 1_000_000
}

/// Needs Linux; the exact clock, then.
#[cfg(not(target_os = "linux"))]
pub(crate) fn coarse_milliseconds() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_round_towards_the_past_as_the_system_counts_them() {
        for (seconds, nanoseconds) in [(0, 0), (1, 5), (-1, 0), (-1, 999_999_999), (-86_400, 1)] {
            let stamps = timestamps(Some(system_time(seconds, nanoseconds)), None);
            assert_eq!(i128::from(stamps.last_modification.tv_sec), i128::from(seconds));
            assert_eq!(i128::from(stamps.last_modification.tv_nsec), i128::from(nanoseconds));
        }
    }
}
