//! [`WriterOptions`]: what kind of archive is written, and how.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use manyfiles::Result;

use super::report::WriterProgress;
use super::writer::ArchiveWriter;
use crate::format::{Compression, Format};

/// How an archive is written: choices, to be followed by [`create`](WriterOptions::create) or
/// [`stream`](WriterOptions::stream).
#[derive(Clone, Debug)]
pub struct WriterOptions {
    pub(super) format: Option<Format>,
    pub(super) level: Option<i32>,
    pub(super) threads: usize,
    pub(super) replace: bool,
    pub(super) durable: bool,
    pub(super) verify: bool,
    pub(super) utc: bool,
    pub(super) holes: bool,
    pub(super) progress: WriterProgress,
}

impl Default for WriterOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        WriterOptions {
            format: None,
            level: None,
            threads,
            replace: false,
            durable: false,
            verify: false,
            utc: false,
            holes: true,
            progress: WriterProgress::default(),
        }
    }
}

impl WriterOptions {
    /// What kind of archive. Default: by the name of the file, [`Format::of_name`].
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// How hard to compress, as the compression's own program counts: gzip and zip 0 to 9 (default: 6), zstd -7 to 22
    /// (3), xz 0 to 9 (6), bzip2 1 to 9 (9). Nothing to lz4 and to a tar without compression. A level out of this range
    /// is an error of [`create`](WriterOptions::create).
    #[must_use]
    pub fn level(mut self, level: i32) -> Self {
        self.level = Some(level);
        self
    }

    /// How many threads read and compress. The bytes of the archive do not depend on it. Default: one per core.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Whether an archive that has the name already is replaced, once the new one is whole. Default: it is an error.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Whether [`finish`](ArchiveWriter::finish) returns only when the archive is on the disk, with its name. Default:
    /// no; a crash of the machine may then leave an archive that was just finished incomplete.
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Whether [`finish`](ArchiveWriter::finish) reads the archive back before it gets its name: every byte is decoded
    /// and compared with what was packed. Not for streams. Default: no.
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Whether the dates that DOS knows, in a zip, are those of UTC. Default: those of the user's time zone, as `zip`
    /// has it; then the bytes of a zip depend on the zone.
    #[must_use]
    pub fn utc(mut self, utc: bool) -> Self {
        self.utc = utc;
        self
    }

    /// Whether a tar keeps the holes of sparse files. Where a file has holes is not always the same where its content
    /// is: it depends on how it was copied, and on the file system. Default: yes. A zip has no holes.
    #[must_use]
    pub fn holes(mut self, holes: bool) -> Self {
        self.holes = holes;
        self
    }

    /// Counts how far the writing is, for a progress bar.
    #[must_use]
    pub fn progress(mut self, progress: WriterProgress) -> Self {
        self.progress = progress;
        self
    }

    /// Begins an archive that will have this name. Until [`finish`](ArchiveWriter::finish) it is written beside it, so
    /// that there is never half an archive of that name. A path that leads to a device or a pipe is written to as it
    /// is.
    pub fn create(self, path: impl AsRef<Path>) -> Result<ArchiveWriter> {
        ArchiveWriter::begin(path.as_ref(), self)
    }

    /// Begins an archive that is written to a stream, in order and without seeking. A format has to be chosen. `name`
    /// is for messages. A write that does not return keeps `finish`, and a drop, waiting; that to a FIFO by
    /// [`create`](WriterOptions::create) ends when the writing is cancelled.
    pub fn stream(self, stream: Box<dyn Write + Send>, name: impl AsRef<Path>) -> Result<ArchiveWriter> {
        ArchiveWriter::begin_stream(stream, name.as_ref(), self)
    }

    /// The level to compress with, or why it is none.
    pub(super) fn checked_level(&self, format: Format) -> std::result::Result<i32, String> {
        let (range, usual) = match format {
            Format::Tar(Some(Compression::Gzip)) | Format::Zip => (0..=9, 6),
            Format::Tar(Some(Compression::Zstd)) => (-7..=22, 3),
            Format::Tar(Some(Compression::Xz)) => (0..=9, 6),
            Format::Tar(Some(Compression::Bzip2)) => (1..=9, 9),
            Format::Tar(None | Some(Compression::Lz4)) => return Ok(0),
            Format::SevenZ | Format::Iso => return Err(format!("{format} is read, and not written")),
        };
        match self.level.unwrap_or(usual) {
            level if range.contains(&level) => Ok(level),
            level => Err(format!("{format} has no level {level}; give {} to {}", range.start(), range.end())),
        }
    }
}
