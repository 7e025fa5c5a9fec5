//! The last records of a log, found without reading all of it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use super::reader::open_file;
use super::receipt::Position;
use super::records::Records;
use super::series::Series;
use super::storage::Storage;
use crate::Result;

/// See [`Records::open_last`]. Reads the last file, and twice as many as long as they have too few records.
pub(super) fn open_last(storage: Arc<dyn Storage>, path: &Path, records: usize) -> Result<Records> {
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
            // What is wrong is told to whoever reads it, if it is among the last.
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
