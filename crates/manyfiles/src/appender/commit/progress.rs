//! [`Progress`]: how far records have come. The only place that knows, and the only one that changes it.
//!
//! Records are counted from 1 in the order in which they were appended: `durable <= written <= appended`. Each of the
//! three only grows, until something fails. From then on none grows, whatever call that was under way ends well; if a
//! sync failed, or fails then, `written` is what is durable, because the system forgets what it could not write out.

use crate::{Error, Operation};

/// Where a place in a file is: bytes of it that are written, or durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::appender) struct FilePlace {
    /// Files are counted as they are begun.
    pub(in crate::appender) file: u64,
    pub(in crate::appender) offset: u64,
}

#[derive(Debug)]
pub(in crate::appender) struct Progress {
    appended: u64,
    /// Bytes of all appended records, without frames.
    appended_bytes: u64,
    written: u64,
    durable: u64,
    /// How far the file that is written to has come.
    written_place: FilePlace,
    durable_place: FilePlace,
    failure: Option<Error>,
    /// A caller has been told of the failure.
    told: bool,
}

/// What a sync that begins now makes durable if it succeeds.
#[derive(Clone, Copy, Debug)]
pub(in crate::appender) struct Covered {
    record: u64,
    place: FilePlace,
}

impl Covered {
    pub(in crate::appender) fn offset(self) -> u64 {
        self.place.offset
    }
}

impl Progress {
    /// Begins behind what is durable in the file already.
    pub(in crate::appender) fn new(end: u64) -> Progress {
        let place = FilePlace { file: 0, offset: end };
        Progress {
            appended: 0,
            appended_bytes: 0,
            written: 0,
            durable: 0,
            written_place: place,
            durable_place: place,
            failure: None,
            told: false,
        }
    }

    pub(in crate::appender) fn appended(&self) -> u64 {
        self.appended
    }

    pub(in crate::appender) fn is_written(&self, record: u64) -> bool {
        record <= self.written
    }

    pub(in crate::appender) fn is_durable(&self, record: u64) -> bool {
        record <= self.durable
    }

    pub(in crate::appender) fn written(&self) -> u64 {
        self.written
    }

    pub(in crate::appender) fn durable(&self) -> u64 {
        self.durable
    }

    /// Up to where the file that is written to is durable.
    pub(in crate::appender) fn durable_offset(&self) -> u64 {
        self.durable_place.offset
    }

    /// Whether a sync would make anything durable.
    pub(in crate::appender) fn has_undurable(&self) -> bool {
        self.durable_place != self.written_place
    }

    /// Bytes of all appended records, without frames.
    pub(in crate::appender) fn appended_bytes(&self) -> u64 {
        self.appended_bytes
    }

    /// Another record of this length: its number.
    pub(in crate::appender) fn appends(&mut self, length: usize) -> u64 {
        self.appended += 1;
        self.appended_bytes += length as u64;
        self.appended
    }

    /// Records up to this one are with the system, and their file ends there.
    pub(in crate::appender) fn wrote(&mut self, record: u64, end: u64) {
        if self.failure.is_none() {
            debug_assert!(self.written <= record && record <= self.appended);
            self.written = record;
            self.written_place.offset = end;
        }
    }

    /// To be asked when a sync begins.
    pub(in crate::appender) fn covered(&self) -> Covered {
        Covered { record: self.written, place: self.written_place }
    }

    /// A sync has succeeded that began when that was asked.
    pub(in crate::appender) fn synced(&mut self, Covered { record, place }: Covered) {
        if self.failure.is_none() {
            self.durable = self.durable.max(record);
            if place.file == self.written_place.file {
                self.durable_place = place;
            }
        }
    }

    /// A file was begun behind one that is durable. It is durable itself, up to this place.
    pub(in crate::appender) fn begins_file(&mut self, offset: u64) {
        let next = FilePlace { file: self.written_place.file + 1, offset };
        (self.written_place, self.durable_place) = (next, next);
    }

    /// The first failure is the one that counts.
    pub(in crate::appender) fn fails(&mut self, error: Error) {
        if error.operation() == Operation::Sync {
            self.written = self.durable;
        }
        self.failure.get_or_insert(error);
    }

    /// Whether anything has failed.
    pub(in crate::appender) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether a caller has been told of a failure.
    pub(in crate::appender) fn is_told(&self) -> bool {
        self.told
    }

    /// The failure, to look at.
    pub(in crate::appender) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// The failure, for a caller: it counts as told.
    pub(in crate::appender) fn tell(&mut self) -> Option<Error> {
        self.told |= self.failure.is_some();
        self.failure.clone()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn error(operation: Operation) -> Error {
        Error::new(operation, "f", std::io::Error::from_raw_os_error(5))
    }

    fn three_records() -> Progress {
        let mut progress = Progress::new(0);
        for _ in 0..3 {
            progress.appends(10);
        }
        progress.wrote(1, 10);
        progress.synced(progress.covered());
        progress.wrote(2, 20);
        progress
    }

    #[test]
    fn a_write_that_ends_after_a_failed_sync_makes_nothing_written() {
        let mut progress = three_records();
        progress.fails(error(Operation::Sync));
        progress.wrote(3, 30);
        assert_eq!((progress.durable(), progress.written()), (1, 1));
    }

    #[test]
    fn a_sync_that_ends_after_a_failure_makes_nothing_durable() {
        let mut progress = three_records();
        let covered = progress.covered();
        progress.fails(error(Operation::Write));
        progress.synced(covered);
        assert_eq!((progress.durable(), progress.written()), (1, 2), "what was written before the failure stays so");
    }

    #[test]
    fn a_sync_that_fails_after_a_write_did_takes_what_was_written_and_the_first_failure_stays() {
        let mut progress = three_records();
        progress.fails(error(Operation::Write));
        progress.fails(error(Operation::Sync));
        assert_eq!((progress.durable(), progress.written()), (1, 1));
        assert_eq!(progress.tell().unwrap().operation(), Operation::Write);
    }

    #[test]
    fn a_sync_of_a_file_that_was_left_says_nothing_about_the_next_one() {
        let mut progress = three_records();
        let covered = progress.covered();
        progress.synced(covered);
        progress.begins_file(96);
        progress.wrote(3, 500);
        progress.synced(covered);
        assert_eq!((progress.durable(), progress.durable_offset()), (2, 96));
        assert!(progress.has_undurable());
    }
}
