//! manyfiles against its peers, side by side: every group interleaves its entrants round by round, checks every output,
//! and keeps all that was measured, lost rows included.
#![allow(unreachable_pub, reason = "one program: what its files share is `pub`")]

mod chart;
mod checks;
mod contest;
mod figures;
mod foreign;
mod git;
mod groups;
mod installed;
mod mercurial;
mod peers;
mod place;
mod process;
mod progress;
mod raw;
mod report;
mod simulate;
mod target;
mod wine;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use contest::Plan;
use groups::{Group, ScaleJob, SlowJob};
use raw::Origin;
use report::Book;

/// Measures manyfiles against its peers. Needs root for the file systems that it makes.
#[derive(Parser)]
struct Arguments {
    /// What to measure; everything if none is named
    groups: Vec<Group>,
    /// Counted rounds of each contest (short ones get five times as many)
    #[arg(long, value_name = "N", default_value_t = 9)]
    rounds: usize,
    /// Three rounds of each: to see that all works, not to cite
    #[arg(long)]
    quick: bool,
    /// Only contests whose work and file system contain this, such as "folder, close 2 ms"; may be given several times
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Where results are kept, each run in a folder of its own
    #[arg(long, value_name = "DIR", default_value = "bench-results")]
    out: PathBuf,
    /// Measure nothing: write the figures of README.md, docs/benchmarks/README.md and docs/speed.svg anew, from the
    /// raw.csv of each run in docs/benchmarks, and those of docs/scale.md, which are simulated
    #[arg(long, conflicts_with = "groups")]
    figures: bool,
    /// Where downloads are kept; by default in cargo's target folder
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    // What this program starts itself as comes before the arguments of a person.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(process::MEASURE) => {
            let status = process::measure_child(&arguments[1..])?;
            Ok(ExitCode::from(status.code().unwrap_or(128 + status.signal().unwrap_or(0)) as u8))
        }
        Some(ScaleJob::ARGUMENT) => {
            let (job, folder) = ScaleJob::from_args(&arguments[1..])?;
            job.run(&folder).map(|()| ExitCode::SUCCESS)
        }
        Some(SlowJob::ARGUMENT) => SlowJob::from_args(&arguments[1..])?.run().map(|()| ExitCode::SUCCESS),
        _ => measure(Arguments::parse()),
    }
}

fn measure(arguments: Arguments) -> Result<ExitCode> {
    if arguments.figures {
        figures::write(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    // Made first, so that a bad path fails before the long run.
    let folder = arguments.out.join(started.replace(':', "-"));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let cache = match arguments.cache {
        Some(cache) => cache,
        None => target::target_folder().unwrap_or_else(std::env::temp_dir).join("bench-cache"),
    };
    let cache = std::path::absolute(cache)?;

    let rounds = if arguments.quick { 3 } else { arguments.rounds.max(1) };
    let plan = Plan { rounds, quick: arguments.quick, only: &arguments.only };
    let origin = Origin { measured: started, commit: commit(), machine: machine() };
    let header = header(&origin, plan);
    println!("{header}");
    let mut book = Book::default();
    let groups = if arguments.groups.is_empty() { Group::value_variants() } else { &arguments.groups };
    for group in groups {
        group.run(plan, &cache, &mut book)?;
        // After each group, so that an interrupted run keeps what it has.
        save(&book, &folder, &header, &origin)?;
    }
    println!("kept in {}", folder.display());
    Ok(if book.has_wrong_output() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn save(book: &Book, folder: &Path, header: &str, origin: &Origin) -> Result<()> {
    book.save(folder, header, origin)?;
    chart::draw(&book.rows, &folder.join("chart.svg"))
}

/// The first line that a program says.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().find(|line| !line.is_empty()).map(str::to_owned)
}

fn commit() -> String {
    said("git", &["describe", "--always", "--dirty"]).unwrap_or_else(|| "unknown".to_owned())
}

fn machine() -> String {
    let kernel = said("uname", &["-sr"]).unwrap_or_else(|| "an unknown system".to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{kernel}, {cores} cores")
}

/// What the figures were taken on.
fn header(origin: &Origin, plan: Plan) -> String {
    let tools: Vec<String> = [("tar", "--version"), ("bsdtar", "--version"), ("7zz", "--help")]
        .iter()
        .filter_map(|(tool, flag)| said(tool, &[flag]))
        .collect();
    let quick = if plan.quick { "; quick: not to be cited" } else { "" };
    format!(
        "{}, commit {}, {}, {} rounds{quick}\n\n- {}\n- seed {}",
        origin.measured,
        origin.commit,
        origin.machine,
        plan.rounds,
        tools.join("; "),
        checks::SEED
    )
}
