//! Random programs of calls against plain models, with the same seeds each time. `scripts/fuzz` takes others.
#![cfg(target_os = "linux")]

use std::process::Command;

use manyfiles_testkit::{Need, skip_unless};

#[test]
fn programs_of_calls_do_what_their_models_say() {
    skip_unless!(Need::Preload);
    let program = env!("CARGO_BIN_EXE_manyfiles-reliability");
    let output = Command::new(program).args(["operations", "--seed", "0", "--cases", "300"]).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("300 cases"), "{said}");
}
