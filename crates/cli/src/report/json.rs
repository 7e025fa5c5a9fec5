//! The report as one JSON object. Keys are never renamed; new ones may come.

use std::path::Path;
use std::time::Duration;

use manyfiles::Error;
use manyfiles::tree::{NotKept, Refusal, Times};
use serde_json::{Map, Value, json};

use super::outcome::{Outcome, UNREADABLE};
use crate::read::Source;
use crate::words::Words;

pub(super) fn outcome(outcome: &Outcome, exit_code: u8) -> Value {
    let report = &outcome.report;
    let mut object = Map::new();
    object.insert("command".into(), outcome.words.command.into());
    object.insert("status".into(), status(outcome, exit_code).into());
    object.insert("exit_code".into(), exit_code.into());
    path(&mut object, "destination", &outcome.root);
    object.insert(outcome.words.sources.into(), sources(&outcome.read.sources));
    for (key, count) in [
        ("files", report.files),
        ("cloned", report.cloned),
        ("shared", report.shared),
        ("folders", report.folders),
        ("symlinks", report.symlinks),
        ("hard_links", report.hard_links),
        ("nodes", report.nodes),
        ("bytes", report.bytes),
        ("skipped", report.skipped),
        ("resumed", report.resumed),
        ("resumed_bytes", report.resumed_bytes),
        ("partial", report.partial),
        ("not_written", report.not_written),
    ] {
        object.insert(key.into(), count.into());
    }
    let renamed = report.renamed.iter().map(|(from, to)| {
        let mut pair = Map::new();
        path(&mut pair, "from", from);
        path(&mut pair, "to", to);
        Value::from(pair)
    });
    object.insert("renamed".into(), renamed.collect());
    object.insert("failures".into(), report.failures.iter().map(failure).collect());
    object.insert("sockets".into(), outcome.read.sockets.iter().map(|socket| one_path(socket)).collect());
    object.insert("other_owners".into(), outcome.read.other_owners.into());
    object.insert("with_attributes".into(), outcome.read.with_attributes.into());
    object.insert("not_kept".into(), not_kept(&report.not_kept));
    object.insert("rooted".into(), outcome.read.rooted.into());
    object.insert("unmatched".into(), outcome.read.wrong_patterns().into());
    object.insert("signal".into(), outcome.signal.into());
    object.insert("seconds".into(), seconds(outcome.elapsed));
    object.insert("seconds_asking".into(), seconds(outcome.asked));
    object.insert("seconds_by_operation".into(), times(&report.times));
    object.insert("peak_threads".into(), report.peak_threads.into());
    object.into()
}

/// The report of a job that could not begin.
pub(super) fn cannot_begin(words: Option<Words>, why: &[String]) -> Value {
    json!({
        "command": words.map(|words| words.command),
        "status": "not_begun",
        "exit_code": UNREADABLE,
        "errors": why,
    })
}

/// Adds a path under `key`, and its bytes under `key_hex` where the path is not UTF-8.
pub(crate) fn path(object: &mut Map<String, Value>, key: &str, path: &Path) {
    object.insert(key.into(), path.to_string_lossy().into());
    if path.to_str().is_none() {
        let hex = path.as_os_str().as_encoded_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        object.insert(format!("{key}_hex"), hex.into());
    }
}

/// An object with nothing but a path.
fn one_path(of: &Path) -> Value {
    let mut object = Map::new();
    path(&mut object, "path", of);
    object.into()
}

/// The sources, each with its path and `null` or why it could not be read.
pub(crate) fn sources(sources: &[Source]) -> Value {
    let sources = sources.iter().map(|source| {
        let mut object = Map::new();
        path(&mut object, "path", &source.path);
        object.insert("error".into(), source.error.clone().into());
        object.insert("warning".into(), source.warning.clone().into());
        object.insert("damage".into(), source.damage.into());
        Value::from(object)
    });
    sources.collect()
}

fn status(outcome: &Outcome, exit_code: u8) -> &'static str {
    match exit_code {
        0 => "complete",
        UNREADABLE => "unreadable",
        _ if outcome.signal.is_some() => "stopped",
        _ => "incomplete",
    }
}

pub(crate) fn failure(error: &Error) -> Value {
    let mut object = Map::new();
    match error.path() {
        Some(of) => path(&mut object, "path", of),
        None => drop(object.insert("path".into(), Value::Null)),
    }
    object.insert("operation".into(), snake_case(&format!("{:?}", error.operation())).into());
    object.insert("error".into(), error.to_string().into());
    object.insert("os_error".into(), error.raw_os_error().into());
    object.insert("refusal".into(), error.refusal().map(refusal).into());
    object.into()
}

/// `parent_folder`, `through_symlink`…
pub(super) fn refusal(refusal: Refusal) -> String {
    snake_case(&format!("{refusal:?}"))
}

fn not_kept(not_kept: &NotKept) -> Value {
    let NotKept { entries, xattrs, acls, owners, flags, space, .. } = *not_kept;
    json!({"entries": entries, "xattrs": xattrs, "acls": acls, "owners": owners, "flags": flags, "space": space})
}

fn times(times: &Times) -> Value {
    json!({
        "folders": seconds(times.folders),
        "open": seconds(times.open),
        "write": seconds(times.write),
        "metadata": seconds(times.metadata),
        "sync": seconds(times.sync),
        "close": seconds(times.close),
    })
}

/// Microseconds are enough.
fn seconds(time: Duration) -> Value {
    ((time.as_secs_f64() * 1e6).round() / 1e6).into()
}

/// `ThroughSymlink` → `through_symlink`
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
