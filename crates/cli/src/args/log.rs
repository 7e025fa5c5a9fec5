//! The arguments of `log` and its commands.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Read and check logs of framed records, as programs write them with manyfiles::appender.
///
/// LOG is the path that the program gave the log, such as events, or one of its files, such as events.000003: either way all files
/// of the log are meant. Records have positions, which are numbers that grow and stay what they are when the log is rotated.
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Log {
    #[command(subcommand)]
    pub command: LogCommand,
}

#[derive(Subcommand, Debug)]
pub enum LogCommand {
    Cat(Cat),
    Tail(Tail),
}

/// Print the records of a log.
///
/// A record is printed as it is, and a newline behind it if it has none at its end. A record that holds newlines, or bytes that are
/// no text, is printed as it is too: --json, --hex and --null tell records apart whatever they hold. Records are those that are there
/// when this begins; a program may write meanwhile.
///
/// Damage is told on standard error, and everything that can be read is printed.
#[derive(Args, Debug)]
#[command(after_help = CAT_EXAMPLES, after_long_help = CAT_EXAMPLES_AND_EXIT)]
pub struct Cat {
    /// The log, or one of its files
    #[arg(value_name = "LOG", value_hint = ValueHint::FilePath)]
    pub log: PathBuf,

    /// Begin with the record at this position; what is before it is not read
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

/// Print the last records of a log, and those that come.
///
/// Records are printed as by 'manyfiles log cat'. With --follow those that are appended later follow, by whatever program and across
/// rotation, until Ctrl-C. A record is printed when it is written; a power cut may still take it from the log. Programs that append
/// are not slowed down.
#[derive(Args, Debug)]
#[command(after_help = TAIL_EXAMPLES, after_long_help = TAIL_EXAMPLES_AND_EXIT)]
pub struct Tail {
    /// The log, or one of its files
    #[arg(value_name = "LOG", value_hint = ValueHint::FilePath)]
    pub log: PathBuf,

    /// Begin with the last N records
    #[arg(short = 'n', long = "records", value_name = "N", default_value_t = 10)]
    pub records: usize,

    /// Begin with the record at this position, such as one where an earlier reading ended
    #[arg(long, value_name = "POSITION", conflicts_with = "records")]
    pub from: Option<u64>,

    /// Go on with records that are appended later
    #[arg(short, long)]
    pub follow: bool,

    #[command(flatten)]
    pub form: Form,
}

/// How records are printed.
#[derive(Args, Clone, Copy, Debug)]
pub struct Form {
    /// Print a JSON object for each record, one a line
    ///
    /// Its keys: position, and text, or base64 where the bytes are no UTF-8. What cannot be read is an object in its place, with error,
    /// file, and, if it is damage, offset and bytes: which part of the file it is. Keys may come, and never change.
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
  0    all records are printed, or whoever reads them has seen enough
  1    some cannot be read, as standard error tells; the rest is printed
  2    wrong usage, or it is no log of framed records, or it cannot be opened",
            $($more,)?
            "\n
What a crash left behind the last record, of a record that never became whole, is
told and is no damage."
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
