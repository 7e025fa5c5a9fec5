//! The last lines on standard error: how much was written where, how long it took, and what is missing.

use std::path::Path;
use std::time::Duration;

use super::{Outcome, hints};
use crate::args::Options;
use crate::human::{bytes, count, duration, entries, per_second};
use crate::sys::SIGTERM;

/// The lines, without the program's name.
pub fn lines(outcome: &Outcome, options: &Options) -> Vec<String> {
    let report = &outcome.report;
    let mut lines = vec![first(outcome)];
    match outcome.sources.iter().filter(|source| source.error.is_some()).count() {
        0 => {}
        n => lines.push(format!(
            "{} of {} {} could not be read to the end, as said above; what came before stays",
            count(n as u64),
            count(outcome.sources.len() as u64),
            outcome.words.sources
        )),
    }
    if report.skipped > 0 {
        lines.push(format!(
            "{} skipped: their names were taken, or their content was there already",
            entries(report.skipped)
        ));
    }
    if !report.renamed.is_empty() {
        lines.push(format!("{} written under another name", entries(report.renamed.len() as u64)));
        if options.verbose > 0 {
            lines.extend(report.renamed.iter().map(|(from, to)| format!("  {} is {}", from.display(), to.display())));
        }
    }
    match report.failures.len() as u64 {
        0 => {}
        failed => lines.push(format!("{} failed or refused, each named above", count(failed))),
    }
    lines.extend(hints::for_failures(&report.failures, options).into_iter().map(String::from));
    if options.verbose > 0 {
        lines.push(how_the_time_was_spent(outcome));
    }
    lines
}

/// `unpacked 83,731 entries, 1.36 GB in 0.71 s (118,000 entries and 1.90 GB a second) into DIR`
fn first(outcome: &Outcome) -> String {
    let written = written(outcome);
    let (amount, root) = (format!("{}, {}", entries(written), bytes(outcome.report.bytes)), name(&outcome.root));
    match outcome.signal {
        None => {
            format!("{} {amount} in {}{} into {root}", outcome.words.done, duration(outcome.elapsed), rates(outcome))
        }
        Some(signal) => format!(
            "{} after {}: {amount} are complete in {root}; {} more had been read and not written, the rest was not read",
            if signal == SIGTERM { "terminated" } else { "interrupted" },
            duration(outcome.elapsed),
            count(outcome.report.not_written),
        ),
    }
}

/// Of runs that are too short to tell: nothing.
fn rates(outcome: &Outcome) -> String {
    if outcome.elapsed < Duration::from_millis(10) {
        return String::new();
    }
    let entries = count(per_second(written(outcome), outcome.elapsed));
    format!(" ({entries} entries and {} a second)", bytes(per_second(outcome.report.bytes, outcome.elapsed)))
}

fn written(outcome: &Outcome) -> u64 {
    let report = &outcome.report;
    report.files + report.folders + report.symlinks + report.hard_links + report.nodes
}

fn name(root: &Path) -> String {
    match root.as_os_str().is_empty() || root == Path::new(".") {
        true => "the current folder".into(),
        false => root.display().to_string(),
    }
}

fn how_the_time_was_spent(outcome: &Outcome) -> String {
    let times = &outcome.report.times;
    format!(
        "time in system calls, all threads together: open {}, write {}, sync {}, close {}, folders {}, permissions and \
         times {}; \
         {} files, {} folders, {} symbolic links, {} hard links, {} devices and FIFOs; at most {} threads at once",
        duration(times.open),
        duration(times.write),
        duration(times.sync),
        duration(times.close),
        duration(times.folders),
        duration(times.metadata),
        count(outcome.report.files),
        count(outcome.report.folders),
        count(outcome.report.symlinks),
        count(outcome.report.hard_links),
        count(outcome.report.nodes),
        outcome.report.peak_threads,
    )
}
