//! Random programs of calls on the public types, with calls of the system that fail, compared with plain models.
//!
//! A seed is a case: a type, its options, a program of up to 60 calls on up to three threads, and up to three calls of
//! the system that fail. A child process plays it below the preload of the test kit. Then the model of the type judges:
//!
//! - every byte that a call took is in the file, or somebody was told an error with its path;
//! - without a failure the disk is exactly as the model;
//! - no temporary file, no handle and no thread is left, and nothing hangs.
//!
//! Each thread has names of its own, so that the model knows the order of the calls of a file.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

mod appender;
mod case;
mod closer;
mod fs;
mod in_time;
mod marks;
mod model;
mod names;
mod run;
mod story;
mod subject;
mod tree;
mod versions;
mod vfs;
mod writer;

use case::Kind;
pub use run::child;

/// Most of a case is waiting for a process to begin.
const WORKERS: u64 = 3;
/// Without a seed and a number: about half a minute.
const USUAL: u64 = 500;

struct Choice {
    first: u64,
    cases: u64,
    only: String,
}

fn parse(args: &[String]) -> Result<Choice, String> {
    let (mut seed, mut cases, mut only) = (None, None, String::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{arg} needs a number"));
        match &**arg {
            "--seed" => seed = Some(number()?),
            "--cases" => cases = Some(number()?),
            "--only" => only.clone_from(value),
            other => return Err(format!("no such option: {other}")),
        }
    }
    let usual = if seed.is_some() { 1 } else { USUAL };
    Ok(Choice { first: seed.unwrap_or(0), cases: cases.unwrap_or(usual), only })
}

/// `operations [--seed N] [--cases N] [--only TEXT]`.
pub fn main(args: &[String]) -> ExitCode {
    let choice = match parse(args) {
        Ok(choice) => choice,
        Err(wrong) => {
            eprintln!("{wrong}\n{}", crate::USAGE);
            return ExitCode::from(2);
        }
    };
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (played, stop) = (AtomicU64::new(0), Mutex::new(None));
    thread::scope(|scope| {
        for _ in 0..WORKERS.min(choice.cases) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= choice.cases {
                        break;
                    }
                    let seed = choice.first.wrapping_add(n);
                    if !Kind::of(seed).name().contains(&choice.only) {
                        continue;
                    }
                    played.fetch_add(1, Ordering::Relaxed);
                    let problems = run::play(seed, None);
                    if !problems.is_empty() {
                        is_over.store(true, Ordering::Relaxed);
                        stop.lock().expect("no holder panics").get_or_insert((seed, problems));
                    }
                }
            });
        }
    });
    let Some((seed, problems)) = stop.into_inner().expect("no holder panics") else {
        println!("{} cases from seed {}: nothing found", played.into_inner(), choice.first);
        return ExitCode::SUCCESS;
    };
    println!("stopped: --seed {seed}\n{}", problems.join("\n"));
    let (keep, problems) = run::shrink(seed, problems);
    println!("\nthe shortest program that was found to stop:\n{}", case::show(seed, &keep));
    println!("{}", problems.join("\n"));
    ExitCode::FAILURE
}
