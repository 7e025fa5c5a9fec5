//! Times: of files, and now.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windows_sys::Win32::Storage::FileSystem::FILE_BASIC_INFO;
use windows_sys::Win32::System::SystemInformation::GetTickCount64;

use super::Handle;
use super::information::set;

/// `None` stays as it is.
pub(crate) fn set_times(file: &Handle, modified: Option<SystemTime>, accessed: Option<SystemTime>) -> io::Result<()> {
    let time = |time: Option<SystemTime>| time.map_or(0, file_time); // Zero leaves it as it is.
    let times = FILE_BASIC_INFO { LastWriteTime: time(modified), LastAccessTime: time(accessed), ..Default::default() };
    set(file, &times)
}

/// Milliseconds on a clock that never goes back. It steps every 16 ms or so, and reading it takes a few ns.
pub(crate) fn coarse_milliseconds() -> u64 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { GetTickCount64() }
}

/// 1601 is this much before 1970.
const EPOCH: Duration = Duration::from_secs(11_644_473_600);

/// Units of 100 ns since 1601, not before its first.
pub(super) fn file_time(time: SystemTime) -> i64 {
    let since_1601 = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => EPOCH.saturating_add(after),
        Err(before) => EPOCH.saturating_sub(before.duration()),
    };
    // Zero would mean "as it is".
    i64::try_from(since_1601.as_nanos() / 100).unwrap_or(i64::MAX).max(1)
}

pub(super) fn system_time(time: i64) -> SystemTime {
    let time = u64::try_from(time).unwrap_or(0);
    let since_1601 = Duration::new(time / 10_000_000, (time % 10_000_000) as u32 * 100);
    let base = UNIX_EPOCH.checked_sub(EPOCH).unwrap_or(UNIX_EPOCH);
    base.checked_add(since_1601).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_were_and_none_means_unchanged() {
        let milli = Duration::from_millis(1500);
        for time in [UNIX_EPOCH, UNIX_EPOCH - milli, UNIX_EPOCH + milli, UNIX_EPOCH + Duration::from_secs(1 << 33)] {
            assert_eq!(system_time(file_time(time)), time);
        }
        assert_eq!(file_time(UNIX_EPOCH), 116_444_736_000_000_000);
        assert_eq!(file_time(system_time(0)), 1);
    }
}
