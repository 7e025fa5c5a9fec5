//! The arguments of `log` and its commands.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Progress;

/// Read, check and repair logs of framed records, as programs write them with manyfiles::appender.
///
/// LOG is the path that the program gave the log, such as events, or one of its files, such as events.000003: either
/// way all files of the log are meant. Records have positions, which are numbers that grow and stay what they are when
/// the log is rotated.
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Log {
    #[command(subcommand)]
    pub command: LogCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum LogCommand {
    Cat(Cat),
    Tail(Tail),
    Check(Check),
    Repair(Repair),
}

/// Print the records of a log.
///
/// A record is printed as it is, and a newline behind it if it has none at its end. A record that holds newlines, or
/// bytes that are no text, is printed as it is too: --json, --hex and --null tell records apart whatever they hold.
/// Records that a program appends after this command has begun are not printed.
///
/// Damage is told on standard error, and everything that can be read is printed.
#[derive(Args, Debug)]
#[command(after_help = CAT_EXAMPLES, after_long_help = CAT_EXAMPLES_AND_EXIT)]
pub(crate) struct Cat {
    /// The log, or one of its files
    #[arg(value_name = "LOG", value_hint = ValueHint::FilePath)]
    pub log: PathBuf,

    /// Begin with the record at this position; records before it are not read
    #[arg(long, value_name = "POSITION")]
    pub from: Option<u64>,

    /// End before the record at this position
    #[arg(long, value_name = "POSITION")]
    pub to: Option<u64>,

    /// Print only how many records there are
    #[arg(long, help_heading = "What is printed", group = "form")]
    pub count: bool,

    #[command(flatten)]
    pub form: Form,
}

/// Print the last records of a log, and follow new ones.
///
/// Records are printed as by 'manyfiles log cat'. With --follow those that are appended later follow, by whatever
/// program and across rotation, until Ctrl-C. A record is printed when it is written; a power cut may still take it
/// from the log. Programs that append are not slowed down.
#[derive(Args, Debug)]
#[command(after_help = TAIL_EXAMPLES, after_long_help = TAIL_EXAMPLES_AND_EXIT)]
pub(crate) struct Tail {
    /// The log, or one of its files
    #[arg(value_name = "LOG", value_hint = ValueHint::FilePath)]
    pub log: PathBuf,

    /// Begin with the last N records
    #[arg(short = 'n', long = "records", value_name = "N", default_value_t = 10)]
    pub records: usize,

    /// Begin with the record at this position; --json shows where to read on
    #[arg(long, value_name = "POSITION", conflicts_with = "records")]
    pub from: Option<u64>,

    /// Go on with records that are appended later
    #[arg(short, long)]
    pub follow: bool,

    #[command(flatten)]
    pub form: Form,
}

/// Read all of a log, and report the content of its files and their damage.
///
/// For each file: the positions that it has, how many records, and how it ends. Changes nothing; a program may have the
/// log open.
///
/// Damage is bytes that were safe on the disk once and have changed. A torn tail is no damage: a crash left it of
/// records that no sync had covered yet. It is shown, and is nothing wrong.
#[derive(Args, Debug)]
#[command(after_help = CHECK_EXAMPLES, after_long_help = CHECK_EXAMPLES_AND_EXIT)]
pub(crate) struct Check {
    /// The log, or one of its files
    #[arg(value_name = "LOG", value_hint = ValueHint::FilePath)]
    pub log: PathBuf,

    /// Print one JSON object in place of the table
    ///
    /// Its keys: command, status (sound, damaged, not_begun), exit_code, log, records, damaged_bytes, files: each with
    /// file, bytes, first_position, end_position, records, end (closed, continued, open), torn_bytes, set_aside_bytes,
    /// damage (offset, bytes) and errors. If nothing can be read: errors.
    #[arg(long)]
    pub json: bool,

    /// Say nothing; the exit status tells
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,

    /// Show how much of the log is read on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum)]
    pub progress: Progress,
}

/// Set the damage of a log aside, so that its program can open it again.
///
/// Each damaged file is kept, byte by byte, under its name with '.damaged' behind it, and replaced by one that has all
/// its whole records at their positions. Nothing is thrown away, and what is not damaged is not touched. Refuses while
/// a program has the log open.
///
/// A last file with which no program can go on is mended too: one that is empty, or an older file of the log under a
/// new number, gets a name that ends in '.damaged'; one that is compressed, with no file behind it any more, is
/// unpacked.
///
/// A log that was only cut off by a crash needs no repair: its program opens it as it is. What cannot be mended, such
/// as a file that is missing between others, is told.
#[derive(Args, Debug)]
#[command(after_help = REPAIR_EXAMPLES, after_long_help = REPAIR_EXAMPLES_AND_EXIT)]
pub(crate) struct Repair {
    /// The log, or one of its files
    #[arg(value_name = "LOG", value_hint = ValueHint::FilePath)]
    pub log: PathBuf,

    /// Say what would be done, and change nothing; a program may have the log open
    #[arg(long)]
    pub dry_run: bool,

    /// Print one JSON object on standard output
    ///
    /// Its keys: command, status (sound, damaged, not_begun; dry_run with --dry-run), exit_code, log, repaired: each
    /// with file, kept (where all of its old bytes are; not with --dry-run), damage (offset, bytes) and, of a last file
    /// with which no program can go on, misfit (why); and errors, which stay. If nothing could be begun: errors.
    #[arg(long)]
    pub json: bool,

    /// Print remaining problems only
    #[arg(short, long)]
    pub quiet: bool,

    /// Show how much of the log is read on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum)]
    pub progress: Progress,
}

/// How records are printed.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Print a JSON object for each record, one a line
    ///
    /// Its keys: position, next (give it to --from to read on behind this record), and text, or base64 where the bytes
    /// are no UTF-8. What cannot be read is an object in its place: error, file, and, if it is damage, offset and
    /// bytes, which part of the file it is; if files were removed, missing_from and missing_to, the positions between
    /// which records are missing.
    #[arg(long, help_heading = "What is printed", group = "form")]
    pub json: bool,

    /// Print each record in hexadecimal, one a line
    #[arg(long, help_heading = "What is printed", group = "form")]
    pub hex: bool,

    /// End each record with a zero byte, as 'xargs -0' and 'sort -z' read them, and with nothing else
    #[arg(short = 'z', long, help_heading = "What is printed", group = "form")]
    pub null: bool,
}

