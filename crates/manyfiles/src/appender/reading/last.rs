//! The last records of a log, found without reading all of it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use crate::Result;
use crate::appender::log::opened::open_file;
use crate::appender::log::series::Series;
use crate::appender::position::Position;
use crate::appender::reading::records::Records;
use crate::appender::storage::{FileSystem, Storage};

impl Records {
    /// Opens the log to read its last `records` records, or all if there are fewer. Files that end before them are not
    /// read.
    ///
    /// Counted are the records that are there now. Errors that are met among them are told as they are read; those
    /// before them are not.
    ///
    /// ```
    /// # let temp = tempfile::tempdir()?;
    /// # let path = temp.path().join("events");
    /// use manyfiles::appender::{Appender, Records};
    ///
    /// let appender = Appender::options().framed(true).open(&path)?;
    /// for n in 0..100_u8 {
    ///     appender.append(&[n])?;
    /// }
    /// appender.flush()?;
    /// let mut last = Records::open_last(&path, 2)?;
    /// assert_eq!(last.next().expect("it is there")?, [98]);
    /// assert_eq!(last.next().expect("it is there")?, [99]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_last(path: impl AsRef<Path>, records: usize) -> Result<Records> {
        open_last(Arc::new(FileSystem::new()), path.as_ref(), records)
    }
}

/// See [`Records::open_last`]. Reads the last file, and twice as many as long as they have too few records.
pub(in crate::appender) fn open_last(storage: Arc<dyn Storage>, path: &Path, records: usize) -> Result<Records> {
    let series = Series::new(&*storage, path)?;
    let numbers = series.numbers(&*storage)?;
    let mut files = 1;
    loop {
        let is_all = files >= numbers.len();
        let mut from = None;
        if !is_all {
            let number = numbers[numbers.len() - files];
            // Nothing was ever written to it: the one before it says where it begins.
            let Some(first) = open_file(&*storage, &series, number)?.file() else {
                files += 1;
                continue;
            };
            from = Some(Position(first.header.base));
        }
        let mut suffix = Records::open_in(Arc::clone(&storage), path, from)?;
        let mut last = VecDeque::new();
        let mut count = 0;
        while let Some(record) = suffix.next() {
            // What is wrong is told when it is read, if it is among the last records.
            if record.is_err() {
                continue;
            }
            count += 1;
            last.extend(suffix.record_position());
            if last.len() > records {
                last.pop_front();
            }
        }
        if count >= records {
            let first = last.front().copied().unwrap_or(suffix.position());
            return Records::open_in(storage, path, Some(first));
        }
        if is_all {
            return Records::open_in(storage, path, None);
        }
        files = files.saturating_mul(2);
    }
}
