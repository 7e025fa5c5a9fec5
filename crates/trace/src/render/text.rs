//! A report for a terminal.

use std::fmt::Write;

use super::path;
use super::table::{Align::*, Table};
use crate::human::{bytes, count, counted, percent, seconds, time};
use crate::report::{Report, Sum, Top};

/// How much is told, and how wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Rows of each table.
    pub rows: usize,
    /// Characters of a line; `None`: as many as it takes.
    pub width: Option<usize>,
}

/// The report as tables and sentences. Sums of time have the digits that the trace has.
pub fn text(report: &Report, detail: Detail) -> String {
    let mut out = String::new();
    let parts = [
        head(report),
        operations(report, detail),
        files(report, detail),
        folders(report, detail),
        threads(report, detail),
        again(report, detail),
        findings(report, detail),
    ];
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        out += part;
    }
    out
}

fn head(report: &Report) -> String {
    let total = &report.total;
    let mut out = format!("{}: {}", report.format.name(), counted(total.calls, "call", "calls"));
    if report.timed {
        write!(out, " that took {}, {} of it on files", time(total.nanos), time(report.file_total.nanos))
            .expect("a string");
    }
    if let Some(span) = report.span {
        write!(out, ", in a run of {}", time(span)).expect("a string");
    }
    out += "\n";
    if report.never_returned > 0 {
        writeln!(out, "{} more had not returned when their thread or the trace ended.", count(report.never_returned))
            .expect("a string");
    }
    for told in report.hidden.in_words() {
        writeln!(out, "{told}").expect("a string");
    }
    if let Some(tracing) = report.tracing.filter(|_| report.timed) {
        writeln!(out, "Tracing itself is some {} of each call: read the ratios, not the times.", time(tracing))
            .expect("a string");
    }
    out
}

fn operations(report: &Report, detail: Detail) -> String {
    let mut table = match report.timed {
        true => Table::new(&[
            ("operation", Left),
            ("calls", Right),
            ("failed", Right),
            ("seconds", Right),
            ("share", Right),
            ("mean", Right),
            ("p99", Right),
            ("longest", Right),
            ("bytes", Right),
        ]),
        false => Table::new(&[("operation", Left), ("calls", Right), ("failed", Right), ("bytes", Right)]),
    };
    let untimed = |operation: &crate::report::Operation| {
        let sum = &operation.sum;
        [operation.name.clone(), count(sum.calls), count_or_dash(sum.failed), bytes_or_dash(sum.bytes)]
    };
    for operation in report.operations.iter().take(detail.rows) {
        let sum = &operation.sum;
        let latency = |of: fn(&crate::report::Latencies) -> u64| {
            operation.latencies.as_ref().map_or("–".into(), |it| time(of(it)))
        };
        match report.timed {
            true => table.row([
                operation.name.clone(),
                count(sum.calls),
                count_or_dash(sum.failed),
                seconds(sum.nanos, report.digits),
                percent(sum.nanos, report.total.nanos),
                time(sum.nanos / sum.calls.max(1)),
                latency(|it| it.p99),
                latency(|it| it.max),
                bytes_or_dash(sum.bytes),
            ]),
            false => table.row(untimed(operation)),
        }
    }
    let mut rest = Sum::default();
    report.operations.iter().skip(detail.rows).for_each(|operation| rest.plus(&operation.sum));
    if rest.calls > 0 {
        let others = format!("{} others", count((report.operations.len() - detail.rows) as u64));
        table.row(sum_cells(report, others, &rest));
    }
    table.row(sum_cells(report, "all".into(), &report.total));
    format!("Time by operation\n{table}")
}

fn sum_cells(report: &Report, name: String, sum: &Sum) -> Vec<String> {
    match report.timed {
        true => vec![
            name,
            count(sum.calls),
            count_or_dash(sum.failed),
            seconds(sum.nanos, report.digits),
            percent(sum.nanos, report.total.nanos),
            time(sum.nanos / sum.calls.max(1)),
            String::new(),
            String::new(),
            bytes_or_dash(sum.bytes),
        ],
        false => vec![name, count(sum.calls), count_or_dash(sum.failed), bytes_or_dash(sum.bytes)],
    }
}

fn count_or_dash(n: u64) -> String {
    if n == 0 { "–".into() } else { count(n) }
}

fn bytes_or_dash(n: u64) -> String {
    if n == 0 { "–".into() } else { bytes(n) }
}

fn files(report: &Report, detail: Detail) -> String {
    if report.files.rows.is_empty() {
        return String::new();
    }
    let of = report.file_total.nanos;
    let mut table = ranked(report, "of file time", &[("opens", Right), ("file", Left)], detail);
    for file in report.files.rows.iter().take(detail.rows) {
        table.row(row(report, of, &file.sum, [count(file.opens), path(&file.path)]));
    }
    let rest = rest(&report.files, detail, |file| &file.sum);
    if rest.calls > 0 {
        table.row(row(report, of, &rest, [String::new(), others(&report.files, detail, "files")]));
    }
    if report.without_name.calls > 0 {
        let name = "(without a name: opened before the trace began)".into();
        table.row(row(report, of, &report.without_name, [String::new(), name]));
    }
    format!("Time by file\n{table}{}", bound(report, &report.files, "file"))
}

