//! Two traces side by side.

use serde_json::{Map, Value, json};

use super::path;
use super::table::{Align::*, Table};
use super::text::Detail;
use crate::human::{count, percent, seconds, time};
use crate::report::{Report, Sum};

/// What the same name came to in both.
struct Pair<'a> {
    name: &'a str,
    before: Sum,
    after: Sum,
}

impl Pair<'_> {
    /// By how much they differ: in time, where both have times, else in calls.
    fn weight(&self, timed: bool) -> u64 {
        match timed {
            true => self.before.nanos.abs_diff(self.after.nanos),
            false => self.before.calls.abs_diff(self.after.calls),
        }
    }
}

/// All operations of both, those that differ most first.
fn operations<'a>(before: &'a Report, after: &'a Report, timed: bool) -> Vec<Pair<'a>> {
    let of = |report: &Report, name: &str| {
        report.operations.iter().find(|it| it.name == name).map_or(Sum::default(), |it| it.sum)
    };
    let only_before = before.operations.iter().filter(|it| after.operations.iter().all(|other| other.name != it.name));
    let names = after.operations.iter().chain(only_before).map(|operation| operation.name.as_str());
    let mut pairs: Vec<_> = names.map(|name| Pair { name, before: of(before, name), after: of(after, name) }).collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.weight(timed)));
    pairs
}

fn both_timed(before: &Report, after: &Report) -> bool {
    before.timed && after.timed
}

/// Where the time went before and where it goes now, as a table: operations, those that differ most first. Traces of
/// the same work, taken in the same way, can be compared; times under a tracer are longer than without.
pub fn compared(before: &Report, after: &Report, detail: Detail) -> String {
    let timed = both_timed(before, after);
    let mut table = match timed {
        true => Table::new(&[
            ("operation", Left),
            ("calls before", Right),
            ("after", Right),
            ("seconds before", Right),
            ("after", Right),
            ("of before", Right),
        ]),
        false => Table::new(&[("operation", Left), ("calls before", Right), ("after", Right)]),
    };
    let digits = before.digits.max(after.digits);
    let mut row = |name: &str, before: &Sum, after: &Sum| {
        let mut cells = vec![path(name.as_bytes()), count(before.calls), count(after.calls)];
        if timed {
            cells.extend([
                seconds(before.nanos, digits),
                seconds(after.nanos, digits),
                percent(after.nanos, before.nanos),
            ]);
        }
        table.row(cells);
    };
    let pairs = operations(before, after, timed);
    for pair in pairs.iter().take(detail.rows) {
        row(pair.name, &pair.before, &pair.after);
    }
    let mut rest = Pair { name: "", before: Sum::default(), after: Sum::default() };
    for pair in pairs.iter().skip(detail.rows) {
        rest.before.plus(&pair.before);
        rest.after.plus(&pair.after);
    }
    if rest.before.calls + rest.after.calls > 0 {
        let name = format!("{} others", count((pairs.len() - detail.rows) as u64));
        row(&name, &rest.before, &rest.after);
    }
    row("on files", &before.file_total, &after.file_total);
    row("all", &before.total, &after.total);
    let mut out = format!("Before and after, what differs most first\n{table}");
    if let (Some(before), Some(after)) = (before.span, after.span) {
        out += &format!("The run took {} before, {} after.\n", time(before), time(after));
    }
    out
}

/// The same as one JSON object: `before` and `after` have `run_seconds`; `operations`, `on_files` and `all` have `calls`,
/// `failed` and `seconds` of both. Seconds are null where a trace has no times.
pub fn compared_json(before: &Report, after: &Report) -> Value {
    let sum = |report: &Report, sum: &Sum| {
        let seconds = if report.timed { Value::from(sum.nanos as f64 / 1e9) } else { Value::Null };
        json!({"calls": sum.calls, "failed": sum.failed, "seconds": seconds, "bytes": sum.bytes})
    };
    let pair = |before_sum: &Sum, after_sum: &Sum| {
        let mut object = Map::new();
        object.insert("before".into(), sum(before, before_sum));
        object.insert("after".into(), sum(after, after_sum));
        object
    };
    let run = |report: &Report| json!({"run_seconds": report.span.map(|span| span as f64 / 1e9)});
    let operations = operations(before, after, both_timed(before, after)).into_iter().map(|it| {
        let mut object = Map::new();
        object.insert("name".into(), it.name.into());
        object.extend(pair(&it.before, &it.after));
        Value::from(object)
    });
    json!({
        "before": run(before),
        "after": run(after),
        "operations": operations.collect::<Value>(),
        "on_files": pair(&before.file_total, &after.file_total),
        "all": pair(&before.total, &after.total),
    })
}
