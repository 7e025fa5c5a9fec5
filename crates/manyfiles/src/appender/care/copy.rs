//! Copying a file without its damage, and as it is.

use std::io;
use std::ops::Range;
use std::path::Path;

use crate::appender::file::calls::write_all;
use crate::appender::log::frame::{self, MARK};
use crate::appender::log::header::{HEADER, Header};
use crate::appender::log::losses::Damage;
use crate::appender::log::scan::{Found, Scanner};
use crate::appender::storage::{ReadAt, StoredFile};
use crate::{Error, Operation, Result};

/// How much is copied at once.
const CHUNK: u64 = 256 << 10;

/// A file that is read, and what it is called.
#[derive(Clone, Copy)]
pub(in crate::appender) struct Source<'a> {
    pub(in crate::appender) file: &'a dyn ReadAt,
    pub(in crate::appender) path: &'a Path,
}

/// A file that is written, and what it is called.
#[derive(Clone, Copy)]
pub(in crate::appender) struct Target<'a> {
    pub(in crate::appender) file: &'a dyn StoredFile,
    pub(in crate::appender) path: &'a Path,
}

impl Source<'_> {
    pub(in crate::appender) fn error(&self, cause: io::Error) -> Error {
        Error::new(Operation::Read, self.path, cause)
    }

    /// Another program writes to it.
    fn changes(&self) -> Error {
        self.error(io::Error::new(io::ErrorKind::InvalidData, "it changes while it is read"))
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        self.file.read_full(bytes, offset).map_err(|cause| self.error(cause))
    }

    pub(in crate::appender) fn len(&self) -> Result<u64> {
        self.file.len().map_err(|cause| self.error(cause))
    }

    pub(in crate::appender) fn copy_to(&self, to: Target<'_>, range: Range<u64>) -> Result<()> {
        let mut buffer = vec![0; CHUNK.min(range.end.saturating_sub(range.start)) as usize];
        let mut at = range.start;
        while at < range.end {
            let most = CHUNK.min(range.end - at) as usize;
            if self.read(&mut buffer[..most], at)? < most {
                return Err(self.changes());
            }
            write_all(to.file, to.path, &buffer[..most], at)?;
            at += most as u64;
        }
        Ok(())
    }
}

impl<'a> Target<'a> {
    pub(in crate::appender) fn error(&self, operation: Operation, cause: io::Error) -> Error {
        Error::new(operation, self.path, cause)
    }

    pub(in crate::appender) fn sync(&self) -> Result<()> {
        self.file.sync().map_err(|cause| self.error(Operation::Sync, cause))
    }

    pub(in crate::appender) fn source(self) -> Source<'a> {
        Source { file: self.file, path: self.path }
    }
}

/// What a repaired file has.
pub(in crate::appender) struct Whole {
    pub(in crate::appender) header: Header,
    pub(in crate::appender) damage: Vec<Damage>,
    pub(in crate::appender) end: u64,
    /// No next file says where this one ends, so a mark does.
    pub(in crate::appender) is_last: bool,
}

impl Whole {
    /// Writes it, durably.
    pub(in crate::appender) fn write(&self, from: Source<'_>, to: Target<'_>) -> Result<()> {
        write_all(to.file, to.path, &self.header.bytes(), 0)?;
        let mut at = HEADER as u64;
        for &Damage { offset, bytes } in &self.damage {
            from.copy_to(to, at..offset)?;
            for (at, frame) in frame::asides(self.header.salt, offset, bytes) {
                write_all(to.file, to.path, &frame, at)?;
            }
            at = offset + bytes;
        }
        from.copy_to(to, at..self.end)?;
        // No write has made the zeros of what is set aside at the end.
        to.file.set_len(self.end).map_err(|cause| to.error(Operation::Write, cause))?;
        if self.is_last {
            write_all(to.file, to.path, &frame::mark(self.header.salt, self.end, self.end), self.end)?;
        }
        to.sync()
    }

    /// Reads it again: nothing takes a file's place that is not whole.
    pub(in crate::appender) fn verify(&self, copy: Source<'_>) -> Result<()> {
        let len = copy.len()?;
        let mut scanner = Scanner::new(self.header, len);
        let next = |scanner: &mut Scanner| {
            let found = scanner.next(copy.file).map_err(|cause| copy.error(cause))?;
            Ok(matches!(found, Found::Record(_)))
        };
        while next(&mut scanner)? {}
        let mark = if self.is_last { MARK as u64 } else { 0 };
        if scanner.position() == len && len == self.end + mark { Ok(()) } else { Err(copy.changes()) }
    }
}

pub(in crate::appender) fn is_equal(one: Source<'_>, other: Source<'_>) -> Result<bool> {
    let len = one.len()?;
    let (mut ours, mut theirs, mut at) = (vec![0; CHUNK as usize], vec![0; CHUNK as usize], 0);
    while at < len {
        let has = one.read(&mut ours, at)?;
        if has == 0 || other.read(&mut theirs, at)? != has || ours[..has] != theirs[..has] {
            return Ok(false);
        }
        at += has as u64;
    }
    Ok(other.len()? == len)
}