fn folders(report: &Report, detail: Detail) -> String {
    if report.folders.rows.is_empty() {
        return String::new();
    }
    let of = report.file_total.nanos;
    let mut table = ranked(report, "of file time", &[("folder", Left)], detail);
    for folder in report.folders.rows.iter().take(detail.rows) {
        table.row(row(report, of, &folder.sum, [path(&folder.path)]));
    }
    let rest = rest(&report.folders, detail, |folder| &folder.sum);
    if rest.calls > 0 {
        table.row(row(report, of, &rest, [others(&report.folders, detail, "folders")]));
    }
    format!("Time by folder, without subfolders\n{table}{}", bound(report, &report.folders, "folder"))
}

fn threads(report: &Report, detail: Detail) -> String {
    if report.threads_seen < 2 {
        return String::new();
    }
    let of = report.total.nanos;
    let mut table = ranked(report, "share", &[("on files", Right), ("thread", Left)], detail);
    for thread in report.threads.rows.iter().take(detail.rows) {
        let name = match (thread.process, thread.thread) {
            (0, 0) => "(the first)".to_string(),
            (0, thread) => thread.to_string(),
            (process, 0) => format!("process {process}"),
            (process, thread) => format!("{process}, thread {thread}"),
        };
        let name = if thread.program.is_empty() { name } else { format!("{name} {}", thread.program) };
        table.row(row(report, of, &thread.sum, [percent(thread.file_nanos, thread.sum.nanos), path(name.as_bytes())]));
    }
    let rest = rest(&report.threads, detail, |thread| &thread.sum);
    if rest.calls > 0 {
        table.row(row(report, of, &rest, [String::new(), others(&report.threads, detail, "threads")]));
    }
    format!("Time by thread\n{table}{}", bound(report, &report.threads, "thread"))
}

/// A table of sums, with more columns.
fn ranked(report: &Report, share: &'static str, more: &[(&'static str, super::Align)], detail: Detail) -> Table {
    let mut columns = vec![("calls", Right)];
    if report.timed {
        columns.extend([("seconds", Right), (share, Right)]);
    }
    columns.extend_from_slice(more);
    Table::new(&columns).width(detail.width)
}

fn row(report: &Report, of: u64, sum: &Sum, more: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut cells = vec![count(sum.calls)];
    if report.timed {
        cells.extend([seconds(sum.nanos, report.digits), percent(sum.nanos, of)]);
    }
    cells.extend(more);
    cells
}

fn rest<R>(top: &Top<R>, detail: Detail, sum: impl Fn(&R) -> &Sum) -> Sum {
    let mut rest = top.others;
    top.rows.iter().skip(detail.rows).for_each(|row| rest.plus(sum(row)));
    rest
}

fn others<R>(top: &Top<R>, detail: Detail, what: &str) -> String {
    let shown = top.rows.len().min(detail.rows) as u64;
    match top.exact {
        true => format!("({} other {what})", count(top.seen - shown)),
        false => format!("(others: more {what} than can be counted one by one)"),
    }
}

fn bound<R>(report: &Report, top: &Top<R>, what: &str) -> String {
    match (top.exact, report.timed) {
        (true, _) => String::new(),
        (false, true) => format!(
            "There were too many to count each: a {what} may have taken up to {} more than is shown.\n",
            time(top.missed_nanos)
        ),
        (false, false) => {
            format!("There were too many to count each: a {what} may have had more calls than are shown.\n")
        }
    }
}

fn again(report: &Report, detail: Detail) -> String {
    let again = &report.again;
    if again.opens == 0 {
        return String::new();
    }
    let least = if again.exact { "" } else { "at least " };
    let mut out = format!(
        "Files opened again: {least}{}, {least}{} after the first{}\n",
        counted(again.files, "file", "files"),
        counted(again.opens, "open", "opens"),
        if report.timed { format!(", which took {}", time(again.open_nanos)) } else { String::new() }
    );
    let mut table = Table::new(&[("opens", Right), ("file", Left)]).width(detail.width);
    for file in again.most.iter().take(detail.rows) {
        table.row([count(file.opens), path(&file.path)]);
    }
    write!(out, "{table}").expect("a string");
    out
}

fn findings(report: &Report, detail: Detail) -> String {
    let mut out = String::from("What would save time\n");
    if report.findings.is_empty() {
        return out
            + "  Nothing that this command looks for: no close after a write, no small writes, no syncs, no files \
             made or opened again.\n";
    }
    for finding in &report.findings {
        let share = |saved| format!("{} of the time on files", percent(saved, report.file_total.nanos));
        let saves = match finding.saving_in_words(share) {
            (saves, note) if saves.is_empty() => note,
            (saves, note) => format!("{saves} ({note})"),
        };
        writeln!(out, "* {} → {}: {saves}", finding.title, finding.part).expect("a string");
        for told in finding.told.iter().chain(&finding.arithmetic) {
            out += &wrapped(told, detail.width.unwrap_or(100).min(100));
        }
    }
    if report.findings.iter().filter(|finding| finding.saves_nanos.is_some()).count() > 1 {
        out += "Savings overlap, so don't add them up: a call that is not made need not be made faster.\n";
    }
    out
}

/// The text in lines of at most `width` characters, indented.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + word.chars().count() + 3 > width {
            writeln!(out, "  {line}").expect("a string");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    writeln!(out, "  {line}").expect("a string");
    out
}
