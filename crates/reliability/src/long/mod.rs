//! Long and large works: a million files, ten million closes, minutes of appending. Each is done by a process of its
//! own that is watched, and its result is checked.

mod child;
mod content;
mod page;
mod row;
mod sampler;
mod verdict;
mod work;
mod works;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use manyfiles_measure::curves::{self, Curve, Panels};
use manyfiles_testkit::{Disk, Need, skip};

pub use child::main as child;
use row::Row;
use sampler::Sample;
use verdict::Kept;
use work::{Place, Result, Size, Work};

/// What is to be done.
#[derive(Debug)]
pub struct Choice {
    size: Size,
    only: String,
    out: PathBuf,
    write: bool,
}

impl Choice {
    pub fn parse(args: &[String]) -> std::result::Result<Choice, String> {
        let mut minutes = None;
        let (mut small, mut write, mut only) = (false, false, String::new());
        let mut out = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/long"));
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match &**arg {
                "--small" => small = true,
                "--write" => write = true,
                "--minutes" => {
                    minutes = Some(value()?.parse::<u64>().map_err(|_| "minutes are a number".to_owned())?);
                }
                "--only" => only.clone_from(value()?),
                "--out" => out = value()?.into(),
                other => return Err(format!("no such option: {other}")),
            }
        }
        if small && write {
            return Err("the page is of large works".into());
        }
        let seconds = minutes.map_or(if small { 1 } else { 300 }, |minutes| 60 * minutes);
        Ok(Choice { size: Size { small, time: Duration::from_secs(seconds) }, only, out, write })
    }
}

pub fn main(choice: &Choice) -> ExitCode {
    match all(choice) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn all(choice: &Choice) -> Result<bool> {
    let works: Vec<_> = works::all().into_iter().filter(|work| work.name().contains(&choice.only)).collect();
    if works.is_empty() {
        return Err(format!("no work has {:?} in its name", choice.only).into());
    }
    fs::create_dir_all(&choice.out)?;
    let made = made();
    let mut sound = true;
    for work in works {
        match one(work, choice, &made) {
            Ok(Some(row)) => {
                sound &= row.is_sound();
                println!("{}: {:.1} s, {} {}, {}", row.name, row.seconds, row.done, row.unit, row.verdict);
                if choice.write {
                    write(&choice.out, row)?;
                }
            }
            Ok(None) => {}
            Err(error) => {
                println!("{}: failed: {error}", work.name());
                sound = false;
            }
        }
    }
    Ok(sound)
}

/// `None` if this machine has no such file system.
fn one(work: &dyn Work, choice: &Choice, made: &str) -> Result<Option<Row>> {
    let size = choice.size;
    let disk = match disk(work.place(), size) {
        Ok(disk) => disk,
        Err(why) => {
            skip(format!("long, {}: {why}", work.name()));
            return Ok(None);
        }
    };
    let folder = disk.path();
    work.prepare(folder, size)?;
    let (watched, done) = child::watch(work, folder, size)?;
    fs::write(choice.out.join(format!("{}.csv", work.name())), sampler::to_csv(&watched.samples))?;
    work.check(folder, size, done)?;
    let kept = work.holds().map(|holds| Kept { bytes: holds.bytes, count: (holds.count)(size) });
    let verdict = verdict::judge(&watched, kept, !size.small);
    Ok(Some(Row::new(work, size, &watched, done, &verdict, made)))
}

fn disk(place: Place, size: Size) -> std::result::Result<Disk, String> {
    // A million small files are 4 KiB each, and a half of that again is room for names, nodes and archives.
    let megabytes = if size.small { 512 } else { 12 << 10 };
    let disk = match place {
        Place::Tmpfs => {
            Need::Root.check()?;
            Disk::tmpfs().inodes(3_000_000)
        }
        Place::Ext4 => {
            Need::LoopDevices.check()?;
            Disk::ext4().inodes(if size.small { 30_000 } else { 1_500_000 })
        }
    };
    disk.megabytes(megabytes).mount().map_err(|error| error.to_string())
}

/// When, of what, and on what.
fn made() -> String {
    let said = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let unknown = || "unknown".to_owned();
    let commit = said("git", &["describe", "--always", "--dirty"]).unwrap_or_else(unknown);
    let kernel = said("uname", &["-sr"]).unwrap_or_else(unknown);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{}, commit {commit}, {kernel}, {cores} cores", chrono::Local::now().format("%Y-%m-%d"))
}

/// Puts one more work into the page, beside those that it has.
fn write(out: &Path, row: Row) -> Result<()> {
    let documents = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    let csv = documents.join("long.csv");
    let known = if csv.exists() { fs::read_to_string(&csv)? } else { String::new() };
    let mut rows = BTreeMap::new();
    for line in known.lines().skip(1) {
        let row = Row::parse(line)?;
        rows.insert(row.name.clone(), row);
    }
    rows.insert(row.name.clone(), row);
    // In the order of the works; of a work that is no more nothing is kept.
    let rows: Vec<Row> = works::all().iter().filter_map(|work| rows.remove(work.name())).collect();
    fs::write(&csv, rows.iter().fold(row::HEAD.to_owned(), |text, row| text + &row.to_line()))?;
    fs::write(documents.join("long.md"), page::page(&rows))?;
    // Samples of works that were done elsewhere are not here.
    let drawn = rows.iter().filter_map(|row| {
        let samples = sampler::parse(&fs::read_to_string(out.join(format!("{}.csv", row.name))).ok()?);
        Some(panels(&row.name, &samples))
    });
    let drawn: Vec<Panels> = drawn.collect();
    fs::write(documents.join("long.svg"), curves::to_svg("Memory, handles and threads over time", &drawn))?;
    Ok(())
}

fn panels(name: &str, samples: &[Sample]) -> Panels {
    let curve = |name: &str, of: fn(&Sample) -> f64| Curve {
        name: name.into(),
        points: samples.iter().map(|sample| (sample.at.as_secs_f64(), of(sample))).collect(),
    };
    Panels {
        heading: name.into(),
        curves: vec![
            curve("memory, MiB", |sample| sample.memory as f64 / f64::from(1 << 20)),
            curve("handles", |sample| sample.handles as f64),
            curve("threads", |sample| sample.threads as f64),
        ],
    }
}
