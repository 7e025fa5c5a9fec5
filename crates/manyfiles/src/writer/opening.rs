//! A [`FileWriter`] is made of its options and of a file that is opened, or open.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::Path;

use super::output::Output;
use super::target::{Kind, Target};
use super::{FileWriter, Options, SyncPolicy};
use crate::{Error, Operation, Result, sys};

/// 256 KiB is 1.8 to 2.6 times as fast as 8 KiB for records of 100 B to 8 KiB; 1 MiB is not faster, and does not stay
/// in the processor's cache (docs/measurements.md, "Records into one file").
const BUFFER: usize = 256 << 10;

/// No buffer is larger, whatever was asked for.
const MOST: usize = 1 << 30;

/// What one write takes at least.
const PAGE: usize = 4096;

impl Options {
    /// Creates a file, or cuts it to nothing if it is there.
    pub fn create(self, path: impl AsRef<Path>) -> Result<FileWriter> {
        self.open(path.as_ref(), Operation::Create, File::options().write(true).create(true).truncate(true), 0)
    }

    /// Creates a file, which must not be there: then the error's kind is
    /// [`AlreadyExists`](std::io::ErrorKind::AlreadyExists).
    pub fn create_new(self, path: impl AsRef<Path>) -> Result<FileWriter> {
        self.open(path.as_ref(), Operation::Create, File::options().write(true).create_new(true), 0)
    }

    /// Writes at the end of a file, wherever that is at that moment; creates it if it isn't there. A record that fits
    /// into the buffer is never cut in two calls, so that records of several such writers, in other processes too, stay
    /// whole on a local file system. There is no [`seek`](FileWriter::seek) and no [`write_at`](FileWriter::write_at).
    pub fn append(self, path: impl AsRef<Path>) -> Result<FileWriter> {
        let path = path.as_ref();
        let file = opened(path, Operation::Open, File::options().append(true).create(true))?;
        self.build(Target::file(Kind::Next(file), path.into(), true), 0)
    }

    /// Writes what a backend of a [`Vfs`](crate::vfs::Vfs) has opened; `path` is for errors.
    pub(crate) fn output(self, output: Box<dyn Output>, path: &Path) -> Result<FileWriter> {
        self.build(Target::new(Kind::Backend(output), Some(path.into())), 0)
    }

    /// Opens a file that is there, to write from `offset` on. Nothing is cut; beyond the end, a hole is left.
    pub fn open_at(self, path: impl AsRef<Path>, offset: u64) -> Result<FileWriter> {
        self.open(path.as_ref(), Operation::Open, File::options().write(true), offset)
    }

    fn open(self, path: &Path, operation: Operation, options: &OpenOptions, offset: u64) -> Result<FileWriter> {
        super::check_offset(offset).map_err(|cause| Error::new(operation, path, cause))?;
        let file = opened(path, operation, options)?;
        let kind = kind_of(file).map_err(|cause| Error::new(operation, path, cause))?;
        if offset > 0 && !matches!(kind, Kind::At(_)) {
            let cause = io::Error::new(io::ErrorKind::Unsupported, "this is not a file with offsets");
            return Err(Error::new(operation, path, cause));
        }
        self.build(Target::file(kind, path.into(), operation == Operation::Create), offset)
    }

    /// Writes to a file that is open, from its position on; at the end of one that was opened to append, as
    /// [`append`](Options::append) does. `path` is for errors.
    pub fn from_file(self, mut file: File, path: impl AsRef<Path>) -> Result<FileWriter> {
        let path = path.as_ref();
        let failed = |cause| Error::new(Operation::Open, path, cause);
        // What has no position has no offsets either.
        let offset = file.stream_position().ok();
        let (kind, offset) = match offset {
            // The system would put each write at the end, whatever offset it is given.
            Some(_) if sys::appends(&file).map_err(failed)? => (Kind::Next(file), 0),
            Some(offset) => (kind_of(file).map_err(failed)?, offset),
            None => (Kind::Next(file), 0),
        };
        self.build(Target::file(kind, path.into(), false), offset)
    }

    /// Writes to anything that takes bytes; see [`FileWriter::from_writer`]. A policy other than [`SyncPolicy::Never`]
    /// is an error: nothing can be said about where such bytes end up.
    pub fn from_writer(self, writer: impl Write + Send + 'static) -> Result<FileWriter> {
        if self.policy != SyncPolicy::Never {
            return Err(Error::without_path(Operation::Sync, super::not_a_file()));
        }
        self.build(Target::new(Kind::Any(Box::new(writer)), None), 0)
    }

    fn build(self, mut target: Target, offset: u64) -> Result<FileWriter> {
        target.start_from_disk(offset);
        if let Some(bytes) = self.preallocate {
            target.reserve(offset, offset.saturating_add(bytes).min(i64::MAX as u64))?;
        }
        let chosen = || buffer_for(self.record_size, self.file_size.or(self.preallocate));
        let capacity = self.buffer_size.map_or_else(chosen, |bytes| bytes.min(MOST));
        let second_thread = self.second_thread && capacity > 0;
        Ok(FileWriter::new(target, offset, capacity, second_thread, self.policy, self.closer))
    }
}

fn opened(path: &Path, operation: Operation, options: &OpenOptions) -> Result<File> {
    options.open(path).map_err(|cause| Error::new(operation, path, cause))
}

/// A pipe, a terminal or a device takes bytes one after the other.
fn kind_of(file: File) -> io::Result<Kind> {
    Ok(if file.metadata()?.is_file() { Kind::At(file) } else { Kind::Next(file) })
}

/// The size of the buffer if the caller chose none.
fn buffer_for(record: Option<usize>, file: Option<u64>) -> usize {
    // Such records go past any buffer: it would be memory for nothing.
    if record.is_some_and(|record| record >= BUFFER) {
        return 0;
    }
    // A file that fits is written by one call, and needs no more memory than that.
    let file = file.map_or(BUFFER, |file| usize::try_from(file).unwrap_or(BUFFER).clamp(1, BUFFER));
    file.next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_fits_the_records_and_the_file() {
        let cases = [
            (None, None, 256 << 10),
            (Some(1), None, 256 << 10),
            (Some(8 << 10), Some(1 << 40), 256 << 10),
            (None, Some(0), 4096),
            (None, Some(1500), 4096),
            (None, Some(4097), 8192),
            (None, Some(u64::MAX), 256 << 10),
            (Some(256 << 10), None, 0),
            (Some(4 << 20), Some(10), 0),
        ];
        for (record, file, expected) in cases {
            assert_eq!(buffer_for(record, file), expected, "{record:?} {file:?}");
        }
    }
}
