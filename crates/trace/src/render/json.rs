//! A report for programs. Keys are never renamed; new ones may come.

use serde_json::{Map, Value, json};

use crate::call::Kind;
use crate::report::{Axis, CloseSum, Latencies, Report, Sum, Top};

/// The report as one JSON object. Times are in seconds; they are `null` where the trace has none.
pub fn json(report: &Report) -> Value {
    let timed = report.timed;
    let sum = |object: &mut Map<String, Value>, sum: &Sum| {
        object.insert("calls".into(), sum.calls.into());
        object.insert("failed".into(), sum.failed.into());
        object.insert("seconds".into(), seconds(sum.nanos, timed));
        object.insert("bytes".into(), sum.bytes.into());
    };
    let summed = |of: &Sum| {
        let mut object = Map::new();
        sum(&mut object, of);
        object
    };
    let mut object = Map::new();
    object.insert("format".into(), report.format.name().into());
    object.insert("trace_bytes".into(), report.bytes.into());
    object.insert("lines".into(), report.lines.into());
    let first = report.damage.first.as_ref().map(|(line, text)| json!({"line": line, "text": text}));
    object.insert("damaged".into(), json!({"lines": report.damage.lines, "first": first}));
    object.insert("has_durations".into(), timed.into());
    object.insert("total".into(), summed(&report.total).into());
    object.insert("on_files".into(), summed(&report.file_total).into());
    object.insert("run_seconds".into(), report.span.map_or(Value::Null, |span| seconds(span, true)));
    object.insert("calls_without_duration".into(), report.untimed.into());
    object.insert("never_returned".into(), report.never_returned.into());
    let hidden = &report.hidden;
    object.insert(
        "not_seen".into(),
        json!({
            "io_uring_calls": hidden.io_uring,
            "files_mapped_to_write": hidden.mapped_to_write,
            "files_mapped_to_read": hidden.mapped_to_read,
        }),
    );
    object.insert("tracing_seconds_per_call".into(), report.tracing.map_or(Value::Null, |nanos| seconds(nanos, timed)));
    object.insert(
        "kinds".into(),
        Value::Object(report.kinds.iter().map(|(kind, sum)| (kind.name().into(), summed(sum).into())).collect()),
    );
    let operations = report.operations.iter().map(|operation| {
        let mut object = Map::new();
        object.insert("name".into(), operation.name.clone().into());
        object.insert("kind".into(), operation.kind.name().into());
        sum(&mut object, &operation.sum);
        object.insert("latency".into(), operation.latencies.as_ref().map_or(Value::Null, latencies));
        let mut on_files = summed(&operation.on_files.sum);
        on_files.insert("latency".into(), operation.on_files.latencies.as_ref().map_or(Value::Null, latencies));
        object.insert("on_files".into(), on_files.into());
        Value::from(object)
    });
    object.insert("operations".into(), operations.collect());
    let threads = |row: &crate::report::Thread| {
        let mut object = Map::new();
        object.insert("process".into(), some(row.process));
        object.insert("thread".into(), some(row.thread));
        object.insert("program".into(), (!row.program.is_empty()).then(|| row.program.clone()).into());
        sum(&mut object, &row.sum);
        object.insert("seconds_on_files".into(), seconds(row.file_nanos, timed));
        Value::from(object)
    };
    object.insert("threads".into(), top(&report.threads, timed, threads));
    let files = |row: &crate::report::File| {
        let mut object = Map::new();
        path(&mut object, &row.path);
        sum(&mut object, &row.sum);
        object.insert("opens".into(), row.opens.into());
        let by_kind =
            Kind::ALL.iter().zip(&row.nanos_by_kind).map(|(kind, &nanos)| (kind.name().into(), seconds(nanos, timed)));
        object.insert("seconds_by_kind".into(), Value::Object(by_kind.collect()));
        Value::from(object)
    };
    object.insert("files".into(), top(&report.files, timed, files));
    object.insert("without_name".into(), summed(&report.without_name).into());
    let folders = |row: &crate::report::Folder| {
        let mut object = Map::new();
        path(&mut object, &row.path);
        sum(&mut object, &row.sum);
        Value::from(object)
    };
    object.insert("folders".into(), top(&report.folders, timed, folders));
    let close = |sum: &CloseSum| json!({"calls": sum.calls, "seconds": seconds(sum.nanos, timed), "longest_seconds": seconds(sum.max_nanos, timed)});
    object.insert(
        "closes".into(),
        json!({
            "after_append": close(&report.closes.appended),
            "after_write": close(&report.closes.written),
            "without_write": close(&report.closes.unwritten),
        }),
    );
    let again = &report.again;
    let most = again.most.iter().map(|file| {
        let mut object = Map::new();
        path(&mut object, &file.path);
        object.insert("opens".into(), file.opens.into());
        Value::from(object)
    });
    object.insert(
        "opened_again".into(),
        json!({
            "files": again.files,
            "opens": again.opens,
            "seconds": seconds(again.open_nanos, timed),
            "opens_for_writing_by_the_same_process": again.kept_opens,
            "exact": again.exact,
            "most": most.collect::<Value>(),
        }),
    );
    let writes = &report.small_writes;
    object.insert(
        "small_writes".into(),
        json!({
            "runs": writes.runs,
            "calls": writes.calls,
            "bytes": writes.bytes,
            "seconds": seconds(writes.nanos, timed),
            "calls_with_buffer": writes.calls_with_buffer,
        }),
    );
    let syncs = &report.syncs;
    object.insert(
        "syncs".into(),
        json!({
            "files": syncs.first.calls,
            "seconds": seconds(syncs.first.nanos, timed),
            "of_the_same_file": syncs.again.calls,
            "of_the_same_file_seconds": seconds(syncs.again.nanos, timed),
            "of_folders": syncs.folders.calls,
            "of_folders_seconds": seconds(syncs.folders.nanos, timed),
            "durable_writes": syncs.durable_writes.calls,
            "durable_writes_seconds": seconds(syncs.durable_writes.nanos, timed),
        }),
    );
    let made = &report.made;
    object.insert(
        "files_made".into(),
        json!({"files": made.files, "seconds": seconds(made.nanos, timed), "by_one_thread": made.by_one_thread}),
    );
    object.insert("folders_were_there".into(), summed(&report.folders_were_there).into());
    let findings = report.findings.iter().map(|finding| {
        json!({
            "title": finding.title,
            "part": finding.part,
            "saves_seconds": finding.saves_nanos.map_or(Value::Null, |nanos| seconds(nanos, true)),
            "saves_calls": finding.saves_calls,
            "arithmetic": finding.arithmetic,
            "told": finding.told,
        })
    });
    object.insert("findings".into(), findings.collect());
    object.insert("timeline".into(), timeline(report));
    object.into()
}

