//! A part of the matrix is no worse than `docs/reliability.csv` says. The seed is the same each time: what fails here
//! fails again.
#![cfg(target_os = "linux")]

use std::process::Command;

use manyfiles_testkit::{Need, skip_unless};

fn reliability(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_manyfiles-reliability")).args(args).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for line in said.lines() {
        if let Some(what) = line.strip_prefix("skipped: ") {
            manyfiles_testkit::skip(what);
        }
    }
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn a_sample_of_the_matrix_is_as_the_page_says() {
    skip_unless!(Need::Preload);
    let said = reliability(&["--check", "--sample", "7"]);
    assert!(said.contains(" cells, 0 worse"), "{said}");
}

#[test]
fn without_a_fault_everything_is_kept() {
    skip_unless!(Need::Preload);
    let said = reliability(&["--fault", "no fault"]);
    let lines: Vec<&str> = said.lines().skip_while(|line| !line.starts_with("operation;")).skip(1).collect();
    assert!(lines.len() > 30 && lines.iter().all(|line| line.trim_end_matches(';').ends_with(";kept=1")), "{said}");
}
