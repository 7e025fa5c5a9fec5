//! Opening a file of a log to read it.

use std::io;
use std::path::{Path, PathBuf};

use crate::appender::log::common::Side;
use crate::appender::log::header::{HEADER, Header, begins_with_magic};
use crate::appender::log::losses::Damage;
use crate::appender::log::packed;
use crate::appender::log::scan::{Scanner, Start};
use crate::appender::log::series::Series;
use crate::appender::storage::{ReadAt, Storage};
use crate::{Error, Operation, Result};

/// A file that was opened.
pub(in crate::appender) struct Next {
    pub(in crate::appender) number: u64,
    pub(in crate::appender) path: PathBuf,
    pub(in crate::appender) file: Box<dyn ReadAt>,
    pub(in crate::appender) len: u64,
    pub(in crate::appender) header: Header,
    /// Of one of the header's copies.
    pub(in crate::appender) damage: Option<Damage>,
}

impl Next {
    pub(in crate::appender) fn number(&self) -> u64 {
        self.number
    }

    /// What is in it, to compare it with another one.
    pub(in crate::appender) fn side(&self) -> Side<'_> {
        Side { file: &*self.file, header: self.header, len: self.len }
    }

    pub(in crate::appender) fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.file.is_at(path)
    }

    pub(in crate::appender) fn len(&self) -> u64 {
        self.len
    }

    pub(in crate::appender) fn path(&self) -> &Path {
        &self.path
    }

    pub(in crate::appender) fn error(&self, cause: io::Error) -> Error {
        Error::new(Operation::Read, &*self.path, cause)
    }
}

/// What is under the name of a file of the log.
pub(in crate::appender) enum Opened {
    File(Next),
    /// Nothing was ever written to it.
    Empty,
    /// Nothing is there.
    Gone,
}

impl Opened {
    /// The file, if it has records or may have.
    pub(in crate::appender) fn file(self) -> Option<Next> {
        match self {
            Opened::File(next) => Some(next),
            Opened::Empty | Opened::Gone => None,
        }
    }
}

/// Opens a file of the log.
pub(in crate::appender) fn open_file(storage: &dyn Storage, series: &Series, number: u64) -> Result<Opened> {
    let (path, file) = match open_plain_or_packed(storage, series, number)? {
        Some(opened) => opened,
        None => return Ok(Opened::Gone),
    };
    let len = file.len().map_err(|cause| Error::new(Operation::Read, &*path, cause))?;
    match Scanner::start(&*file, len).map_err(|cause| Error::new(Operation::Read, &*path, cause))? {
        Start::Header(header, damage) => Ok(Opened::File(Next { number, path, file, len, header, damage })),
        Start::Unfinished => Ok(Opened::Empty),
        Start::Foreign => Err(Error::new(Operation::Open, path, not_framed())),
    }
}

/// The plain file, if it is there: a compressed one beside it may not be whole, or what it was made of may not.
fn open_plain_or_packed(
    storage: &dyn Storage,
    series: &Series,
    number: u64,
) -> Result<Option<(PathBuf, Box<dyn ReadAt>)>> {
    for is_packed in [false, true] {
        let path = if is_packed { series.packed_path(number) } else { series.path(number) };
        let file = match storage.open_to_read(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(|cause| Error::new(Operation::Open, &*path, cause))?,
        };
        if !is_packed {
            return Ok(Some((path, file)));
        }
        let file = packed::open(file).map_err(|cause| Error::new(Operation::Open, &*path, cause))?;
        return Ok(Some((path, file)));
    }
    Ok(None)
}

/// The cause where a file is none of a framed log.
pub(in crate::appender) fn not_framed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it does not begin as a file of framed records does")
}

/// Refuses to open a log that has frames without them: what is appended without frames would be damage there. Only
/// reads, so an open log is refused for the same reason.
pub(in crate::appender) fn refuse_framed(series: &Series, storage: &dyn Storage) -> Result<()> {
    for number in series.numbers(storage)? {
        let path = series.path(number);
        let file = match storage.open_to_read(&path) {
            // Gone meanwhile, or a folder or pipe: opening tells.
            Err(_) => continue,
            Ok(file) => file,
        };
        let mut first = [0; HEADER];
        let has = match file.read_full(&mut first, 0) {
            Ok(has) => has,
            Err(cause) => return Err(Error::new(Operation::Read, path, cause)),
        };
        if begins_with_magic(&first[..has]) || Header::parse(&first).is_some() {
            let message = "it is a file of framed records: open the log with framing; nothing was changed";
            return Err(Error::new(Operation::Open, path, io::Error::new(io::ErrorKind::InvalidData, message)));
        }
    }
    Ok(())
}
