//! Numbers and names as people read them.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

pub(crate) use manyfiles_trace::human::{bytes, count, counted};

/// `1 entry`, `83,731 entries`
pub(crate) fn entries(n: u64) -> String {
    counted(n, "entry", "entries")
}

/// `0.71 s`, `12.4 s`, `3 min 05 s`, `2 h 10 min`
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_secs() {
        0..10 if seconds < 0.01 => format!("{:.1} ms", seconds * 1e3),
        0..10 => format!("{seconds:.2} s"),
        10..60 => format!("{seconds:.1} s"),
        whole @ 60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        whole => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// The same without fractions of a second, rounded up: `4 s`, `3 min 05 s`
pub(crate) fn about(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => duration(Duration::from_secs(seconds)),
    }
}

/// `n` in `time`, by the second.
pub(crate) fn per_second(n: u64, time: Duration) -> u64 {
    (n as f64 / time.as_secs_f64().max(1e-6)) as u64
}

/// `2026-11-22 10:12:06`, in the user's time zone. `None` for a time that no calendar has.
pub(crate) fn date(time: SystemTime) -> Option<String> {
    let (seconds, _) = since_1970(time)?;
    let utc = chrono::DateTime::from_timestamp(seconds, 0)?;
    Some(utc.with_timezone(&chrono::Local).format("%Y-%m-%d %H:%M:%S").to_string())
}

/// `2026-11-22T10:12:06Z`, with as many digits of the second as it has. `None` for a time that no calendar has.
pub(crate) fn utc(time: SystemTime) -> Option<String> {
    let (seconds, nanos) = since_1970(time)?;
    Some(chrono::DateTime::from_timestamp(seconds, nanos)?.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true))
}

/// Whole seconds since 1970, rounded to the past, and the nanoseconds after that.
pub(crate) fn since_1970(time: SystemTime) -> Option<(i64, u32)> {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => Some((i64::try_from(after.as_secs()).ok()?, after.subsec_nanos())),
        Err(before) => {
            let before = before.duration();
            let seconds = -i64::try_from(before.as_secs()).ok()?;
            match before.subsec_nanos() {
                0 => Some((seconds, 0)),
                nanos => Some((seconds.checked_sub(1)?, 1_000_000_000 - nanos)),
            }
        }
    }
}

/// The text with its control characters escaped: a name in an archive must not move the cursor, nor fake a second line.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let mut line = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c.is_control() {
            write!(line, "{}", c.escape_default()).expect("writing to a string");
        } else {
            line.push(c);
        }
    }
    line.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_entry_is_no_entries() {
        assert_eq!(entries(1), "1 entry");
        assert_eq!(entries(0), "0 entries");
        assert_eq!(entries(83_731), "83,731 entries");
    }

    #[test]
    fn durations_keep_the_digits_that_matter() {
        for (ms, text) in
            [(1, "1.0 ms"), (710, "0.71 s"), (12_400, "12.4 s"), (185_000, "3 min 05 s"), (7_800_000, "2 h 10 min")]
        {
            assert_eq!(duration(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn dates_before_1970_are_dates_and_those_beyond_all_calendars_are_none() {
        let year = |time| date(time).map(|date| date[..4].to_string());
        let day = Duration::from_secs(86_400);
        assert_eq!(year(SystemTime::UNIX_EPOCH + 40 * day).as_deref(), Some("1970"));
        assert_eq!(year(SystemTime::UNIX_EPOCH - 40 * day).as_deref(), Some("1969"));
        if let Some(beyond) = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(i64::MAX as u64 / 2)) {
            assert_eq!(date(beyond), None);
        }
    }

    #[test]
    fn a_name_cannot_move_the_cursor_or_start_a_line() {
        assert_eq!(one_line("a\n\x1b[2Jb\u{9b}é"), "a\\n\\u{1b}[2Jb\\u{9b}é");
        assert!(matches!(one_line("plain"), Cow::Borrowed(_)));
    }
}
