//! What the tests of this crate share.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::path::PathBuf;

use manyfiles_trace::{Error, Progress, Report, explain};

/// A trace that comes with the tests.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a trace tells.
#[track_caller]
pub(crate) fn report(trace: &[u8]) -> Report {
    read(trace).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn read(mut trace: &[u8]) -> Result<Report, Error> {
    explain(&mut trace, &Progress::default())
}

/// Calls, failures and nanoseconds of an operation.
#[track_caller]
pub(crate) fn operation(report: &Report, name: &str) -> (u64, u64, u64) {
    let found = report.operations.iter().find(|operation| operation.name == name);
    let sum = found.unwrap_or_else(|| panic!("no {name} in {:?}", report.operations)).sum;
    (sum.calls, sum.failed, sum.nanos)
}

/// Calls, opens and nanoseconds of a file.
#[track_caller]
pub(crate) fn file(report: &Report, path: &str) -> (u64, u64, u64) {
    let found = report.files.rows.iter().find(|file| *file.path == *path.as_bytes());
    let file = found.unwrap_or_else(|| panic!("no {path} in {:?}", report.files.rows));
    (file.sum.calls, file.opens, file.sum.nanos)
}
