//! `manyfiles log tail`: the last records, and the records that are appended later.

use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use manyfiles::appender::{Follow, Position, Records};

use super::place::log_at;
use super::printer::Printer;
use super::tell::{cannot_open, tell_left_out};
use crate::args::Tail;
use crate::stop::Stop;
use crate::sys;
use crate::words::CannotBegin;

pub(super) fn tail(args: &Tail) -> Result<ExitCode, CannotBegin> {
    let stop = if args.follow { listen()? } else { Stop::default() };
    let log = log_at(&args.log);
    let opened = match args.from {
        Some(from) => Records::open_at(&log, Position(from)),
        None => Records::open_last(&log, args.records),
    };
    let mut records = opened.map_err(|error| cannot_open(&args.log, &error))?;
    let printer = Printer::new(args.form);
    if args.follow {
        return Ok(follow(records.follow(), printer, &stop));
    }
    let mut printer = printer;
    while printer.is_open()
        && let Some(record) = records.next()
    {
        match record {
            Ok(bytes) => printer.record(records.record_position(), records.position(), &bytes),
            Err(error) => printer.error(&error),
        }
    }
    tell_left_out(&printer, &records);
    Ok(printer.end(None))
}

fn listen() -> Result<Stop, CannotBegin> {
    Stop::on_signals().map_err(|error| CannotBegin::because(format_args!("cannot listen for signals: {error}")))
}

/// How long a wait for records lasts before it is asked whether to stop.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Prints new records until a signal comes, or until standard output has no reader any more.
fn follow(mut follow: Follow, mut printer: Printer, stop: &Stop) -> ExitCode {
    let mut last_error = None;
    while printer.is_open() && !stop.is_set() {
        let next = match follow.try_next() {
            None => {
                printer.flush();
                if !sys::has_reader(&io::stdout()) {
                    break;
                }
                follow.next_within(LOOK_UP)
            }
            next => next,
        };
        match next {
            Some(Ok(bytes)) => {
                printer.record(follow.record_position(), follow.position(), &bytes);
                last_error = None;
            }
            // Records that cannot be read now may be readable later: the error is printed once, and the reading is
            // tried again.
            Some(Err(error)) => {
                let message = Some(error.to_string());
                if last_error == message {
                    thread::sleep(LOOK_UP);
                } else {
                    printer.error(&error);
                    last_error = message;
                }
            }
            None => {}
        }
    }
    printer.end(stop.signal())
}
