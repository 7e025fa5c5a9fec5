//! All runs, or a part of them.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use manyfiles_testkit::{Need, Random};

use crate::faults::{self, Fault, Mount};
use crate::judge::{Verdict, judge};
use crate::rows::{self, How, Row, commands_path};
use crate::run::run;
use crate::table::Table;
use crate::{page, scene};

/// Rows are independent of each other, and most of a run is waiting for a process to begin.
const WORKERS: usize = 3;
/// More calls than any operation here makes: a run that goes on for ever is a mistake of this program.
const MOST_CASES: u64 = 400;
/// Cells of each operation in a sample.
const SAMPLED: usize = 5;

/// What is to be run, and what is done with the result.
#[derive(Debug, Default)]
pub struct Choice {
    write: bool,
    check: bool,
    list: bool,
    verbose: bool,
    sample: Option<u64>,
    row: String,
    fault: String,
}

impl Choice {
    pub fn parse(args: &[String]) -> Result<Choice, String> {
        let mut choice = Choice::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match &**arg {
                "--write" => choice.write = true,
                "--check" => choice.check = true,
                "--list" => choice.list = true,
                "--verbose" => choice.verbose = true,
                "--sample" => choice.sample = Some(value()?.parse().map_err(|_| "a seed is a number".to_owned())?),
                "--row" => choice.row.clone_from(value()?),
                "--fault" => choice.fault.clone_from(value()?),
                other => return Err(format!("no such option: {other}")),
            }
        }
        if choice.write && (choice.check || choice.sample.is_some() || !choice.fault.is_empty()) {
            return Err("what is written is whole rows".into());
        }
        Ok(choice)
    }
}

pub fn main(choice: &Choice) -> ExitCode {
    match work(choice) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn documents() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"))
}

fn work(choice: &Choice) -> io::Result<bool> {
    // A peer of another version may do other things: the page has them, the check does not.
    let is_asked = |row: &Row| row.name.contains(&choice.row) && (row.is_ours || !choice.check);
    let all_rows = rows::all();
    let names: Vec<&str> = all_rows.iter().map(|row| row.name).collect();
    let rows: Vec<&Row> = all_rows.iter().filter(|row| is_asked(row)).collect();
    let faults: Vec<_> = faults::all().into_iter().filter(|(name, _)| name.contains(&choice.fault)).collect();
    if choice.list {
        rows.iter().for_each(|row| println!("{}: {}", row.group, row.name));
        faults.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(true);
    }
    if commands_path().is_none() {
        if choice.write {
            return Err(io::Error::other("build the command first: cargo build -p manyfiles-cli"));
        }
        println!("skipped: the rows of the command: it is not built (cargo build -p manyfiles-cli)");
    }
    if let Some(seed) = choice.sample {
        println!("sample {seed}: again with --sample {seed}");
    }
    let asked = faults.len();
    let faults = possible(faults);
    if choice.write && faults.len() < asked {
        return Err(io::Error::other("this machine cannot make the whole page"));
    }
    let table = Mutex::new(Table::default());
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = one_row(row, &faults, choice, &table) {
                        *failed.lock().expect("no holder panics") = Some(format!("{}: {error}", row.name));
                    }
                }
            });
        }
    });
    if let Some(error) = failed.into_inner().expect("no holder panics") {
        return Err(io::Error::other(error));
    }
    let now = table.into_inner().expect("no holder panics");
    let all_faults = faults::all();
    let fault_names: Vec<&str> = all_faults.iter().map(|(name, _)| *name).collect();
    let csv = documents().join("reliability.csv");
    let on_the_page = || Table::from_csv(&std::fs::read_to_string(&csv)?).map_err(io::Error::other);
    if choice.write {
        let mut all = now;
        if !choice.row.is_empty() {
            // Of operations that did not run, what is known stays.
            let mut known = on_the_page()?;
            known.0.retain(|(row, _), _| !all.has_row(row) && names.contains(&row.as_str()));
            all.0.extend(known.0);
        }
        std::fs::write(&csv, all.to_csv(&names, &fault_names))?;
        std::fs::write(documents().join("reliability.md"), page::page(&all, &all_rows))?;
        return Ok(true);
    }
    if choice.check {
        let worse = on_the_page()?.worse(&now);
        worse.iter().for_each(|line| println!("{line}"));
        println!("{} cells, {} worse than docs/reliability.csv says", now.0.len(), worse.len());
        return Ok(worse.is_empty());
    }
    print!("{}", now.to_csv(&names, &fault_names));
    Ok(true)
}

/// Those that this machine can make. Of the others it says why not.
fn possible(mut faults: Vec<(&'static str, Fault)>) -> Vec<(&'static str, Fault)> {
    let mut missing = std::collections::BTreeMap::<String, Vec<&str>>::new();
    faults.retain(|(name, fault)| match can_be_made(fault) {
        Ok(()) => true,
        Err(why) => {
            missing.entry(why).or_default().push(name);
            false
        }
    });
    for (why, names) in missing {
        println!("skipped: {}: {why}", names.join("; "));
    }
    faults
}

/// What a fault needs of the machine.
fn can_be_made(fault: &Fault) -> Result<(), String> {
    match fault {
        Fault::Once(_) | Fault::Short | Fault::Onwards(_) | Fault::Threads => Need::Preload.check(),
        Fault::FullDisk(_) => Need::Root.check(),
        Fault::Mount(_) => Need::Fuse.check(),
        _ => Ok(()),
    }
}

fn one_row(row: &Row, faults: &[(&str, Fault)], choice: &Choice, table: &Mutex<Table>) -> io::Result<()> {
    let scene = (row.scene)();
    let mut picked: Vec<_> = faults.iter().collect();
    let mut random = Random::new(0);
    if let Some(seed) = choice.sample {
        random = Random::new(seed ^ row.name.bytes().fold(0_u64, |sum, byte| sum.rotate_left(5) ^ u64::from(byte)));
        while picked.len() > SAMPLED {
            picked.swap_remove(random.below(picked.len()));
        }
    }
    for (name, fault) in picked {
        if matches!((fault, &row.how), (Fault::Threads, How::Program(_))) {
            continue;
        }
        // Of a fault with many cases, a sample takes a few in a row, from anywhere.
        let first = if choice.sample.is_some() && is_many(fault) { random.below(12) as u64 } else { 0 };
        for n in first..MOST_CASES {
            if choice.sample.is_some() && n >= first + 4 {
                break;
            }
            let Some(outcome) = run(row, &scene, fault, n)? else {
                break;
            };
            let met = outcome.fired.first();
            if is_many(fault) && met.is_none() {
                break;
            }
            let (verdicts, why) = judge(row, &scene, fault, &outcome);
            if choice.verbose && !verdicts.iter().all(|verdict| verdict.is_good()) {
                let at = met.map(|met| format!("{} {}", met.call, met.path.display())).unwrap_or_default();
                println!("{} under {name}, case {n} {at}: {why}", row.name);
                for path in scene::below(&outcome.folder.join("dst")) {
                    println!("    {} {:?}", path.display(), path.metadata().map(|metadata| metadata.len()));
                }
            }
            let hangs = verdicts.contains(&Verdict::Hang);
            table.lock().expect("no holder panics").add(row.name, name, verdicts);
            if hangs {
                break; // each costs the watchdog's time
            }
        }
    }
    Ok(())
}

/// The case behind the last one is a run in which nothing fails.
fn is_many(fault: &Fault) -> bool {
    matches!(fault, Fault::Once(_) | Fault::Short | Fault::Onwards(_) | Fault::Threads | Fault::Mount(Mount::Once(..)))
}
