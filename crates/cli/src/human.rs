//! Numbers and names as people read them.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

/// `83,731`
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 entry`, `83,731 entries`
pub fn entries(n: u64) -> String {
    if n == 1 { "1 entry".into() } else { format!("{} entries", count(n)) }
}

/// `1.36 GB`: three digits, units of 1000.
pub fn bytes(n: u64) -> String {
    let (mut value, mut unit) = (n as f64, 0);
    // What would round to 1000 is 1.00 of the next unit.
    while value >= 999.5 {
        value /= 1000.0;
        unit += 1;
    }
    let unit = ["B", "kB", "MB", "GB", "TB", "PB", "EB"][unit];
    match value {
        _ if n < 1000 => format!("{n} B"),
        v if v < 9.995 => format!("{v:.2} {unit}"),
        v if v < 99.95 => format!("{v:.1} {unit}"),
        v => format!("{v:.0} {unit}"),
    }
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
    fn counts_are_grouped_by_thousands() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (83_731, "83,731"), (1_234_567, "1,234,567")] {
            assert_eq!(count(n), text);
        }
        assert_eq!(entries(1), "1 entry");
        assert_eq!(entries(0), "0 entries");
    }

    #[test]
    fn sizes_have_three_digits_and_a_unit() {
        for (n, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (999_499, "999 kB"),
            (999_600, "1.00 MB"),
            (35_100_000, "35.1 MB"),
            (1_360_000_000, "1.36 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(n), text, "{n}");
        }
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
