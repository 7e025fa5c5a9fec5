//! Random programs of calls against plain models, with the same seeds each time. `scripts/fuzz` takes others.
#![cfg(target_os = "linux")]

use std::process::Command;

use manyfiles_testkit::{Need, skip_unless};

const CASES: u64 = 300;
/// How often a program that has stopped is played again. Where it has several threads, not every run is the same.
const AGAIN: usize = 10;

/// Plays so many programs from a seed on. `Err`: what was said, and the seed of the one that stopped.
fn play(seed: u64, cases: u64) -> Result<(), (String, u64)> {
    let program = env!("CARGO_BIN_EXE_manyfiles-reliability");
    let (first, count) = (seed.to_string(), cases.to_string());
    let output = Command::new(program).args(["operations", "--seed", &first, "--cases", &count]).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        assert!(said.contains(&format!("{cases} cases")), "{said}");
        return Ok(());
    }
    let stopped = said.lines().find_map(|line| line.strip_prefix("stopped: --seed ")?.trim().parse().ok());
    let stopped = stopped.unwrap_or_else(|| panic!("it has ended without a word of a seed: {said}"));
    Err((said, stopped))
}

#[test]
fn programs_of_calls_do_what_their_models_say() {
    skip_unless!(Need::Preload);
    let mut next = 0;
    while let Err((said, stopped)) = play(next, CASES - next) {
        let again = (0..AGAIN).find_map(|_| play(stopped, 1).err());
        assert!(again.is_none(), "{said}");
        // Seen in the summary of all tests: one to be looked at, and no reason to stop.
        println!("run once more: operations: seed {stopped} has stopped once, and not in {AGAIN} runs more: {said}");
        next = stopped + 1;
        if next >= CASES {
            return;
        }
    }
}
