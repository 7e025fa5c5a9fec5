//! A report as one page that needs nothing else: no network, no script.

use std::fmt::Write;

use super::path;
use super::svg::{self, Column, escaped};
use crate::call::Kind;
use crate::human::{bytes, count, percent, seconds, time};
use crate::report::{Axis, Latencies, Operation, Report, Sum, Top};

/// Panels of distributions, and bars of files.
const PANELS: usize = 6;
const BARS: usize = 12;

/// The report as a page. `name` says what was traced.
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
        css = include_str!("page.css"),
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

/// What should be known before anything else is believed.
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

/// The kinds of calls on files.
fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| kind.is_file())
}

fn legend(report: &Report) -> String {
    let entries = kinds().filter(|&kind| report.kinds[kind as usize].1.calls > 0).map(|kind| {
        let (_, sum) = report.kinds[kind as usize];
        format!("<li><i class=\"{0}\"></i>{0} {1}</li>", kind.name(), time(sum.nanos))
    });
    format!("<ul class=\"legend\">{}</ul>\n", entries.collect::<String>())
}

fn timeline(report: &Report) -> String {
    let timeline = &report.timeline;
    if !report.timed || report.file_total.nanos == 0 {
        return String::new();
    }
    // Over time: how many calls were going on at once. Over calls: how long one took.
    let width = timeline.width as f64;
    let columns: Vec<Column> = timeline
        .bins
        .iter()
        .enumerate()
        .map(|(at, bin)| {
            let spent = kinds()
                .filter(|&kind| bin[kind as usize] > 0)
                .map(|kind| format!("{} {}", kind.name(), time(bin[kind as usize])));
            let from = place(timeline.axis, timeline.width.saturating_mul(at as u64));
            Column {
                title: format!("from {from}: {}", spent.collect::<Vec<_>>().join(", ")),
                parts: kinds().map(|kind| (kind.name(), bin[kind as usize] as f64 / width)).collect(),
            }
        })
        .collect();
    let most = columns.iter().map(|column| column.parts.iter().map(|(_, height)| height).sum()).fold(0.0, f64::max);
    let (top, unit) = match timeline.axis {
        Axis::Time => (format!("{most:.2}"), "calls on files going on at once, on average"),
        Axis::Calls => (time(most as u64), "time that a call took, on average; the trace does not say when calls were"),
    };
    let end = timeline.width.saturating_mul(timeline.bins.len() as u64);
    let ticks = (0..=4).map(|quarter| format!("<span>{}</span>", place(timeline.axis, end / 4 * quarter)));
    let chart = svg::stacked(
        "timeline",
        "Time on files by kind of call, over the run",
        &format!("Stacked columns. The highest is {top}. The sums stand in the legend and in the table of operations."),
        &columns,
        most,
    );
    format!(
        "<section aria-labelledby=\"run\">\n<h2 id=\"run\">Over the run</h2>\n<figure>\n{}<div class=\"plot\"><div class=\"axis y\" aria-hidden=\"true\"><span>{top}</span><span>0</span></div>{chart}<div class=\"axis x\" aria-hidden=\"true\">{}</div></div>\n<figcaption>Height: {unit}. Waiting and calls that are not on files are left out.</figcaption>\n</figure>\n</section>\n",
        legend(report),
        ticks.collect::<String>(),
    )
}

fn place(axis: Axis, at: u64) -> String {
    match axis {
        Axis::Time => time(at),
        Axis::Calls => format!("call {}", count(at)),
    }
}

fn distributions(report: &Report) -> String {
    let mut shown: Vec<(&Operation, &Latencies)> = report
        .operations
        .iter()
        .filter(|operation| operation.kind.is_file())
        .filter_map(|operation| operation.on_files.latencies.as_ref().map(|latencies| (operation, latencies)))
        .collect();
    shown.sort_by_key(|(operation, _)| std::cmp::Reverse(operation.on_files.sum.nanos));
    shown.truncate(PANELS);
    let used = |bucket: usize| shown.iter().any(|(_, latencies)| latencies.buckets[bucket] > 0);
    let (Some(first), Some(last)) =
        ((0..Latencies::BUCKETS).find(|&at| used(at)), (0..Latencies::BUCKETS).rfind(|&at| used(at)))
    else {
        return String::new();
    };
    let panels =
        shown.iter().enumerate().map(|(at, (operation, latencies))| panel(at, operation, latencies, first..=last));
    format!(
        "<section aria-labelledby=\"latency\">\n<h2 id=\"latency\">How long calls take</h2>\n<p class=\"soft\">How many calls took how long, for the operations on files that took most time; what they did to pipes is left out. Both scales are logarithmic; all panels have the same scale of time. Dashed: half of the calls took no longer, and 99 of 100.</p>\n<div class=\"many\">\n{}</div>\n</section>\n",
        panels.collect::<String>()
    )
}

