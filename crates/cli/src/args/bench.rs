//! The arguments of `bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::Progress;

/// Measure what manyfiles gains in a folder over plain Rust: many files, a font, small records, kept handles, durable
/// batches.
///
/// Plain std, rayon and manyfiles do the same work in turn, round by round, in a folder of its own below DIR. Every
/// output is checked, a time counts until the last file is closed (and synced, where that is promised), and rows that
/// are lost stay. The folder is removed again, also when it is interrupted. Needs 268 MB of free space.
///
/// The works: 2,300 files in one folder, a font of 2,305 XML files, 10,000 files in 600 folders; 32 MiB in records of 1
/// B, 100 B, 1 KiB and 8 KiB; 1,000, 5,000 and 10,000 small writes to one path; 500 durable files; 400 durable records
/// from 8 threads.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES_AND_EXIT)]
pub(crate) struct Bench {
    /// Folder to measure in: its file system is measured
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,

    /// Only works with this in their name, such as 'files' or '1 KiB'
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,

    /// Counted rounds of each work, 3 or more; one more before them warms up
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(3..=1000))]
    pub rounds: u16,

    /// When to end: works take fewer rounds (3 at least) or are left out and named; tidying up comes on top
    #[arg(long, value_name = "N", default_value = "60", value_parser = seconds)]
    pub seconds: Duration,

    /// Let closing a file take N ms longer, as on Windows with a virus scanner
    ///
    /// The files are closed by a drop that waits. That is possible for files that the program itself closes: plain std,
    /// rayon and FastClose. Everything else is left out, and named.
    #[arg(long, value_name = "N", value_parser = milliseconds)]
    pub simulate_close_ms: Option<Duration>,

    /// Print one JSON object in place of the tables
    ///
    /// Its keys: command, status (complete, incomplete), exit_code, folder, file_system, source, mount_point,
    /// mount_options, remarks, processors, seed, rounds, seconds, simulate_close_ms, tables (work, amount, unit,
    /// rounds, taken_by_others, noise: why its figures are not to be trusted, or null; entrants, each with name,
    /// seconds and times_as_fast (median, low, high, confidence: the interval and what it covers; null where there is
    /// none), spread, problems, runs), left_out (what, why). Times are in seconds. If nothing could be measured: status not_begun or
    /// stopped, and errors.
    #[arg(long, help_heading = "What is told")]
    pub json: bool,

    /// Write every counted run into this file, as CSV
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What is told")]
    pub csv: Option<PathBuf>,

    /// Draw how many times as fast each is into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What is told")]
    pub svg: Option<PathBuf>,

    /// Show no progress
    #[arg(short, long, conflicts_with = "progress", help_heading = "What is told")]
    pub quiet: bool,

    /// Show the work, the round and the time that has passed on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum, help_heading = "What is told")]
    pub progress: Progress,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "give a number of seconds, such as 60 or 2.5".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if (0.1..=86_400.0).contains(&seconds) => Ok(time),
        _ => Err("give 0.1 to 86400 seconds".into()),
    }
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    let wait: f64 = text.parse().map_err(|_| "give a number of milliseconds, such as 2 or 0.5".to_owned())?;
    match Duration::try_from_secs_f64(wait / 1e3) {
        Ok(time) if (0.01..=1000.0).contains(&wait) => Ok(time),
        _ => Err("give 0.01 to 1000 milliseconds".into()),
    }
}

macro_rules! examples {
    () => {
        "\
Examples:
  manyfiles bench                            the current folder's file system
  manyfiles bench /mnt/nas --seconds 600 --svg nas.svg
  manyfiles bench --only 'one folder' --rounds 15 --csv runs.csv
  manyfiles bench --simulate-close-ms 2      what a slow close would cost here"
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_EXIT: &str = concat!(
    examples!(),
    "\n
Exit status:
  0    measured; what the time did not suffice for is named
  1    a run failed or left wrong output, which the tables show; or a result
       could not be written
  2    wrong usage, or the folder cannot be written to
  130  stopped by Ctrl-C
  143  the same by SIGTERM; 129: by SIGHUP, as when the terminal is closed"
);