const EXAMPLES: &str = "\
Examples:
  manyfiles log cat events            all records, one a line
  manyfiles log tail -f events        the last ten, and those that come
  manyfiles log check events          what is in its files, and what is wrong
  manyfiles log repair events         damage is set aside; nothing is thrown away

A log without frames is just its lines: 'cat', 'tail -F' and 'grep' read it.";

macro_rules! cat_examples {
    () => {
        "\
Examples:
  manyfiles log cat events
  manyfiles log cat events --json | jq -r 'select(.position >= 4096) | .text'
  manyfiles log cat events --from 81920 --to 163840
  manyfiles log cat events --null | sort -z | uniq -z -c"
    };
}

macro_rules! tail_examples {
    () => {
        "\
Examples:
  manyfiles log tail events -n 100
  manyfiles log tail events --follow | grep --line-buffered error
  manyfiles log tail events --follow --from 81920 --json"
    };
}

macro_rules! exit_status {
    ($($more:literal)?) => {
        concat!(
            "\n
Exit status:
  0    all records are printed, or their reader has closed the pipe
  1    some cannot be read, as standard error tells; the rest is printed
  2    wrong usage, or it is no log of framed records, or it cannot be opened",
            $($more,)?
            "\n
What a crash left behind the last record, of a record that never became whole, is
told and is no damage. So is what 'manyfiles log repair' has set aside."
        )
    };
}

const CAT_EXAMPLES: &str = cat_examples!();
const CAT_EXAMPLES_AND_EXIT: &str = concat!(cat_examples!(), exit_status!());
const TAIL_EXAMPLES: &str = tail_examples!();
const TAIL_EXAMPLES_AND_EXIT: &str = concat!(
    tail_examples!(),
    exit_status!(
        "
  130  stopped by Ctrl-C; 143: by SIGTERM; 129: by SIGHUP, as when the terminal
       is closed"
    )
);

macro_rules! check_examples {
    () => {
        "\
Examples:
  manyfiles log check events
  manyfiles log check events -q || echo 'something is wrong with it'
  manyfiles log check events --json | jq '.files[] | select(.damage != [])'"
    };
}

macro_rules! repair_examples {
    () => {
        "\
Examples:
  manyfiles log repair events --dry-run
  manyfiles log repair events"
    };
}

const CHECK_EXAMPLES: &str = check_examples!();
const CHECK_EXAMPLES_AND_EXIT: &str = concat!(
    check_examples!(),
    "\n
Exit status:
  0    nothing is wrong
  1    damage, a file that is missing, or a part that cannot be read
  2    wrong usage, or it is no log of framed records, or it cannot be opened
  130  stopped by Ctrl-C"
);
const REPAIR_EXAMPLES: &str = repair_examples!();
const REPAIR_EXAMPLES_AND_EXIT: &str = concat!(
    repair_examples!(),
    "\n
Exit status:
  0    nothing is wrong any more; with --dry-run: nothing would be
  1    something is wrong that cannot be mended, as is told
  2    wrong usage, or it is no log of framed records, or a program has it open,
       or repairing failed

Killed, or without power, it leaves each file as it was, or mended, and at most
a file '….damaged' more, and a temporary one that the log's program removes."
);
