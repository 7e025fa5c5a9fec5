//! The table, with a small histogram in each line, and the advice below.

use std::fmt::Write;

use super::{DECADES, PER_DECADE, bucket_ends};
use crate::advice::short;
use crate::{Findings, Samples, Series};

/// From nothing to most.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Findings {
    /// For a terminal of 100 columns or more.
    pub fn to_text(&self) -> String {
        let mut text = self.place.to_string();
        writeln!(text, "\n{:<15} {:>8} {:>8} {:>8} {:>8}   {}", "", "median", "90 %", "99 %", "longest", axis())
            .expect("into a string");
        for series in &self.series {
            text += &series.to_text();
        }
        text.push('\n');
        if self.is_noisy() {
            writeln!(
                text,
                "The machine is busy: other programs had the processor {:.0} % of the time. Measure again when it is \
                 quiet.",
                self.taken_by_others * 100.0
            )
            .expect("into a string");
        }
        if self.advice.is_empty() {
            text += "Nothing is slow here: no setting of manyfiles changes what a file costs by much.\n";
        }
        for advice in &self.advice {
            writeln!(
                text,
                "Slow: {}.\n  Use {}.\n  Here that is {:.1} times as fast.",
                advice.slow, advice.use_this, advice.factor
            )
            .expect("into a string");
        }
        text
    }
}

impl Series {
    fn to_text(&self) -> String {
        let threads = if self.threads == 1 { String::new() } else { format!(", {} threads", self.threads) };
        let mut text =
            format!("{}{threads}: {} files, {} each\n", self.step.name(), self.files, short(self.per_file()));
        for (name, samples) in &self.operations {
            writeln!(text, "{}", line(name, samples)).expect("into a string");
        }
        text
    }
}

fn line(name: &str, samples: &Samples) -> String {
    let [median, most, nearly_all, longest] = [0.5, 0.9, 0.99, 1.0].map(|share| short(samples.quantile(share)));
    let buckets = samples.buckets(&bucket_ends());
    let tallest = buckets.iter().copied().max().unwrap_or(1).max(1);
    let bars: String = buckets.iter().map(|&count| BARS[(count * 8).div_ceil(tallest)]).collect();
    format!("  {name:<13} {median:>8} {most:>8} {nearly_all:>8} {longest:>8}   {}", bars.trim_end())
}

/// The times at which decades begin, above the histograms.
fn axis() -> String {
    let labels = ["100ns", "1µs", "10µs", "100µs", "1ms", "10ms", "100ms"];
    debug_assert_eq!(labels.len() as u32, DECADES);
    let width = PER_DECADE as usize;
    // Labels are longer than a decade: every second one.
    labels.iter().step_by(2).map(|label| format!("{label:<0$}", 2 * width)).collect::<String>().trim_end().to_owned()
}
