//! What a check has found, for people and for programs.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use manyfiles::Error;
use manyfiles::appender::{Damage, FileEnd, FileReport, RepairPlan, Report, check_with, plan_repair};
use serde_json::{Map, Value, json};

use super::place::log_at;
use super::tell::cannot_open;
use crate::args::Progress;
use crate::human::{about, bytes, count, counted};
use crate::report::json_path;
use crate::terminal::{Display, Screen, time_left};
use crate::words::CannotBegin;

/// Reads all of the log, and shows meanwhile how far that is. Fails if there is nothing to be read: no file of it is
/// one of a log.
pub(super) fn find(given: &Path, progress: Progress) -> Result<Report, CannotBegin> {
    let checked = shown(progress, |tell| check_with(log_at(given), tell));
    let report = checked.map_err(|error| cannot_open(given, &error))?;
    match readable(&report) {
        Some(error) => Err(cannot_open(given, error)),
        None => Ok(report),
    }
}

/// What a repair would do, found out in the same way.
pub(super) fn plan(given: &Path, progress: Progress) -> manyfiles::Result<RepairPlan> {
    shown(progress, |tell| plan_repair(log_at(given), tell))
}

/// Shows how far reading is.
fn shown<R>(progress: Progress, read: impl FnOnce(&mut dyn FnMut(f64)) -> R) -> R {
    let screen = Screen::default();
    let mut display = Display::new(progress);
    let result = read(&mut |part| display.show(&screen, |elapsed| seen(part, elapsed)));
    screen.clear();
    result
}

/// Why no file of the log can be read, if that is so.
fn readable(report: &Report) -> Option<&Error> {
    let all_fail = report.files.iter().all(|file| file.bytes == 0 && !file.errors.is_empty() && file.misfit.is_none());
    if all_fail { report.files.iter().flat_map(|file| &file.errors).next() } else { None }
}

fn seen(part: f64, elapsed: Duration) -> (Option<f64>, String) {
    let mut text = "of the log is read".to_owned();
    if let Some(left) = time_left(Some(part), elapsed) {
        text += &format!(", {} left", about(left));
    }
    (Some(part), text)
}

/// A line for each file, with what is wrong with it below, and a line for all of them.
pub(super) fn text(report: &Report) -> String {
    let rows: Vec<[String; 5]> = report.files.iter().map(row).collect();
    let heads = ["positions", "records", "size", "file", "end"].map(str::to_owned);
    let width = |column: usize| rows.iter().chain([&heads]).map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |row: &[String; 5]| {
        let [positions, records, size, file, end] = row;
        let [a, b, c, d, _] = widths;
        format!("{positions:>a$}  {records:>b$}  {size:>c$}  {file:<d$}  {end}\n")
    };
    let mut text = line(&heads);
    for (file, row) in report.files.iter().zip(&rows) {
        text += &line(row);
        for remark in remarks(file) {
            let _infallible = writeln!(text, "    {remark}");
        }
    }
    text += &total(report);
    text.push('\n');
    text
}

fn row(file: &FileReport) -> [String; 5] {
    let is_read = file.bytes > 0;
    let shown = |text: String| if is_read { text } else { "-".to_owned() };
    [
        shown(format!("{}..{}", file.positions.start.0, file.positions.end.0)),
        shown(count(file.records)),
        shown(bytes(file.bytes)),
        name(&file.path),
        if is_read { end(file.end).to_owned() } else { String::new() },
    ]
}

/// A file's name: all of a log are in one folder.
pub(super) fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    crate::human::one_line(&name).into_owned()
}

fn end(end: FileEnd) -> &'static str {
    match end {
        FileEnd::Closed => "closed in order",
        FileEnd::Continued => "the next file goes on",
        _ => "open, or its program ended without closing it",
    }
}

fn remarks(file: &FileReport) -> Vec<String> {
    let mut remarks: Vec<String> = file.damage.iter().map(damaged).collect();
    remarks.extend(file.misfit.iter().map(|misfit| format!("wrong: {misfit}")));
    remarks.extend(file.errors.iter().map(|error| format!("wrong: {}", error.io_error())));
    if file.set_aside_bytes > 0 {
        let bytes = counted(file.set_aside_bytes, "byte", "bytes");
        remarks.push(format!("set aside by a repair: {bytes}; the records that were there are gone"));
    }
    match (file.torn_bytes, file.end) {
        (0, _) => {}
        (n, FileEnd::Continued) => {
            let bytes = counted(n, "byte", "bytes");
            remarks.push(format!("behind its end: {bytes}, which a crash tore or the next file repeats; no damage"));
        }
        (n, _) => {
            let bytes = counted(n, "byte", "bytes");
            remarks.push(format!("torn tail: {bytes} behind the last record, which no sync had covered; no damage"));
        }
    }
    remarks
}

/// One stretch of damage.
pub(super) fn damaged(damage: &Damage) -> String {
    format!("damaged: {} from {} on", counted(damage.bytes, "byte", "bytes"), count(damage.offset))
}

fn total(report: &Report) -> String {
    let records = counted(report.records(), "record", "records");
    let files = counted(report.files.len() as u64, "file", "files");
    let stretches = report.files.iter().map(|file| file.damage.len() as u64).sum();
    let errors = report.files.iter().map(|file| file.errors.len() as u64 + u64::from(file.misfit.is_some())).sum();
    let mut wrong = Vec::new();
    if stretches > 0 {
        let damaged = counted(report.damaged_bytes(), "byte is", "bytes are");
        wrong.push(format!("{damaged} damaged, in {}", counted(stretches, "place", "places")));
    }
    if errors > 0 {
        wrong.push(format!("{} wrong with its files", counted(errors, "thing is", "things are")));
    }
    match wrong.is_empty() {
        true => format!("nothing is wrong: {records} in {files}"),
        false => format!("{records} can be read in {files}; {}", wrong.join("; ")),
    }
}

/// Each file, for programs.
pub(super) fn objects(report: &Report) -> Value {
    report.files.iter().map(object).collect()
}

fn object(file: &FileReport) -> Value {
    let mut object = Map::new();
    json_path(&mut object, "file", &file.path);
    object.insert("bytes".into(), file.bytes.into());
    object.insert("first_position".into(), file.positions.start.0.into());
    object.insert("end_position".into(), file.positions.end.0.into());
    object.insert("records".into(), file.records.into());
    let end = match file.end {
        FileEnd::Closed => "closed",
        FileEnd::Continued => "continued",
        _ => "open",
    };
    object.insert("end".into(), end.into());
    object.insert("torn_bytes".into(), file.torn_bytes.into());
    object.insert("set_aside_bytes".into(), file.set_aside_bytes.into());
    object.insert("damage".into(), stretches(&file.damage));
    object.insert("errors".into(), errors(file));
    object.into()
}

/// Stretches of damage, for programs.
pub(super) fn stretches(damage: &[Damage]) -> Value {
    damage.iter().map(|Damage { offset, bytes, .. }| json!({"offset": offset, "bytes": bytes})).collect()
}

/// What is wrong with a file besides damage.
fn errors(file: &FileReport) -> Value {
    let misfit = file.misfit.map(|misfit| format!("{}: {misfit}", file.path.display()));
    misfit.into_iter().chain(file.errors.iter().map(Error::to_string)).collect()
}
