//! Stacks in the form of Brendan Gregg's `stackcollapse`: a line each, frames with `;` between, and a number.

use std::fmt::Write;

use super::path;
use crate::call::Kind;
use crate::report::Report;

/// The time in calls as folded stacks, in microseconds: what kind of call, then the folders, then the file. Programs that
/// draw flame graphs read it (`inferno-flamegraph`, `flamegraph.pl`, speedscope). Files that the report has no row for
/// are one stack. Times below a microsecond are left out.
pub fn folded(report: &Report) -> String {
    let mut out = String::new();
    let mut stack = |frames: &[&str], nanos: u64| {
        if nanos >= 1000 {
            writeln!(out, "{} {}", frames.join(";"), nanos / 1000).expect("a string");
        }
    };
    let mut of_rows = [0_u64; Kind::ALL.len()];
    for file in &report.files.rows {
        let name = path(&file.path).replace(';', ":");
        for kind in Kind::ALL.into_iter().filter(|kind| kind.is_file()) {
            let nanos = file.nanos_by_kind[kind as usize];
            of_rows[kind as usize] += nanos;
            let mut frames = vec![kind.name()];
            frames.extend(name.split(['/', '\\']).filter(|part| !part.is_empty()));
            stack(&frames, nanos);
        }
    }
    for &(kind, sum) in &report.kinds {
        match kind.is_file() {
            true => stack(&[kind.name(), "(other files)"], sum.nanos.saturating_sub(of_rows[kind as usize])),
            false => stack(&[kind.name()], sum.nanos),
        }
    }
    out
}
