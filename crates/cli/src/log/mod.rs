//! `manyfiles log`: logs of framed records, for people.
//!
//! What a log's files hold is found out by `manyfiles::appender`; here it is printed and told.

mod cat;
mod place;
mod printer;
mod tail;

use std::path::Path;
use std::process::ExitCode;

use manyfiles::Error;
use manyfiles::appender::Damage;

use printer::Printer;

use crate::args::{Log, LogCommand};
use crate::human::counted;
use crate::job::CannotBegin;
use crate::report::UNREADABLE;
use crate::terminal::Screen;

pub fn run(args: &Log) -> ExitCode {
    let done = match &args.command {
        LogCommand::Cat(args) => cat::cat(args),
        LogCommand::Tail(args) => tail::tail(args),
    };
    done.unwrap_or_else(|why| {
        Screen::default().say_all(&why.0);
        UNREADABLE.into()
    })
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
    } else if error.kind() == std::io::ErrorKind::InvalidData && !is_of_system && damage(error).is_none() {
        lines.push(
            "if its program writes records without frames, each is there as it was appended: 'cat' shows them".into(),
        );
    }
    CannotBegin(lines)
}

/// Which bytes of a file are damaged, if that is what the error says.
fn damage(error: &Error) -> Option<Damage> {
    error.io_error().get_ref()?.downcast_ref().copied()
}

/// Says what is behind the last record, if it is part of one.
fn tell_torn(printer: &Printer, bytes: u64) {
    if bytes > 0 {
        printer.say(&format!(
            "left out: {} behind the last record, of what never became a whole one; a crash leaves that, or somebody writes just now",
            counted(bytes, "byte", "bytes")
        ));
    }
}
