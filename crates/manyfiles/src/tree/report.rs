//! What came of it: counts, failures, and where the time went.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::Error;

/// What a [`TreeWriter`](super::TreeWriter) did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Files written, in full and closed without an error.
    pub files: u64,
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
    /// Entries written under another name, each with the name asked for and the name got
    /// ([`Rename`](super::OnConflict::Rename)).
    pub renamed: Vec<(PathBuf, PathBuf)>,
    /// Everything that did not happen, in the order it was noticed.
    pub failures: Vec<Error>,
    /// Whether the writing was cancelled.
    pub cancelled: bool,
    /// Entries handed over and, because of a cancellation, not written. What was half-written is removed again.
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

/// Some entries did not arrive: the error of [`finish`](super::TreeWriter::finish), with the whole report.
#[derive(Debug)]
pub struct Incomplete(Box<Report>);

impl Incomplete {
    pub(super) fn new(report: Report) -> Incomplete {
        Incomplete(Box::new(report))
    }

    /// The report: what was written, and each failure.
    pub fn report(&self) -> &Report {
        &self.0
    }

    /// The report, taken out.
    pub fn into_report(self) -> Report {
        *self.0
    }
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &*self.0;
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
        self.0.failures.first().map(|first| first as _)
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

/// Reads a [`Report`]'s beginnings while the writing goes on. Cheap to clone, and outlives the tree.
#[derive(Clone)]
pub struct Observer {
    pub(super) control: std::sync::Arc<super::engine::Control>,
}

impl Observer {
    /// What has been done so far.
    pub fn progress(&self) -> Progress {
        self.control.progress()
    }

    /// The failures from number `from` on, so that each can be shown when it happens.
    pub fn failures(&self, from: usize) -> Vec<Error> {
        self.control.failures_from(from)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.progress()).finish()
    }
}

/// Stops the writing, from any thread. Cheap to clone. (Not from within a signal handler: it takes a lock. A thread that waits
/// for signals may call it.)
#[derive(Clone)]
pub struct Canceller {
    pub(super) control: std::sync::Arc<super::engine::Control>,
}

impl Canceller {
    /// No entry is begun after this; those being written are stopped and removed; calls that hand over entries, those that wait
    /// for room too, return an error at once, and `finish` reports what is complete.
    pub fn cancel(&self) {
        self.control.cancel();
    }

    /// Whether [`cancel`](Canceller::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.control.is_cancelled()
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Canceller").field(&self.is_cancelled()).finish()
    }
}
