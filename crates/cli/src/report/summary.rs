//! The last lines on standard error: how much was written where, how long it took, and what is missing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use manyfiles::tree::NotKept;

use super::hints;
use super::outcome::Outcome;
use manyfiles::tree::Report;

use crate::args::Options;
use crate::human::{bytes, count, counted, duration, entries, per_second};
use crate::sys::{SIGHUP, SIGPIPE, SIGTERM};

/// The lines, without the program's name.
pub(super) fn lines(outcome: &Outcome, options: &Options) -> Vec<String> {
    let report = &outcome.report;
    let mut lines = vec![first(outcome)];
    match outcome.read.sources.iter().filter(|source| source.error.is_some()).count() {
        0 => {}
        n => lines.push(format!(
            "{} of {} {} could not be read to the end, as said above{}",
            count(n as u64),
            count(outcome.read.sources.len() as u64),
            outcome.words.sources,
            if written(outcome) == 0 { "" } else { "; what came before stays" },
        )),
    }
    let damage = outcome.read.sources.iter().map(|source| source.damage).sum();
    if damage > 0 {
        lines.push(format!(
            "{} damaged, as said above; what was behind is unpacked as far as it was found",
            counted(damage, "place is", "places are")
        ));
    }
    lines.extend(sharing(report, options));
    lines.extend(resumed(report));
    if report.skipped > 0 {
        let theirs = if report.skipped == 1 { "its name was taken, or it" } else { "their names were taken, or they" };
        let was = if report.skipped == 1 { "was" } else { "were" };
        lines.push(format!("{} skipped: {theirs} {was} there already", entries(report.skipped)));
    }
    if !report.renamed.is_empty() {
        lines.push(format!("{} written under another name", entries(report.renamed.len() as u64)));
        if options.verbose > 0 {
            lines.extend(report.renamed.iter().map(|(from, to)| format!("  {} is {}", from.display(), to.display())));
        }
    }
    lines.extend(sockets(&outcome.read.sockets));
    if outcome.read.rooted > 0 {
        lines.push(format!("{} had absolute paths, which were taken as relative", entries(outcome.read.rooted)));
    }
    if outcome.read.other_owners > 0 {
        lines.push(format!(
            "{} had other owners, and {} yours now{}; --same-owner keeps owners",
            entries(outcome.read.other_owners),
            if outcome.read.other_owners == 1 { "is" } else { "are" },
            if report.shared > 0 { ", unless shared with their source" } else { "" },
        ));
    }
    let hint = match (outcome.words.command, outcome.read.keeps_attributes) {
        ("copy", _) => "; -a keeps them",
        (_, true) => "",
        (_, false) => "; --xattrs and --acls keep them",
    };
    lines.extend(attributes(outcome.read.with_attributes, hint));
    lines.extend(not_kept(&report.not_kept));
    match (report.failures.len() as u64, outcome.each_is_named) {
        (0, _) => {}
        (failed, true) => lines.push(format!("{} failed or refused, each named above", count(failed))),
        (failed, false) => {
            lines.push(format!("{} failed or refused, the first of each cause named above", count(failed)))
        }
    }
    lines.extend(hints::for_failures(&report.failures, options).into_iter().map(String::from));
    if options.verbose > 0 {
        lines.push(how_the_time_was_spent(outcome));
    }
    lines
}

/// `12 files: 10 cloned, 1 shared with the source (…), 1 with content of its own`
fn sharing(report: &Report, options: &Options) -> Option<String> {
    let copied = report.files.saturating_sub(report.cloned + report.shared);
    let asked = report.shared > 0 || options.verbose > 0 && report.cloned > 0;
    asked.then(|| {
        format!(
            "{}: {} cloned, {} shared with the source (a write into one changes both), {} with content of its own",
            counted(report.files, "file", "files"),
            count(report.cloned),
            count(report.shared),
            count(copied),
        )
    })
}

/// `1 file was gone on with: 950 MB of it were there`, and `1 file is there in part: …`
pub(crate) fn resumed(report: &Report) -> Vec<String> {
    let (resumed, partial) = (report.resumed, report.partial);
    let mut lines = Vec::new();
    if resumed > 0 {
        let files = counted(resumed, "file was", "files were");
        lines.push(format!("{files} gone on with: {} had arrived before", bytes(report.resumed_bytes)));
    }
    if partial > 0 {
        let files = counted(partial, "file is", "files are");
        lines.push(format!("{files} there in part; the same command with --resume goes on from there"));
    }
    lines
}

