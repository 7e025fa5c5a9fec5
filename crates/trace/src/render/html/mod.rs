//! A report as one page, without network and without scripts.

mod charts;
mod tables;

use std::fmt::Write;

use super::path;
use super::svg::escaped;
use crate::human::{bytes, count, percent, time};
use crate::report::Report;
use charts::{distributions, timeline, worst_files};
use tables::tables;

/// The report as a page. `name` is the traced program or file.
pub fn html(report: &Report, name: &str) -> String {
    let parts = [
        figures(report),
        notices(report),
        findings(report),
        timeline(report),
        distributions(report),
        worst_files(report),
        tables(report),
    ];
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>Where the time goes: {name}</title>
<style>
{css}</style>
</head>
<body>
<header>
<h1>Where the time goes</h1>
<p class="soft">{name} · {format}, {lines} lines, {size}</p>
</header>
<main>
{body}</main>
<footer>Made by <code>manyfiles explain</code>. Sums by operation are exact; savings are reckoned to the low side and overlap, so don't add them up.</footer>
</body>
</html>
"#,
        name = escaped(name),
        css = include_str!("../page.css"),
        format = report.format.name(),
        lines = count(report.lines),
        size = bytes(report.bytes),
        body = parts.concat(),
    )
}

fn figures(report: &Report) -> String {
    let mut figures = vec![("Calls", count(report.total.calls))];
    if report.timed {
        figures.push(("Time in calls", time(report.total.nanos)));
        figures.push(("Of it on files", time(report.file_total.nanos)));
    }
    if let Some(span) = report.span {
        figures.push(("The run", time(span)));
    }
    if let Some(saved) = report.findings.iter().filter_map(|finding| finding.saves_nanos).max() {
        figures.push(("Largest saving", time(saved)));
    }
    let mut out = String::from("<dl class=\"figures\">\n");
    for (what, figure) in figures {
        writeln!(out, "<div><dt>{what}</dt><dd>{figure}</dd></div>").expect("a string");
    }
    out + "</dl>\n"
}

/// Warnings that stand before all figures.
fn notices(report: &Report) -> String {
    let mut notices = Vec::new();
    if !report.timed {
        notices.push(format!("The trace does not say how long calls took: {}.", report.format.how_to_get_durations()));
    }
    if let Some((line, text)) = &report.damage.first {
        notices.push(format!(
            "{} lines were not understood and are not counted. The first is line {}: {}",
            count(report.damage.lines),
            count(*line),
            path(text.as_bytes())
        ));
    }
    notices.extend(report.hidden.in_words());
    if let Some(tracing) = report.tracing.filter(|_| report.timed) {
        notices.push(format!("Tracing itself is some {} of each call: read the ratios, not the times.", time(tracing)));
    }
    notices.iter().map(|notice| format!("<p class=\"notice\">{}</p>\n", escaped(notice))).collect()
}

fn findings(report: &Report) -> String {
    let mut out =
        String::from("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">What would save time</h2>\n");
    if report.findings.is_empty() {
        out += "<p>Nothing that is looked for here: no close after a write, no small writes, no syncs, no files made or opened again.</p>\n";
    }
    out += "<ul class=\"findings\">\n";
    for finding in &report.findings {
        let share = |saved| format!("{} of the time on files", percent(saved, report.file_total.nanos));
        let saves = match finding.saving_in_words(share) {
            (saves, note) if saves.is_empty() => note,
            (saves, note) => format!("<span class=\"saves\">{saves}</span> ({note})"),
        };
        write!(
            out,
            "<li><h3>{} → <span class=\"part\">{}</span></h3><p>{saves}</p>",
            escaped(finding.title),
            finding.part
        )
        .expect("a string");
        for told in &finding.told {
            write!(out, "<p>{}</p>", escaped(told)).expect("a string");
        }
        if let Some(arithmetic) = &finding.arithmetic {
            write!(out, "<p class=\"sum\">{}</p>", escaped(arithmetic)).expect("a string");
        }
        out += "</li>\n";
    }
    out + "</ul>\n</section>\n"
}
