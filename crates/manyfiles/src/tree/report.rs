//! What a tree did: counts, failures, and where the time went.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::Cancelled;
use crate::{Error, Errors, Operation};

/// What a [`TreeWriter`](super::TreeWriter) did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Files written, in full and closed without an error.
    pub files: u64,
    /// Those of `files` that share blocks with the file that they were made of.
    pub cloned: u64,
    /// Those of `files` that are the file that they were made of, under another name
    /// ([`Content::link_to`](super::Content::link_to)).
    pub shared: u64,
    /// Folders made or found for entries that asked for them. Those made on the way to a file are not counted.
    pub folders: u64,
    /// Symbolic links made.
    pub symlinks: u64,
    /// Hard links made.
    pub hard_links: u64,
    /// Devices and FIFOs made.
    pub nodes: u64,
    /// Bytes of content in `files`; holes of sparse files are not counted.
    pub bytes: u64,
    /// Entries left as they were because their name was taken ([`Skip`](super::OnConflict::Skip),
    /// [`Newer`](super::OnConflict::Newer)) or their content was there already
    /// ([`SkipIdentical`](super::OnConflict::SkipIdentical)).
    pub skipped: u64,
    /// Those of `files` that an earlier run had begun, and this one went on with
    /// ([`resume`](super::Options::resume)).
    pub resumed: u64,
    /// Bytes in those that were there already, and are those of the sources.
    pub resumed_bytes: u64,
    /// Files that are not complete, and of which what has arrived stays for a run that goes on with them.
    pub partial: u64,
    /// Entries written under another name, each with the name asked for and the name got
    /// ([`Rename`](super::OnConflict::Rename)).
    pub renamed: Vec<(PathBuf, PathBuf)>,
    /// Entries that arrived without all that their source has.
    pub not_kept: NotKept,
    /// Each entry that did not arrive, and each other failure, in the order in which they were noticed.
    pub failures: Vec<Error>,
    /// Whether the writing was cancelled.
    pub cancelled: bool,
    /// Entries handed over and, because of a cancellation, not written. What was half-written is removed again, but for `partial`.
    pub not_written: u64,
    /// Time that all threads together spent in each kind of call.
    pub times: Times,
    /// The most threads that wrote at the same time.
    pub peak_threads: usize,
}

impl Report {
    /// Whether every entry is where it was meant to be (or was skipped, as asked).
    pub fn is_complete(&self) -> bool {
        self.failures.is_empty() && self.not_written == 0 && !self.cancelled
    }
}

/// How many entries have something in their source that they did not get, where that was
/// [looked for](super::Options::keep). What belongs to the machine, as a label of SELinux, is not missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotKept {
    /// Entries that have any of these.
    pub entries: u64,
    /// Entries with extended attributes that were not kept, capabilities among them.
    pub xattrs: u64,
    /// Entries with access control lists that were not kept. Their groups have no more rights than they had.
    pub acls: u64,
    /// Entries that belong to another user or group now. Set-id bits were dropped with that.
    pub owners: u64,
    /// Files and folders with flags that were not kept.
    pub flags: u64,
    /// Files with space reserved that was not reserved.
    pub space: u64,
}

/// Time by kind of system call, added up over all threads: with two threads it grows by up to two seconds a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// Finding and making folders.
    pub folders: Duration,
    /// Opening and creating files.
    pub open: Duration,
    /// Writing.
    pub write: Duration,
    /// Setting permissions, times and owners of files.
    pub metadata: Duration,
    /// Syncing files one by one, where [`Durability`](super::Durability) asks for that.
    pub sync: Duration,
    /// Closing.
    pub close: Duration,
}

/// Some entries did not arrive, or the writing was cancelled: the error of [`finish`](super::TreeWriter::finish), with
/// the whole report.
///
/// `?` takes it into a function that returns [`Errors`] or [`io::Error`]. The latter carries the whole of it as the
/// payload ([`io::Error::get_ref`]), and has the kind of the first failure.
#[derive(Debug)]
pub struct Incomplete {
    report: Box<Report>,
    errors: Errors,
}

impl Incomplete {
    /// `report` is one that is not [complete](Report::is_complete), `root` the tree's folder as the caller knows it.
    pub(super) fn new(report: Report, root: PathBuf) -> Incomplete {
        let mut errors = report.failures.clone();
        if report.cancelled || report.not_written > 0 {
            errors.push(Error::new(Operation::Write, root, io::Error::other(Cancelled)));
        }
        let errors = Errors::check(errors).expect_err("a report that is not complete has an error");
        Incomplete { errors, report: Box::new(report) }
    }

    /// The report: what was written, and each failure.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The report, taken out.
    pub fn into_report(self) -> Report {
        *self.report
    }

    /// The report's failures, and, if the writing was cancelled, one last error of the
    /// root that says so ([`is_cancelled`](Error::is_cancelled)). So there is always one.
    pub fn errors(&self) -> &Errors {
        &self.errors
    }
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &*self.report;
        if report.cancelled {
            write!(f, "cancelled; {} entries were not written", report.not_written)?;
        } else {
            write!(f, "{} entries were not written", report.failures.len())?;
        }
        for failure in report.failures.iter().take(5) {
            write!(f, "\n  {failure}")?;
        }
        match report.failures.len().saturating_sub(5) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

impl std::error::Error for Incomplete {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.report.failures.first().map(|first| first as _)
    }
}

impl From<Incomplete> for Errors {
    fn from(incomplete: Incomplete) -> Errors {
        incomplete.errors
    }
}

impl From<Incomplete> for io::Error {
    fn from(incomplete: Incomplete) -> io::Error {
        let kind = incomplete.errors.iter().next().map_or(io::ErrorKind::Other, Error::kind);
        io::Error::new(kind, incomplete)
    }
}

/// What has been done so far. The counts never go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Entries handed over.
    pub entries_accepted: u64,
    /// Entries done with: written, skipped or failed.
    pub entries_done: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Failures so far.
    pub failures: u64,
    /// Threads at work or waiting in a call now.
    pub threads: usize,
    /// Threads that are inside a close now.
    pub closing: usize,
    /// Whether all is written, and [`finish`](super::TreeWriter::finish) waits for the disk.
    pub syncing: bool,
}