fn some(number: u32) -> Value {
    if number == 0 { Value::Null } else { number.into() }
}

/// A time is a whole number of nanoseconds, which a double holds up to three months, so that no digit is lost.
fn seconds(nanos: u64, timed: bool) -> Value {
    if timed { (nanos as f64 / 1e9).into() } else { Value::Null }
}

/// A path, and its bytes under `path_hex` where it is not UTF-8.
fn path(object: &mut Map<String, Value>, path: &[u8]) {
    object.insert("path".into(), String::from_utf8_lossy(path).into());
    if std::str::from_utf8(path).is_err() {
        object.insert("path_hex".into(), path.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into());
    }
}

fn top<R>(top: &Top<R>, timed: bool, row: impl Fn(&R) -> Value) -> Value {
    json!({
        "rows": top.rows.iter().map(row).collect::<Value>(),
        "others": {
            "calls": top.others.calls,
            "failed": top.others.failed,
            "seconds": seconds(top.others.nanos, timed),
            "bytes": top.others.bytes,
        },
        "counted": top.seen,
        "exact": top.exact,
        "short_by_at_most_seconds": seconds(top.missed_nanos, timed),
    })
}

fn latencies(latencies: &Latencies) -> Value {
    let buckets = latencies.buckets.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, &count)| {
        json!({"up_to_seconds": Latencies::bound(bucket).map_or(Value::Null, |nanos| seconds(nanos, true)), "calls": count})
    });
    json!({
        "p50_seconds": seconds(latencies.p50, true),
        "p90_seconds": seconds(latencies.p90, true),
        "p99_seconds": seconds(latencies.p99, true),
        "longest_seconds": seconds(latencies.max, true),
        "histogram": buckets.collect::<Value>(),
    })
}

fn timeline(report: &Report) -> Value {
    let timeline = &report.timeline;
    let (axis, width) = match timeline.axis {
        Axis::Time => ("seconds", seconds(timeline.width, true)),
        Axis::Calls => ("calls", timeline.width.into()),
    };
    let used = Kind::ALL.iter().filter(|&&kind| timeline.bins.iter().any(|bin| bin[kind as usize] > 0));
    let series = used.map(|&kind| {
        let values = timeline.bins.iter().map(|bin| seconds(bin[kind as usize], report.timed));
        (kind.name().into(), values.collect::<Value>())
    });
    json!({"axis": axis, "bin": width, "seconds_by_kind": Value::Object(series.collect())})
}
