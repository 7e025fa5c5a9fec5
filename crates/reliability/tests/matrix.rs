//! A part of the matrix is as `docs/reliability.csv` says. The seed is the same each time: what fails here fails again.
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
    assert!(said.contains(" cells, 0 changed"), "{said}");
}

#[test]
fn without_a_fault_everything_is_kept() {
    skip_unless!(Need::Preload);
    let said = reliability(&["--fault", "no fault"]);
    let cells: Vec<&str> = said.lines().filter(|line| line.contains(";no fault;")).collect();
    assert!(cells.len() > 30 && cells.iter().all(|cell| cell.ends_with("kept=1")), "{said}");
}
