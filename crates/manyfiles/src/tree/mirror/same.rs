//! Whether two files count as the same: by their times, and by their bytes.

use std::ffi::OsStr;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Mirror;
use crate::error::Cancelled;
use crate::sys::{Dir, Stat};
use crate::tree::engine::read_full;

/// Bytes of two files that are compared at a time.
const PIECE: usize = 128 << 10;

/// How exactly file systems keep times, in nanoseconds: FAT, ext3 and HFS+, exFAT, most others that came from Windows
/// or over a network.
const STEPS: [i128; 5] = [2_000_000_000, 1_000_000_000, 10_000_000, 1_000, 100];

/// Whether a file of the target has the time of its source, as exactly as its file system keeps times.
///
/// Nothing says how exactly that is. But such a file system keeps the time of the file's own last change no better: if
/// both are whole seconds, say, it has no parts of seconds. By accident that is so once in some hundred times, and what
/// follows from the accident is little: a change of less than a second goes unnoticed if the length stays the same.
pub(super) fn is_same_time(source: SystemTime, there: &Stat, is_known_as_coarse: bool) -> bool {
    if source == there.modified {
        return true;
    }
    let (source, modified, changed) = (nanoseconds(source), nanoseconds(there.modified), nanoseconds(there.changed));
    let apart = (source - modified).abs();
    let is_whole = |time: i128, step: i128| time.rem_euclid(step) == 0;
    STEPS
        .iter()
        .any(|&step| apart < step && is_whole(modified, step) && (is_known_as_coarse || is_whole(changed, step)))
}

/// What file systems make of a time: the keys under which a file with this time may be found.
pub(super) fn kept_as(time: SystemTime) -> impl Iterator<Item = i128> {
    let exact = nanoseconds(time);
    std::iter::once(exact).chain(STEPS.into_iter().rev().map(move |step| exact.div_euclid(step) * step))
}

pub(super) fn nanoseconds(time: SystemTime) -> i128 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    }
}

/// Whether both files have the same bytes. An error is the source's if it says so.
pub(super) fn is_same_content(
    (source, name): (&Dir, &OsStr),
    (target, other_name): (&Dir, &OsStr),
    how: &Mirror,
    buffer: &mut Vec<u8>,
) -> Result<bool, (bool, io::Error)> {
    let of_source = |cause| (true, cause);
    let of_target = |cause| (false, cause);
    let ours = source.open_regular(name).map_err(of_source)?;
    let theirs = target.open_regular(other_name).map_err(of_target)?;
    buffer.resize(2 * PIECE, 0);
    let (one, other) = buffer.split_at_mut(PIECE);
    loop {
        let read = read_full(&ours, one).map_err(of_source)?;
        let other_read = read_full(&theirs, other).map_err(of_target)?;
        if one[..read] != other[..other_read] {
            return Ok(false);
        }
        if read < PIECE {
            return Ok(true);
        }
        if how.is_cancelled() {
            return Err((true, io::Error::other(Cancelled)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_is_the_same_as_exactly_as_its_file_system_keeps_times() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("f"), "").unwrap();
        let stat = Dir::open_root(temp.path()).unwrap().stat(OsStr::new("f")).unwrap();
        let at = |seconds: u64, nanoseconds: u32| UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        let there = |modified, changed| Stat { modified, changed, ..stat };
        let whole = there(at(100, 0), at(200, 0));
        assert!(is_same_time(at(100, 999_999_999), &whole, false), "whole seconds");
        assert!(!is_same_time(at(102, 0), &whole, false) && !is_same_time(at(103, 5), &whole, false));
        let fine = there(at(100, 0), at(200, 123_456_789));
        // Windows keeps times of 100 ns.
        assert!(!is_same_time(at(100, 300), &fine, false) && is_same_time(at(100, 0), &fine, false));
        assert!(is_same_time(at(101, 5), &fine, true), "FAT, whose kind is known");
        assert!(!is_same_time(at(101, 500), &there(at(101, 0), at(101, 251_234_567)), false));
        let windows = there(at(100, 123_456_700), at(200, 100));
        assert!(is_same_time(at(100, 123_456_789), &windows, false));
        assert!(!is_same_time(at(100, 123_456_900), &windows, false));
        let early = UNIX_EPOCH - Duration::new(5, 500_000_000);
        assert!(is_same_time(early, &there(UNIX_EPOCH - Duration::from_secs(6), at(200, 0)), false), "before 1970");
        assert!(kept_as(early).any(|it| it == -6_000_000_000));
    }
}
