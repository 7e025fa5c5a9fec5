//! [`Follow`]: records as they come.

use std::iter::FusedIterator;
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::appender::position::Position;
use crate::appender::reading::records::Records;

/// The records of a log, and those that are appended later by whatever program; [`Records::follow`] makes one.
///
/// Each record is there once, whole and in order, across rotation and across appenders that come and go. Appenders do
/// not notice: a follower only reads files and looks for new ones, each millisecond while records come and every 50
/// while none do. It shows records when they are *written*; a power cut may still take those, and with them what a
/// reader on the same machine did. A reader on another machine, of a network file system, may so have seen records that
/// are not in the log when it is back.
///
/// Where files are [removed](crate::appender::Appender::remove_before) before this has read them, their records are
/// passed over: it goes on with the first file that is there, and tells of the gap with one error. Its cause is a
/// [`Missing`](crate::appender::Missing).
///
/// Where the file that this reads is removed and nothing comes behind it, one error tells that, within about a second,
/// and where another log has been begun under the same name, one more. Each has a
/// [`Missing`](crate::appender::Missing) as its cause. Then the new files are read from their beginning, and
/// [`position`](Follow::position) is one of the new log. What an appender goes on to write to a file without a name is
/// read until then.
///
/// Where the file is replaced by a copy of it that has all that was read, a backup for instance, this goes on in the
/// copy without an error. Where the copy has not all of it, or the file was cut, one error with a `Missing` tells that,
/// and `Missing::to` says where reading goes on: behind the last record that is still there. (Of a file that was cut
/// and has grown beyond its old length before this looked, that is the file's beginning, so records may come twice.)
/// Positions never go back without such an error.
///
/// As an iterator it waits for ever.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("events");
/// use manyfiles::appender::{Appender, Records};
///
/// let appender = Appender::options().framed(true).open(&path)?;
/// let mut follow = Records::open(&path)?.follow();
/// assert!(follow.try_next().is_none());
/// appender.append(b"started")?.wait_written()?;
/// assert_eq!(follow.next().expect("it waits")?, b"started");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Follow {
    records: Records,
    /// How often in a row there was nothing.
    idle: u32,
}

/// A reader that polls takes about 3 microseconds each time.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(50);
/// So often in a row without a record, names are listed: files may have been removed that were still to be read.
const LIST_EVERY: u32 = 20;

impl Records {
    /// Waits for records that are appended later, by whatever program, across rotation.
    pub fn follow(self) -> Follow {
        Follow::new(self)
    }
}

impl Follow {
    pub(in crate::appender) fn new(records: Records) -> Follow {
        Follow { records, idle: 0 }
    }

    /// The next record, if it is there now.
    pub fn try_next(&mut self) -> Option<Result<Vec<u8>>> {
        let mut next = self.records.read(true);
        if next.is_none() {
            self.idle = self.idle.saturating_add(1);
            if self.idle.is_multiple_of(LIST_EVERY) {
                if let Err(error) = self.records.look_around() {
                    return Some(Err(error));
                }
                next = self.records.read(true);
            }
        }
        if next.is_some() {
            self.idle = 0;
        }
        next
    }

    /// The next record, if it comes within this time.
    pub fn next_within(&mut self, time: Duration) -> Option<Result<Vec<u8>>> {
        let end = Instant::now().checked_add(time);
        loop {
            if let Some(next) = self.try_next() {
                return Some(next);
            }
            let left = end.map_or(LONGEST, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            thread::sleep(left.min(LONGEST.min(SHORTEST * self.idle.min(50))));
        }
    }

    /// Where to read on behind the record that was returned last.
    pub fn position(&self) -> Position {
        self.records.position()
    }

    /// Where the record begins that was returned last.
    pub fn record_position(&self) -> Option<Position> {
        self.records.record_position()
    }
}

impl Iterator for Follow {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        self.next_within(Duration::MAX)
    }
}

impl FusedIterator for Follow {}
