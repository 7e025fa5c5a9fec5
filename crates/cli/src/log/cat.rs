//! `manyfiles log cat`: the records that are there.

use std::process::ExitCode;

use manyfiles::appender::{Position, Records};

use super::place::log_at;
use super::printer::Printer;
use super::tell::{cannot_open, tell_left_out};
use crate::args::Cat;
use crate::words::CannotBegin;

pub(super) fn cat(args: &Cat) -> Result<ExitCode, CannotBegin> {
    let log = log_at(&args.log);
    let opened = match args.from {
        Some(from) => Records::open_at(&log, Position(from)),
        None => Records::open(&log),
    };
    let mut records = opened.map_err(|error| cannot_open(&args.log, &error))?;
    let mut printer = Printer::new(args.form);
    let end = args.to.map(Position);
    let mut count = 0_u64;
    while printer.is_open()
        && end.is_none_or(|end| records.position() < end)
        && let Some(record) = records.next()
    {
        match record {
            Ok(_) if end.is_some_and(|end| records.record_position() >= Some(end)) => break,
            Ok(_) if args.count => count += 1,
            Ok(bytes) => printer.record(records.record_position(), records.position(), &bytes),
            // Damage is compared by its first byte; the reader's position is behind it already.
            Err(error) if error.damage().is_some_and(|damage| is_behind(end, records.position(), damage.bytes)) => {
                break;
            }
            Err(error) => printer.error(&error),
        }
    }
    if args.count {
        printer.text(&count.to_string());
    }
    tell_left_out(&printer, &records);
    Ok(printer.end(None))
}

/// Whether bytes that end at `behind` begin after the last record that was asked for.
fn is_behind(end: Option<Position>, behind: Position, bytes: u64) -> bool {
    end.is_some_and(|end| behind.0.saturating_sub(bytes) >= end.0)
}
