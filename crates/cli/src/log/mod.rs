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
mod tell;

use std::process::ExitCode;

use crate::args::{Log, LogCommand};
use crate::report::tell_cannot_begin;
use crate::words::Words;

const WORDS: Words = Words { command: "log", done: "read", sources: "log" };

pub(crate) fn run(args: &Log) -> ExitCode {
    let done = match &args.command {
        LogCommand::Cat(args) => cat::cat(args),
        LogCommand::Tail(args) => tail::tail(args),
        LogCommand::Check(args) => return check::run(args),
        LogCommand::Repair(args) => return repair::run(args),
    };
    // Neither prints objects before there is a record.
    done.unwrap_or_else(|why| tell_cannot_begin(WORDS, &why, false))
}
