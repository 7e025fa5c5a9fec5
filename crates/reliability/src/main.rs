//! The fault matrix: each operation of manyfiles, of its command and of their peers, under each fault, each run in a
//! process of its own. `docs/reliability.md` is what `--write` makes of it. And [`long`]: works that are long or large,
//! with memory, handles and threads over time.
#![allow(unreachable_pub, reason = "one program: what its files share is `pub`")]

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod long;
#[cfg(target_os = "linux")]
mod matrix;
#[cfg(target_os = "linux")]
mod operations;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
mod rows;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod scene;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod tar;
#[cfg(target_os = "linux")]
mod told;

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the faults are made by LD_PRELOAD, FUSE and mounts of Linux");
    std::process::exit(2);
}

#[cfg(target_os = "linux")]
const USAGE: &str =
    "usage: manyfiles-reliability [--write | --check] [--sample SEED] [--row TEXT] [--fault TEXT] [--list] [--verbose]
       manyfiles-reliability long [--small] [--minutes N] [--only TEXT] [--out FOLDER] [--write]
       manyfiles-reliability operations [--seed N] [--cases N] [--only TEXT]

Runs each operation under each fault and prints the cells. Build the command first: cargo build -p manyfiles-cli.
  --write         puts the result into docs/reliability.md and docs/reliability.csv; with --row, those rows of it
  --check         fails where a verdict is not in docs/reliability.csv
  --sample SEED   a part of it that the seed chooses, under a minute
  --row TEXT      only operations whose names have TEXT
  --fault TEXT    only faults whose names have TEXT
  --list          the names of operations and faults
  --verbose       each run that was neither kept nor reported, with what was told and what was on the disk

long does works that are long or large, as root, and watches memory, handles and threads meanwhile.
  --small         so small that all take seconds
  --minutes N     how long works take that have a time (default: 5)
  --only TEXT     only works whose names have TEXT
  --out FOLDER    where the samples go, a file for each work (default: target/long)
  --write         puts the result into docs/long.md, docs/long.csv and docs/long.svg; with --only, those works of it

operations plays random programs of calls on each public type, with calls of the system that fail, and compares the disk
and what was told with a plain model. A stop prints its seed and the shortest program that was found to stop as well.
  --seed N        the first seed, and without --cases the only one
  --cases N       so many seeds, one after the other; without --seed from 0 on
  --only TEXT     only types whose names have TEXT";

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("child") => return child::main(&args[1..]),
        Some("within") => return child::within(&args[1..]),
        Some("neighbour") => return child::neighbour(&args[1..]),
        Some("long-child") => return long::child(&args[1..]),
        Some("long") => {
            return match long::Choice::parse(&args[1..]) {
                Ok(choice) => long::main(&choice),
                Err(wrong) => {
                    eprintln!("{wrong}\n{USAGE}");
                    ExitCode::from(2)
                }
            };
        }
        Some("operations") => return operations::main(&args[1..]),
        Some("operations-child") => return operations::child(&args[1..]),
        _ => {}
    }
    match matrix::Choice::parse(&args) {
        Ok(choice) => matrix::main(&choice),
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
