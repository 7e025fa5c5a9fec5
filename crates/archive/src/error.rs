//! [`Error`]: the archive could not be read, or not to its end.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::format::{Compression, Format};
use crate::limit::Limit;

/// `std`'s result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An archive could not be read, or not to its end. What had been handed over before stays and is in the tree's report.
#[derive(Debug)]
pub struct Error {
    archive: PathBuf,
    kind: Box<ErrorKind>,
}

impl Error {
    pub(crate) fn new(archive: impl Into<PathBuf>, kind: ErrorKind) -> Error {
        Error { archive: archive.into(), kind: Box::new(kind) }
    }

    /// The archive's path; `-` for a stream.
    pub fn archive(&self) -> &Path {
        &self.archive
    }

    /// What is wrong with it.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The operating system's error number, if that is where it came from.
    pub fn raw_os_error(&self) -> Option<i32> {
        match self.kind() {
            ErrorKind::Open(error) | ErrorKind::Read(error) | ErrorKind::Changed(error) => error.raw_os_error(),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.archive.display(), self.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.kind)
    }
}

/// Where in an archive damage was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// So many bytes from the start of the file or stream.
    Archive(u64),
    /// So many bytes from the start of the archive that the compressed file or stream holds.
    Unpacked(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Archive(byte) => write!(f, "byte {byte}"),
            Position::Unpacked(byte) => write!(f, "byte {byte} of the archive inside"),
        }
    }
}

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It cannot be opened.
    #[error("cannot open the archive: {0}")]
    Open(#[source] io::Error),
    /// It cannot be read. What came before the error stays.
    #[error("cannot read the archive: {0}")]
    Read(#[source] io::Error),
    /// It is a folder.
    #[error("this is a folder, not an archive; `manyfiles copy` copies folders")]
    Folder,
    /// It has no bytes, or none when it is decompressed.
    #[error("there is nothing in it, so it is not an archive; get it anew if it was downloaded")]
    Empty,
    /// It is no tar and no zip.
    #[error("{}; supported are tar and cpio, alone or in gzip, zstd, xz, bzip2, lz4, lzma, lzip or compress(1), single files in these, zip, 7z, iso, ar, and packages of Debian and rpm, whatever the file is called",
        not_an_archive(*looks_like, *compression))]
    NotAnArchive {
        /// What it looks like, if that is known.
        looks_like: Option<&'static str>,
        /// What it is compressed with, if it is. Then `looks_like` is about the decompressed content.
        compression: Option<Compression>,
    },
    /// It is a zip that comes as a stream.
    #[error("a zip archive cannot be read from a stream, because its directory is at its end; save it to a file first")]
    ZipStream,
    /// It is an archive of a kind that is not read.
    #[error("{0}")]
    Unsupported(String),
    /// It is cut short or corrupt. What came before stays.
    #[error("the archive is damaged at {at}, after {}: {cause}", count(*entries))]
    Damaged {
        /// Where the damage was noticed; it may begin somewhat earlier.
        at: Position,
        /// How many entries were read before.
        entries: u64,
        /// What is wrong there.
        cause: String,
    },
    /// It holds more than [`Limits`](crate::Limits) allow. Nothing that exceeds the limit was written.
    #[error("the archive goes over the limit of {value} for the {limit} (after {}); if you trust it, raise the limit \
     with {}",
        count(*entries), limit.option())]
    Limit {
        /// Which limit.
        limit: Limit,
        /// The limit's value.
        value: u64,
        /// How many entries were read before.
        entries: u64,
    },
    /// Another process changed it or cut it short meanwhile: what was written may be wrong.
    #[error(
        "the archive was changed or cut short while it was being read, so what came of it may be wrong; read it \
         again: {0}"
    )]
    Changed(#[source] io::Error),
    /// The writing was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl ErrorKind {
    pub(crate) fn damaged(at: Position, cause: impl Into<String>) -> ErrorKind {
        ErrorKind::Damaged { at, entries: 0, cause: cause.into() }
    }

    /// The error with which an entry is given up when the archive, not the file system, is to blame.
    pub(crate) fn of_entry(&self) -> io::Error {
        let told = |cause: String| io::Error::new(io::ErrorKind::InvalidData, cause);
        match self {
            ErrorKind::Read(error) => match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            },
            ErrorKind::Cancelled => io::Error::new(io::ErrorKind::Interrupted, "cancelled"),
            ErrorKind::Damaged { cause, .. } => told(format!("the archive is damaged here: {cause}")),
            ErrorKind::Limit { limit, value, .. } => {
                told(format!("given up: with it the archive goes over the limit of {value} for the {limit}"))
            }
            ErrorKind::Changed(_) => told("the archive was changed or cut short while it was being read".into()),
            other => told(other.to_string()),
        }
    }

    /// What is no archive is what the compressed file holds.
    pub(crate) fn in_compressed(self, compression: Compression) -> ErrorKind {
        match self {
            ErrorKind::NotAnArchive { looks_like, .. } => {
                ErrorKind::NotAnArchive { looks_like, compression: Some(compression) }
            }
            other => other,
        }
    }

    /// Says after how many entries it happened, where that belongs to the message.
    pub(crate) fn after(mut self, count: u64) -> ErrorKind {
        if let ErrorKind::Damaged { entries, .. } | ErrorKind::Limit { entries, .. } = &mut self {
            *entries = count;
        }
        self
    }
}

fn count(entries: u64) -> String {
    if entries == 1 { "1 entry".into() } else { format!("{entries} entries") }
}

fn not_an_archive(looks_like: Option<&str>, compression: Option<Compression>) -> String {
    match (looks_like, compression) {
        (None, None) => "not an archive of a kind that is known".into(),
        (Some(what), None) => format!("not an archive that can be unpacked: it looks like {what}"),
        (what, Some(compression)) => {
            let what = what.map_or_else(String::new, |what| format!(": it looks like {what}"));
            let format = Format::Single(compression);
            format!(
                "a {compression}-compressed file, but not a tar inside{what}; a file with the name NAME.{format} is \
                 unpacked as the single file NAME"
            )
        }
    }
}
