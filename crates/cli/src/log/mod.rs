//! `manyfiles log`: logs of framed records, for people.
//!
//! What a log's files hold is found out by `manyfiles::appender`; here it is printed and told.

mod cat;
mod check;
mod findings;
mod place;
mod printer;
mod repair;
mod tail;

use std::path::Path;
use std::process::ExitCode;

use manyfiles::Error;
use manyfiles::appender::Records;

use printer::Printer;

use crate::args::{Log, LogCommand};
use crate::human::counted;
use crate::job::{CannotBegin, Words};
use crate::report::tell_cannot_begin;

const WORDS: Words = Words { command: "log", done: "read", sources: "log" };

pub fn run(args: &Log) -> ExitCode {
    let done = match &args.command {
        LogCommand::Cat(args) => cat::cat(args),
        LogCommand::Tail(args) => tail::tail(args),
        LogCommand::Check(args) => return check::run(args),
        LogCommand::Repair(args) => return repair::run(args),
    };
    // Neither prints objects before there is a record.
    done.unwrap_or_else(|why| tell_cannot_begin(WORDS, &why, false))
}

/// Why a log cannot be opened, and what to do.
fn cannot_open(log: &Path, error: &Error) -> CannotBegin {
    let mut lines = vec![error.to_string()];
    let is_of_system = error.raw_os_error().is_some();
    if log.is_dir() {
        lines = vec![format!(
            "{}: this is a folder; a log is a file in it, and those of its name with a number",
            log.display()
        )];
    } else if error.kind() == std::io::ErrorKind::InvalidData
        && !is_of_system
        && error.damage().is_none()
        && error.misfit().is_none()
    {
        lines.push(
            "if its program writes records without frames, each is there as it was appended: 'cat' shows them".into(),
        );
    }
    CannotBegin(lines)
}

/// Says what is not among the records that were read, though no error told of it.
fn tell_left_out(printer: &Printer, records: &Records) {
    let (torn, aside) = (records.torn_bytes(), records.set_aside_bytes());
    if torn > 0 {
        let torn = counted(torn, "byte", "bytes");
        printer.say(&format!(
            "left out: {torn} behind the last record, which are no whole one: a crash leaves that, or a program writes \
             just now"
        ));
    }
    if aside > 0 {
        let aside = counted(aside, "byte", "bytes");
        printer.say(&format!("left out: {aside} that were damaged, and that a repair has set aside"));
    }
}
