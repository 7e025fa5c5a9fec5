//! The page's pictures: the run, how long calls take, the worst files.

use std::fmt::Write;

use super::super::path;
use super::super::svg::{self, Column, escaped};
use crate::call::Kind;
use crate::human::{count, time};
use crate::report::{Axis, Latencies, Operation, Report, Top};

/// Panels of distributions, and bars of files.
const PANELS: usize = 6;
const BARS: usize = 12;

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

pub(super) fn timeline(report: &Report) -> String {
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

pub(super) fn distributions(report: &Report) -> String {
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

pub(super) fn worst_files(report: &Report) -> String {
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