/// `3 entries have extended attributes or access control lists in the source, which were not kept; --xattrs and --acls
/// keep them`
fn attributes(entries_with: u64, hint: &str) -> Option<String> {
    let have = if entries_with == 1 { "has" } else { "have" };
    let what = "extended attributes or access control lists in the source, which were not kept";
    (entries_with > 0).then(|| format!("{} {have} {what}{hint}", entries(entries_with)))
}

/// `3 entries lost what this user or this file system cannot keep: owners (2), file flags (1)`
pub(crate) fn not_kept(not_kept: &NotKept) -> Option<String> {
    let things = [
        ("owners", not_kept.owners),
        ("extended attributes", not_kept.xattrs),
        ("access control lists", not_kept.acls),
        ("file flags", not_kept.flags),
        ("reserved space", not_kept.space),
    ];
    let things = things.into_iter().filter(|(_, n)| *n > 0).map(|(thing, n)| format!("{thing} ({})", count(n)));
    let things = things.collect::<Vec<_>>().join(", ");
    let lost = entries(not_kept.entries);
    (not_kept.entries > 0).then(|| format!("{lost} lost what this user or this file system cannot keep: {things}"))
}

/// `2 sockets skipped (a, b): …`
pub(crate) fn sockets(paths: &[PathBuf]) -> Option<String> {
    const NAMED: usize = 3;
    let mut named: Vec<_> = paths.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    match paths.len().saturating_sub(NAMED) as u64 {
        0 => {}
        more => named.push(format!("and {} more", count(more))),
    }
    let sockets = counted(paths.len() as u64, "socket", "sockets");
    let why = "a socket leads to a running program, and a copy of it nowhere";
    (!paths.is_empty()).then(|| format!("{sockets} skipped ({}): {why}", named.join(", ")))
}

/// `unpacked 83,731 entries, 1.36 GB in 0.71 s (118,000 entries and 1.90 GB a second) into DIR`
fn first(outcome: &Outcome) -> String {
    let written = written(outcome);
    let (amount, root) = (format!("{}, {}", entries(written), bytes(outcome.report.bytes)), name(&outcome.root));
    match outcome.signal {
        None => {
            let asked = match outcome.asked {
                Duration::ZERO => String::new(),
                asked => format!("; waiting for answers took {} more", duration(asked)),
            };
            let (done, took) = (outcome.words.done, duration(working(outcome)));
            format!("{done} {amount} in {took}{} into {root}{asked}", rates(outcome))
        }
        Some(signal) => format!(
            "{} after {}: {amount} are complete in {root}; {} more had been read and not written, the rest was not \
             read",
            ended_by(signal),
            duration(outcome.elapsed),
            count(outcome.report.not_written),
        ),
    }
}

fn ended_by(signal: i32) -> &'static str {
    match signal {
        SIGTERM => "terminated",
        SIGHUP => "cut off (the terminal is gone)",
        SIGPIPE => "cut off (the messages have no reader any more)",
        _ => "interrupted",
    }
}

/// The time of the work, without the waiting for answers.
fn working(outcome: &Outcome) -> Duration {
    outcome.elapsed.saturating_sub(outcome.asked)
}

/// Empty for runs that are too short for a rate.
fn rates(outcome: &Outcome) -> String {
    if working(outcome) < Duration::from_millis(10) {
        return String::new();
    }
    let entries = count(per_second(written(outcome), working(outcome)));
    format!(" ({entries} entries and {} a second)", bytes(per_second(outcome.report.bytes, working(outcome))))
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
         {}, {}, {}, {}, {}; at most {} at once",
        duration(times.open),
        duration(times.write),
        duration(times.sync),
        duration(times.close),
        duration(times.folders),
        duration(times.metadata),
        counted(outcome.report.files, "file", "files"),
        counted(outcome.report.folders, "folder", "folders"),
        counted(outcome.report.symlinks, "symbolic link", "symbolic links"),
        counted(outcome.report.hard_links, "hard link", "hard links"),
        counted(outcome.report.nodes, "device or FIFO", "devices and FIFOs"),
        counted(outcome.report.peak_threads as u64, "thread", "threads"),
    )
}
