//! The page's tables: all figures.

use std::fmt::Write;

use super::super::path;
use super::super::svg::escaped;
use crate::human::{bytes, count, percent, seconds, time};
use crate::report::{Latencies, Report, Sum};

pub(super) fn tables(report: &Report) -> String {
    let mut out = String::from("<section aria-labelledby=\"tables\">\n<h2 id=\"tables\">All figures</h2>\n");
    let operations = report.operations.iter().map(|operation| {
        let latency = |of: fn(&Latencies) -> u64| operation.latencies.as_ref().map_or("–".into(), |it| time(of(it)));
        let mut cells = vec![escaped(&operation.name), operation.kind.name().into()];
        cells.extend(sums(report, &operation.sum));
        cells.extend([latency(|it| it.p50), latency(|it| it.p90), latency(|it| it.p99), latency(|it| it.max)]);
        cells
    });
    let mut all = vec!["all".to_string(), String::new()];
    all.extend(sums(report, &report.total));
    all.extend((0..4).map(|_| String::new()));
    out += &table(
        "Operations",
        &["operation", "kind", "calls", "failed", "seconds", "share", "bytes", "median", "p90", "p99", "longest"],
        2,
        operations.chain([all]),
        true,
    );
    let files = report.files.rows.iter().map(|file| {
        let mut cells = vec![escaped(&path(&file.path)), count(file.opens)];
        cells.extend(sums(report, &file.sum));
        cells
    });
    let others = |top: &Sum, columns: usize| {
        let mut cells = vec!["others".to_string()];
        cells.extend((1..columns).map(|_| String::new()));
        cells.extend(sums(report, top));
        (top.calls > 0).then_some(cells)
    };
    let sums_of = ["calls", "failed", "seconds", "share", "bytes"];
    out += &table(
        "Files",
        &[&["file", "opens"][..], &sums_of].concat(),
        1,
        files.chain(others(&report.files.others, 2)),
        false,
    );
    let folders = report.folders.rows.iter().map(|folder| {
        let mut cells = vec![escaped(&path(&folder.path))];
        cells.extend(sums(report, &folder.sum));
        cells
    });
    out += &table(
        "Folders, without their subfolders",
        &[&["folder"][..], &sums_of].concat(),
        1,
        folders.chain(others(&report.folders.others, 1)),
        false,
    );
    let threads = report.threads.rows.iter().map(|thread| {
        let number = |n: u32| if n == 0 { "–".to_string() } else { n.to_string() };
        let mut cells = vec![escaped(&path(thread.program.as_bytes())), number(thread.process), number(thread.thread)];
        cells.extend(sums(report, &thread.sum));
        cells.push(percent(thread.file_nanos, thread.sum.nanos));
        cells
    });
    let mut rest = others(&report.threads.others, 3);
    rest.iter_mut().for_each(|cells| cells.push(String::new()));
    out += &table(
        "Threads",
        &[&["program", "process", "thread"][..], &sums_of, &["on files"]].concat(),
        1,
        threads.chain(rest),
        false,
    );
    let again = report.again.most.iter().map(|file| vec![escaped(&path(&file.path)), count(file.opens)]);
    if !report.again.most.is_empty() {
        out += &table("Files opened more than once", &["file", "opens"], 1, again, false);
    }
    out + "</section>\n"
}

fn sums(report: &Report, sum: &Sum) -> [String; 5] {
    let (exact, share) = match report.timed {
        true => (seconds(sum.nanos, report.digits), percent(sum.nanos, report.total.nanos)),
        false => ("–".into(), "–".into()),
    };
    let bytes = if sum.bytes == 0 { "–".into() } else { bytes(sum.bytes) };
    [count(sum.calls), count(sum.failed), exact, share, bytes]
}

/// A table that can be opened. The first `words` columns are words; all cells are escaped already.
fn table(title: &str, headings: &[&str], words: usize, rows: impl Iterator<Item = Vec<String>>, open: bool) -> String {
    let class = |at: usize| if at < words { " class=\"l\"" } else { "" };
    let mut out = format!(
        "<details{}><summary>{title}</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table>\n<thead><tr>",
        if open { " open" } else { "" }
    );
    for (at, heading) in headings.iter().enumerate() {
        write!(out, "<th scope=\"col\"{}>{heading}</th>", class(at)).expect("a string");
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in rows {
        out += "<tr>";
        for (at, cell) in row.iter().enumerate() {
            match at {
                0 => write!(out, "<td class=\"l path\">{cell}</td>").expect("a string"),
                at => write!(out, "<td{}>{cell}</td>", class(at)).expect("a string"),
            }
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div></details>\n"
}
