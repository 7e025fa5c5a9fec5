//! The arguments of `explain`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};

use super::Progress;

/// Tell from a trace where a program's file time goes, and what would save it.
///
/// A trace is recognised by its content: an export of Process Monitor (CSV or XML), the output of strace (strace -f -T
/// -ttt -y -o FILE COMMAND), or of perf trace, as it is or compressed with gzip, zstd, xz or bzip2. Told are calls and time by operation, file, folder and thread; closes
/// after a write; files opened again and again; small writes that a buffer would merge; syncs that a batch would merge;
/// and what each would save, with the arithmetic.
///
/// Sums by operation are exact. Lines that are not understood are counted, and the first is shown.
#[derive(Args, Debug)]
#[command(
    override_usage = "manyfiles explain [OPTIONS] <TRACE>\n       manyfiles explain [OPTIONS] -- <COMMAND>...",
    after_help = EXAMPLES,
    after_long_help = EXAMPLES_AND_EXIT
)]
pub(crate) struct Explain {
    /// The trace; '-' is standard input
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath, required_unless_present = "command", conflicts_with = "command")]
    pub trace: Option<PathBuf>,

    /// A command to trace with strace, with its arguments
    ///
    /// The trace goes to a temporary file, which is removed. The tables go to standard error, and the command's exit
    /// status is passed on.
    #[arg(value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments, last = true)]
    pub command: Vec<OsString>,

    /// Write a page with charts that needs no network: open it in a browser
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Write the time as folded stacks, for flame graphs: kind of call, folders, file, and microseconds
    ///
    /// Programs that draw flame graphs read it: inferno-flamegraph, flamegraph.pl, speedscope.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["html", "json", "compare"])]
    pub folded: Option<PathBuf>,

    /// Tell how TRACE differs from this one, of the same work before a change: calls and time by operation
    #[arg(long, value_name = "BEFORE", value_hint = ValueHint::FilePath, conflicts_with = "html")]
    pub compare: Option<PathBuf>,

    /// Print the report as one JSON object on standard output, instead of the tables
    ///
    /// Its keys: command, status (complete, incomplete, unreadable), exit_code, trace, html, format, trace_bytes,
    /// lines, damaged (lines; first: line, text), has_durations, total, on_files, run_seconds, calls_without_duration,
    /// never_returned, not_seen (io_uring_calls, files_mapped_to_write, files_mapped_to_read), tracing_seconds_per_call, kinds, operations, threads, files, without_name, folders, closes,
    /// opened_again, small_writes, syncs, files_made, folders_were_there, findings (title, part, saves_seconds,
    /// saves_calls where the time can't be told, arithmetic, told), timeline. Sums have calls, failed, seconds and
    /// bytes; seconds are null if the trace has no durations. With --compare: command, status, exit_code, trace,
    /// compared_with, before and after (run_seconds), operations, on_files, all (before, after). If nothing could be begun: status not_begun, and errors.
    #[arg(long, help_heading = "What is told")]
    pub json: bool,

    /// Print no tables, and errors only
    #[arg(short, long, conflicts_with = "verbose", help_heading = "What is told")]
    pub quiet: bool,

    /// Tables of 50 rows, not 10; twice: of 100
    #[arg(short, long, action = ArgAction::Count, help_heading = "What is told")]
    pub verbose: u8,

    /// Show how much of the trace is read, rate and time left on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum, help_heading = "What is told")]
    pub progress: Progress,
}

macro_rules! examples {
    () => {
        "\
Examples:
  manyfiles explain -- hg clone repo copy           trace a command, and explain it
  strace -f -T -ttt -y -o make.strace make; manyfiles explain make.strace
  manyfiles explain Logfile.CSV --html where.html   from Process Monitor, with its Duration column
  manyfiles explain big.strace.gz --json
  manyfiles explain --compare before.strace after.strace
  manyfiles explain make.strace --folded make.folded; inferno-flamegraph make.folded > make.svg"
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_EXIT: &str = concat!(
    examples!(),
    "\n
Exit status:
  0    all of the trace is explained
  1    part of it: some lines were not understood, or it has no durations; or
       a result that could not be written
  2    wrong usage, or a trace that cannot be read or is something else
  130  stopped by Ctrl-C
  143  the same by SIGTERM; 129: by SIGHUP, as when the terminal is closed
With a COMMAND: its own exit status, or 2 if it cannot be traced."
);
