//! Rows as text: a line in the terminal, a line of Markdown.

use manyfiles_measure::stats::{CONFIDENCE, Estimate};

use super::row::{Figure, Row};
use crate::contest::Goal;

/// A row for the terminal.
pub fn line(row: &Row) -> String {
    let [work, place, peer, figure, detail, target, verdict] = cells(row);
    format!("{work:<42} {place:<26} {peer:<26} {figure:>22}  {detail:<30} {target:<9} {verdict}")
}

/// All rows as a Markdown table for each group.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = row.group;
            text += &format!(
                "\n## {group}\n\n| work | file system | against | result | medians | target | verdict | CPU | runs | spread |\n\
                 |---|---|---|---|---|---|---|---|---|---|\n"
            );
        }
        let runs = format!("{} / {}", row.runs.0, row.runs.1);
        let cpu = row.cpu.map_or(String::new(), |(ours, peer)| format!("{} against {}", time(ours), time(peer)));
        text += &format!(
            "| {} | {cpu} | {runs} | {:.0} % |\n",
            cells(row).map(|cell| cell.replace('|', "\\|")).join(" | "),
            row.spread * 100.0
        );
    }
    text
}

fn cells(row: &Row) -> [String; 7] {
    let (figure, detail) = match row.figure {
        Figure::Time { ours, peer, ratio } => {
            let unit = if row.target.is_of_time() { "times the time" } else { "×" };
            (
                format!("{} {unit}{}", short(ratio.value), interval(ratio)),
                format!("{} against {}", time(ours), time(peer)),
            )
        }
        Figure::Memory { ours, limit, ratio } => {
            (format!("{} times the memory", short(ratio.value)), format!("{} against {}", memory(ours), memory(limit)))
        }
        Figure::Count { ours, peer } => (format!("{ours} against {peer}"), format!("at most {ours}, median {peer}")),
        Figure::Nothing => ("no result".into(), String::new()),
    };
    let target = match row.target {
        Goal::Faster(least) => format!("≥ {least}"),
        Goal::AtMost(most) => format!("≤ {most}"),
        Goal::NoMoreThan(most) => format!("≤ {most}"),
        Goal::Shown | Goal::ShownTime => "–".into(),
    };
    [row.what.clone(), row.place.clone(), row.peer.clone(), figure, detail, target, row.verdict().to_string()]
}

/// In brackets, behind the figure; nothing where there were too few rounds for one.
fn interval(estimate: Estimate) -> String {
    if estimate.confidence < CONFIDENCE {
        return String::new();
    }
    format!(" ({}–{})", short(estimate.low), short(estimate.high))
}

/// Three digits, as many as a median of some rounds is good for.
fn short(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 10.0 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 1e-3 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{:.2} µs", seconds * 1e6),
    }
}

fn memory(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
