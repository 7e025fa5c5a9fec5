//! What an archive's writing came to.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use manyfiles::Error;

use crate::format::Format;

/// What was written to an archive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Written {
    /// The kind of archive.
    pub format: Format,
    /// Files in it.
    pub files: u64,
    /// Folders in it.
    pub folders: u64,
    /// Symbolic links in it.
    pub symlinks: u64,
    /// Hard links in it.
    pub hard_links: u64,
    /// Devices and FIFOs in it.
    pub nodes: u64,
    /// Bytes of content, holes included.
    pub bytes: u64,
    /// The size of the archive.
    pub archive_bytes: u64,
    /// Entries that have extended attributes or access control lists that are not in the archive: those that are not
    /// kept, or that cannot be read and need not be. Only those are known of which something is kept, by
    /// [`SourceFile::keep`](super::SourceFile::keep) or `Metadata::attributes_of`: to look at each file costs a call.
    pub not_kept: u64,
    /// Each entry that is not in it, or not as it should be: files that could not be read, and those that were changed
    /// meanwhile. An error of [`Operation::Sync`](manyfiles::Operation::Sync) is that of the folder that the archive is
    /// in: it was to be durable, and a power cut may still take it.
    pub failures: Vec<Error>,
}

impl Written {
    /// How many entries there are.
    pub fn entries(&self) -> u64 {
        self.files + self.folders + self.symlinks + self.hard_links + self.nodes
    }
}

/// The error of [`finish`](super::ArchiveWriter::finish): entries failed, or there is no archive.
#[derive(Debug)]
pub enum NotWritten {
    /// The archive is there and sound, but entries failed, or its name may not last: see [`Written::failures`].
    Entries(Box<Written>),
    /// There is no archive. What had its name before is as it was.
    Archive(Error),
}

impl fmt::Display for NotWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotWritten::Entries(written) => {
                write!(f, "the archive is written, but {} entries failed", written.failures.len())?;
                match written.failures.first() {
                    Some(first) => write!(f, "; the first: {first}"),
                    None => Ok(()),
                }
            }
            NotWritten::Archive(error) => write!(f, "no archive was written: {error}"),
        }
    }
}

impl std::error::Error for NotWritten {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            NotWritten::Entries(written) => written.failures.first().map(|first| first as _),
            NotWritten::Archive(error) => Some(error),
        }
    }
}

/// How far the writing is. Cheap to clone: keep one and give one to
/// [`WriterOptions::progress`](super::WriterOptions::progress). Several archives that have one count together.
#[derive(Clone, Debug, Default)]
pub struct WriterProgress(Arc<Seen>);

impl WriterProgress {
    /// At zero.
    pub fn new() -> WriterProgress {
        WriterProgress::default()
    }

    /// Entries handed over so far.
    pub fn entries(&self) -> u64 {
        self.0.entries.load(Relaxed)
    }

    /// Bytes of content that were read.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Relaxed)
    }

    /// Bytes of the archive that were written.
    pub fn archive_bytes(&self) -> u64 {
        self.0.archive_bytes.load(Relaxed)
    }

    pub(super) fn saw_entry(&self) {
        count(&self.0.entries);
    }

    pub(super) fn wrote(&self, bytes: u64) {
        self.0.archive_bytes.fetch_add(bytes, Relaxed);
    }
}

/// What a progress bar is told.
#[derive(Debug, Default)]
struct Seen {
    entries: AtomicU64,
    bytes: AtomicU64,
    archive_bytes: AtomicU64,
}

/// The counts of one archive, as threads add to them. They are not those of its progress: options may be cloned, and
/// then several archives have one progress.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub progress: WriterProgress,
    pub files: AtomicU64,
    pub folders: AtomicU64,
    pub symlinks: AtomicU64,
    pub hard_links: AtomicU64,
    pub nodes: AtomicU64,
    pub bytes: AtomicU64,
    /// Bytes that symbolic links in a zip say, which are its content there.
    pub link_bytes: AtomicU64,
    pub archive_bytes: AtomicU64,
    pub not_kept: AtomicU64,
}

impl Counts {
    /// Bytes of content that were read.
    pub(super) fn read(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.progress.0.bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn written(&self, format: Format, failures: Vec<Error>) -> Written {
        let count = |of: &AtomicU64| of.load(Relaxed);
        Written {
            format,
            files: count(&self.files),
            folders: count(&self.folders),
            symlinks: count(&self.symlinks),
            hard_links: count(&self.hard_links),
            nodes: count(&self.nodes),
            bytes: count(&self.bytes),
            archive_bytes: count(&self.archive_bytes),
            not_kept: count(&self.not_kept),
            failures,
        }
    }
}

pub(super) fn count(of: &AtomicU64) {
    of.fetch_add(1, Relaxed);
}
