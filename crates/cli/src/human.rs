//! Numbers and names as people read them.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

pub use manyfiles_trace::human::{bytes, count};

/// `1 entry`, `83,731 entries`
pub fn entries(n: u64) -> String {
    if n == 1 { "1 entry".into() } else { format!("{} entries", count(n)) }
}

/// `0.71 s`, `12.4 s`, `3 min 05 s`, `2 h 10 min`
pub fn duration(time: Duration) -> String {
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
pub fn about(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => duration(Duration::from_secs(seconds)),
    }
}

/// `n` in `time`, by the second.
pub fn per_second(n: u64, time: Duration) -> u64 {
    (n as f64 / time.as_secs_f64().max(1e-6)) as u64
}

/// The text with its control characters escaped: a name in an archive must not move the cursor, nor fake a second line.
pub fn one_line(text: &str) -> Cow<'_, str> {
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
    fn a_name_cannot_move_the_cursor_or_start_a_line() {
        assert_eq!(one_line("a\n\x1b[2Jb\u{9b}é"), "a\\n\\u{1b}[2Jb\\u{9b}é");
        assert!(matches!(one_line("plain"), Cow::Borrowed(_)));
    }
}