fn panel(at: usize, operation: &Operation, latencies: &Latencies, buckets: std::ops::RangeInclusive<usize>) -> String {
    let bars: Vec<(f64, String)> = buckets
        .clone()
        .map(|bucket| {
            let calls = latencies.buckets[bucket];
            let bound = Latencies::bound(bucket).map_or("longer".into(), |bound| format!("up to {}", time(bound)));
            ((calls as f64).ln_1p(), format!("{bound}: {} calls", count(calls)))
        })
        .collect();
    // Where on the axis a time is: within its bucket, by its logarithm.
    let position = |nanos: u64| {
        let bucket = Latencies::bucket_of(nanos);
        let within = match (bucket.checked_sub(1).and_then(Latencies::bound), Latencies::bound(bucket)) {
            (Some(low), Some(high)) => (nanos.max(1) as f64 / low as f64).ln() / (high as f64 / low as f64).ln(),
            _ => 0.5,
        };
        (bucket - buckets.start()) as f64 + within.clamp(0.0, 1.0)
    };
    let name = escaped(&operation.name);
    let told = format!(
        "{} calls, {}: half took up to {}, 99 of 100 up to {}, the longest {}",
        count(operation.on_files.sum.calls),
        time(operation.on_files.sum.nanos),
        time(latencies.p50),
        time(latencies.p99),
        time(latencies.max)
    );
    let chart = svg::histogram(
        &format!("latency-{at}"),
        &format!("How long {} took", operation.name),
        &told,
        operation.kind.name(),
        &bars,
        &[position(latencies.p50), position(latencies.p99)],
    );
    let mut ticks = String::new();
    let width = bars.len() as f64;
    for (at, bucket) in buckets.clone().enumerate() {
        // Whole decades, from 1 µs.
        if bucket % 3 == 0
            && bucket >= 3
            && let Some(bound) = Latencies::bound(bucket)
        {
            let left = (at as f64 + 1.0) / width * 100.0;
            let class = if left > 93.0 { " class=\"end\"" } else { "" };
            write!(ticks, "<span{class} style=\"left:{left:.2}%\">{}</span>", decade(bound)).expect("a string");
        }
    }
    format!(
        "<figure>\n<h3>{name}</h3>\n{chart}<div class=\"ticks\" aria-hidden=\"true\">{ticks}</div>\n<figcaption>{told}</figcaption>\n</figure>\n"
    )
}

/// `1 µs`, `100 ms`: a power of ten.
fn decade(nanos: u64) -> String {
    match nanos {
        n if n < 1_000_000 => format!("{} µs", n / 1000),
        n if n < 1_000_000_000 => format!("{} ms", n / 1_000_000),
        n => format!("{} s", n / 1_000_000_000),
    }
}

fn worst_files(report: &Report) -> String {
    let Some(most) = report.files.rows.first().map(|file| file.sum.nanos).filter(|&most| most > 0 && report.timed)
    else {
        return String::new();
    };
    let bars = report.files.rows.iter().take(BARS).map(|file| {
        let parts = kinds().filter(|&kind| file.nanos_by_kind[kind as usize] > 0).map(|kind| {
            let nanos = file.nanos_by_kind[kind as usize];
            format!(
                "<i class=\"{0}\" style=\"width:{1:.3}%\" title=\"{0} {2}\"></i>",
                kind.name(),
                nanos as f64 / most as f64 * 100.0,
                time(nanos)
            )
        });
        format!(
            "<li><div class=\"what\"><span>{}</span><span>{} · {} calls</span></div><div class=\"bar\">{}</div></li>\n",
            escaped(&path(&file.path)),
            time(file.sum.nanos),
            count(file.sum.calls),
            parts.collect::<String>()
        )
    });
    format!(
        "<section aria-labelledby=\"files\">\n<h2 id=\"files\">The worst files</h2>\n{}<ol class=\"bars\">\n{}</ol>\n{}</section>\n",
        legend(report),
        bars.collect::<String>(),
        bound(report, &report.files)
    )
}

fn bound<R>(report: &Report, top: &Top<R>) -> String {
    if top.exact || !report.timed {
        return String::new();
    }
    let missed = time(top.missed_nanos);
    format!(
        "<p class=\"soft\">There were too many to count each: one may have taken up to {missed} more than is shown.</p>\n"
    )
}

fn tables(report: &Report) -> String {
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
