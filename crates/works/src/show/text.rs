//! The tables, for a terminal of 80 columns or more.

use std::fmt::Write;

use manyfiles_measure::stats::CONFIDENCE;

use crate::{Results, Row, Table};

impl Results {
    /// Each work with its entrants, and then what was left out.
    pub fn to_text(&self) -> String {
        let mut text = self.place.to_string();
        if let Some(wait) = self.options.simulate_close {
            writeln!(text, "Closing a file takes {} ms longer here: simulated.", wait.as_millis())
                .expect("into a string");
        }
        for table in &self.tables {
            text.push('\n');
            text += &table.to_text();
        }
        if !self.tables.is_empty() {
            text += "\nMedians. × is how many times as fast as the first line, and in brackets its 95 % confidence interval.\n";
        }
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        let least = rows.filter_map(|row| row.factor).map(|it| it.confidence).fold(1.0, f64::min);
        if least < CONFIDENCE {
            let least = least * 100.0;
            writeln!(
                text,
                "With fewer than six rounds it covers less, down to {least:.0} %: give more time with --seconds."
            )
            .expect("into a string");
        }
        if self.tables.iter().any(|table| table.noise().is_some()) {
            text += "The machine was too busy for what is marked with “!”: measure again when it is quiet.\n";
        }
        for left_out in &self.left_out {
            writeln!(text, "Left out: {}: {}.", left_out.what, left_out.why).expect("into a string");
        }
        text
    }
}

impl Table {
    fn to_text(&self) -> String {
        let mut text = format!("{} ({} rounds)\n", self.work, self.rounds);
        for row in &self.rows {
            let line = self.line(row);
            writeln!(text, "  {}", line.trim_end()).expect("into a string");
            if let Some(problem) = row.problems.first() {
                writeln!(text, "    {} of its runs failed; {}", row.problems.len(), problem.replace('\n', " "))
                    .expect("into a string");
            }
        }
        if let Some(noise) = self.noise() {
            writeln!(text, "  ! {noise}").expect("into a string");
        }
        text
    }

    fn line(&self, row: &Row) -> String {
        let Some(seconds) = row.seconds else { return format!("{:<29} no time", row.name) };
        let factor = row.factor.map_or(String::new(), |factor| {
            let verdict = match factor.value {
                _ if row.is_even() => "no clear difference",
                ..1.0 => "slower",
                _ => "",
            };
            let [value, low, high] = [factor.value, factor.low, factor.high].map(short);
            format!("{value:>5} × ({low}–{high}) {verdict}")
        });
        format!("{:<29} {:>9} {:>16}  {factor}", row.name, time(seconds.value), self.rate(seconds.value))
    }

    fn rate(&self, seconds: f64) -> String {
        let rate = self.amount / seconds.max(1e-9);
        match self.unit {
            "bytes" if rate >= 10e6 => format!("{:.0} MB/s", rate / 1e6),
            "bytes" => format!("{:.2} MB/s", rate / 1e6),
            unit => format!("{} {unit}/s", grouped(rate)),
        }
    }
}

/// Three digits or so: what a median of some rounds is good for.
fn short(factor: f64) -> String {
    match factor {
        100.0.. => format!("{factor:.0}"),
        10.0.. => format!("{factor:.1}"),
        _ => format!("{factor:.2}"),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        1e-3.. => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.1} µs", seconds * 1e6),
    }
}

/// Rounded to three digits, in groups of three.
fn grouped(value: f64) -> String {
    let unit = 10_f64.powi((value.max(1.0).log10().floor() as i32 - 2).max(0));
    let digits = format!("{:.0}", (value / unit).round() * unit);
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_mean_something() {
        for (rate, text) in [(7.4, "7"), (123.4, "123"), (98_765.0, "98,800"), (1_234_567.0, "1,230,000")] {
            assert_eq!(grouped(rate), text);
        }
        for (seconds, text) in [(2.345, "2.35 s"), (0.0234, "23.4 ms"), (0.0004, "400.0 µs")] {
            assert_eq!(time(seconds), text);
        }
        assert_eq!([0.987, 12.34, 340.2].map(short), ["0.99", "12.3", "340"]);
    }
}
