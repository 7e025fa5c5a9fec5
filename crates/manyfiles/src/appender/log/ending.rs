//! [`Misfit`]: a log's last file in which no appender can go on. One verdict for opening, checking and repairing.

use std::fmt;
use std::io;

use crate::appender::log::common;
use crate::appender::log::opened::{Next, Opened, open_file};
use crate::appender::log::series::Series;
use crate::appender::storage::Storage;
use crate::{Error, Operation, Result};

/// What is wrong with the last file of a log, though its bytes are not damaged: an appender that went on there would
/// give away positions that records have, or go on behind files that are gone. [`Error::misfit`] has it.
///
/// [`repair`](crate::appender::repair) and [`OnDamage::SetAside`](crate::appender::OnDamage::SetAside) mend each of
/// these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misfit {
    /// It begins before the file in front of it does, or is that file: a copy under a number that is not its own. A
    /// repair gives it another name, and the log ends with the file in front of it.
    Older,
    /// It has no records and no header, and there are files in front of it. A repair gives it another name, and the log
    /// ends with the file in front of it.
    Empty,
    /// It is compressed, and only files that others follow are: those behind it are gone. A repair unpacks it, and the
    /// log goes on behind it.
    Compressed,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misfit::Older => {
                "it is the last file of the log, and an older one under a new number: what was appended there would \
                 have positions that records have already. A repair sets it aside, and the log goes on behind the \
                 file in front of it"
            }
            Misfit::Empty => {
                "it is the last file of the log, and empty, as no appender leaves a file behind others. A repair sets \
                 it aside, and the log goes on behind the file in front of it"
            }
            Misfit::Compressed => {
                "it is the last file of the log, and compressed, as only those are that others follow: the files \
                 behind it are gone. Bring them back; or a repair unpacks this one, and the log goes on behind it"
            }
        })
    }
}

impl std::error::Error for Misfit {}

impl Error {
    /// Why no appender can go on in the last file of a log, if this is an error about such a [`Misfit`].
    pub fn misfit(&self) -> Option<Misfit> {
        self.io_error().get_ref()?.downcast_ref().copied()
    }
}

impl From<Misfit> for io::Error {
    fn from(misfit: Misfit) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, misfit)
    }
}

/// Why no appender can go on in the last of these files, whatever damage is in it: a [`Misfit`] is mended by a repair,
/// anything else is not. `None` if one can, as far as names and headers tell, and if it is not the last file any more.
pub(in crate::appender) fn misfit(storage: &dyn Storage, series: &Series, numbers: &[u64]) -> Result<Option<Error>> {
    let Some((&last, others)) = numbers.split_last() else { return Ok(None) };
    let path = series.path(last);
    let error = |path, cause| Ok(Some(Error::new(Operation::Open, path, cause)));
    match open_file(storage, series, last) {
        Err(error) => Ok(Some(error)),
        // It was compressed or removed since names were listed, because others follow it.
        Ok(opened)
            if !matches!(&opened, Opened::File(file) if file.path() == path)
                && series.numbers(storage)?.last() != Some(&last) =>
        {
            Ok(None)
        }
        Ok(Opened::File(file)) if file.path() != path => error(file.path().to_owned(), Misfit::Compressed.into()),
        Ok(Opened::File(file)) => {
            let Some(before) = nearest(storage, series, others) else { return Ok(None) };
            match place(storage, series, &before, &file) {
                Place::Behind => Ok(None),
                Place::Older => error(path, Misfit::Older.into()),
                Place::Elsewhere => error(path, no_sequence(&series.path(before.number()))),
            }
        }
        Ok(Opened::Empty) if others.is_empty() => Ok(None),
        Ok(Opened::Empty) => error(path, Misfit::Empty.into()),
        Ok(Opened::Gone) => {
            let message = "it is a symbolic link that leads to nothing";
            error(path, io::Error::new(io::ErrorKind::NotFound, message))
        }
    }
}

/// The last of these files that can be read.
fn nearest(storage: &dyn Storage, series: &Series, numbers: &[u64]) -> Option<Next> {
    numbers.iter().rev().find_map(|&number| open_file(storage, series, number).ok()?.file())
}

/// Where a file belongs. Its number is greater than that of the file before it.
enum Place {
    Behind,
    /// It is an older file of the log, and the one before it is where it belongs.
    Older,
    /// One of both is not of this log, or is not the one that has been there.
    Elsewhere,
}

fn place(storage: &dyn Storage, series: &Series, before: &Next, file: &Next) -> Place {
    let is_next = before.number().checked_add(1) == Some(file.number());
    let is_copy = file.header.salt == before.header.salt;
    if file.header.follows(&before.header) {
        Place::Behind
    } else if file.header.base < before.header.base || is_copy {
        // What is taken away must not be the better one of both.
        if belongs(storage, series, before) || is_copy && has_all_of(before, file) {
            Place::Older
        } else {
            Place::Elsewhere
        }
    } else if is_next {
        Place::Elsewhere
    } else {
        // Files between them are missing, which readers are told.
        Place::Behind
    }
}

/// Whether a file is an older one under a new number, as far as the files before it tell.
pub(in crate::appender) fn is_older(storage: &dyn Storage, series: &Series, others: &[u64], file: &Next) -> bool {
    nearest(storage, series, others).is_some_and(|before| matches!(place(storage, series, &before, file), Place::Older))
}

/// Whether the file in front of a file says that it is where it belongs. The first file of a log has none in front of
/// it, and the first number.
fn belongs(storage: &dyn Storage, series: &Series, file: &Next) -> bool {
    let is_first = file.header.previous.is_none() && file.number() <= 1;
    let before = file.number().checked_sub(1).and_then(|number| open_file(storage, series, number).ok()?.file());
    before.map_or(is_first, |before| file.header.follows(&before.header))
}

/// Whether each record of a copy is in the other file too, in the same place.
fn has_all_of(one: &Next, copy: &Next) -> bool {
    one.header == copy.header && common::end(copy.side(), one.side(), u64::MAX).is_ok_and(|common| common.is_all)
}

/// The cause where a reader comes to a file that does not belong behind the one before it.
pub(in crate::appender) fn goes_not_on() -> io::Error {
    let message =
        "it does not go on where the file before it ends: one of both is an older file of the log, or another log's";
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The cause where the last file does not go on, so that no appender can go on behind it.
fn no_sequence(before: &std::path::Path) -> io::Error {
    let name = before.file_name().unwrap_or_default().to_string_lossy();
    let message = format!(
        "it does not go on where {name} ends, and nothing tells which of both is not of this log, or an older file of \
         it: take the wrong one away"
    );
    io::Error::new(io::ErrorKind::InvalidData, message)
}
