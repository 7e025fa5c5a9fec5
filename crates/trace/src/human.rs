//! Numbers as people read them.

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

/// `1 file`, `83,731 files`
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
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
        v => format!("{} {unit}", three_digits(v)),
    }
}

/// `410 ns`, `12.0 µs`, `1.23 ms`, `2.05 s`, `3,600 s`: three digits.
pub fn time(nanos: u64) -> String {
    let (mut value, mut unit) = (nanos as f64, 0);
    while value >= 999.5 && unit < 3 {
        value /= 1000.0;
        unit += 1;
    }
    match (nanos, unit) {
        (_, 0) => format!("{nanos} ns"),
        (_, 3) if value >= 999.5 => format!("{} s", count(value.round() as u64)),
        _ => format!("{} {}", three_digits(value), ["ns", "µs", "ms", "s"][unit]),
    }
}

/// Seconds with `digits` digits after the point, cut and not rounded: a sum has no more digits than its parts.
pub fn seconds(nanos: u64, digits: u8) -> String {
    let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    match usize::from(digits.min(9)) {
        0 => whole.to_string(),
        digits => format!("{whole}.{}", &format!("{part:09}")[..digits]),
    }
}

/// `37.2 %`, of a whole that may be nothing.
pub fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".into(),
        _ => format!("{:.1} %", part as f64 / whole as f64 * 100.0),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (83_731, "83,731"), (1_234_567, "1,234,567")] {
            assert_eq!(count(n), text);
        }
        assert_eq!(counted(1, "file", "files"), "1 file");
        assert_eq!(counted(2300, "file", "files"), "2,300 files");
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
    fn times_have_three_digits_and_a_unit() {
        for (nanos, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1000, "1.00 µs"),
            (12_000, "12.0 µs"),
            (999_700, "1.00 ms"),
            (2_050_000_000, "2.05 s"),
            (999_600_000_000, "1,000 s"),
            (3_600_000_000_000, "3,600 s"),
        ] {
            assert_eq!(time(nanos), text, "{nanos}");
        }
    }

    #[test]
    fn exact_seconds_show_what_the_trace_had_and_no_more() {
        assert_eq!(seconds(1_000_123_000, 6), "1.000123");
        assert_eq!(seconds(1_000_123_999, 6), "1.000123");
        assert_eq!(seconds(5, 9), "0.000000005");
        assert_eq!(seconds(3_000_000_000, 0), "3");
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(1, 0), "–");
    }
}
