//! Which cases are tried, and the report of failed ones.

use std::fmt::Write;

use manyfiles_testkit::seeds;

use super::case::Case;

/// Failing cases that are made smaller and shown.
const SHOWN: usize = 4;
/// Attempts to make one smaller.
const ATTEMPTS: usize = 300;

/// Tries `count` cases. `problems` lists the problems of a case; an empty list is a pass.
#[track_caller]
pub(crate) fn try_all(count: u32, case: impl Fn(u64) -> Case, mut problems: impl FnMut(&Case) -> Vec<String>) {
    let mut told = String::new();
    let mut failed = Vec::new();
    for seed in seeds(1, count) {
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
