//! Which cases are tried, and the report of failed ones.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use super::case::Case;

/// Failing cases that are made smaller and shown.
const SHOWN: usize = 4;
/// Attempts to make one smaller.
const ATTEMPTS: usize = 300;

/// The seeds of a test: `count` times MANYFILES_ROUNDS of them from 1 on, the same every time. MANYFILES_SEED is the
/// one to try alone, or "random": as many from a seed chosen by chance.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let number =
        |name| std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: a number")));
    let count = count * number("MANYFILES_ROUNDS").unwrap_or(1);
    match std::env::var("MANYFILES_SEED").as_deref() {
        Ok("random") => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
            let first = now as u64 >> 8 & 0xffff_ffff_ffff;
            first..first + count
        }
        Ok(_) => number("MANYFILES_SEED").map(|seed: u64| seed..seed + 1).unwrap(),
        Err(_) => 1..1 + count,
    }
}

/// Tries `count` cases. `problems` lists the problems of a case; an empty list is a pass.
#[track_caller]
pub(crate) fn try_all(count: u64, case: impl Fn(u64) -> Case, mut problems: impl FnMut(&Case) -> Vec<String>) {
    let mut told = String::new();
    let mut failed = Vec::new();
    for seed in seeds(count) {
        let case = case(seed);
        let mut wrong = problems(&case);
        if wrong.is_empty() {
            continue;
        }
        failed.push(seed);
        let _ = writeln!(told, "seed {seed} ({}): {}", case.policy.option(), wrong[0]);
        if failed.len() <= SHOWN {
            let mut smallest = case;
            let mut attempts = 0;
            loop {
                let smaller = smallest.smaller().find_map(|case| {
                    attempts += 1;
                    if attempts > ATTEMPTS || wrong.iter().any(|why| is_hang(why)) {
                        return None;
                    }
                    let why = problems(&case);
                    // The smaller case must show the same problem, not another one.
                    why.first().is_some_and(|why| kind(why) == kind(&wrong[0])).then_some((case, why))
                });
                let Some((case, why)) = smaller else { break };
                (smallest, wrong) = (case, why);
            }
            let _ = write!(told, "{smallest}");
            wrong.iter().for_each(|line| {
                let _ = writeln!(told, "  {line}");
            });
        }
        if wrong.iter().any(|why| is_hang(why)) {
            let _ = writeln!(told, "no more are tried after one that hangs");
            break;
        }
    }
    assert!(
        failed.is_empty(),
        "{} cases differ; MANYFILES_SEED={} tries the first alone, MANYFILES_KEEP=1 leaves its folder.\n{told}",
        failed.len(),
        failed[0]
    );
}

/// The kind of a difference: the line without its path and its numbers.
fn kind(line: &str) -> String {
    let (program, rest) = line.split_once(": ").unwrap_or((line, ""));
    let about = rest.rsplit(": ").next().unwrap_or_default();
    let words = about.split([' ', ',']).filter(|word| word.chars().all(char::is_alphabetic));
    let other = if rest.contains(": ") { program } else { "" };
    format!("{other} {}", words.collect::<Vec<_>>().join(" "))
}

/// Whether the command was killed because it did not end. Another attempt would take as long.
fn is_hang(line: &str) -> bool {
    line.starts_with("exit status None")
}
