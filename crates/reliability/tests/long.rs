//! The long and large works, small: their contents are right, and no handle, thread or temporary file is left.
#![cfg(target_os = "linux")]

use std::process::Command;

use manyfiles_testkit::{Need, skip_unless};

/// More than any of the works takes when it is small, in a debug build.
const MOST_MEMORY: u64 = 400 << 20;

#[test]
fn long_works_leave_nothing_behind_and_lose_nothing_when_they_are_small() {
    skip_unless!(Need::Root, Need::LoopDevices);
    let out = tempfile::tempdir().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_manyfiles-reliability"));
    let output = program.args(["long", "--small", "--out"]).arg(out.path()).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    let sound = said.lines().filter(|line| line.ends_with(", flat") || line.ends_with(", as documented")).count();
    let mut samples = 0;
    for entry in std::fs::read_dir(out.path()).unwrap() {
        let path = entry.unwrap().path();
        for line in std::fs::read_to_string(&path).unwrap().lines().skip(1) {
            let memory: u64 = line.split(',').nth(1).unwrap().parse().unwrap();
            assert!(memory < MOST_MEMORY, "{}: {line}", path.display());
            samples += 1;
        }
    }
    assert!(sound >= 15 && samples > sound, "{said}");
}
