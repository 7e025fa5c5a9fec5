//! okaywal: whoever commits first syncs, for all who have written by then.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use okaywal::{Configuration, Entry, EntryId, LogManager, SegmentReader, WriteAheadLog};

use super::super::append::{RECORD, Waits, measure};
use super::settle::settle;
use crate::contest::{Check, Sample};

/// Segments larger than what a run writes, filled with zeros when the log is opened, and no checkpoint during a run.
fn config(folder: &Path) -> Configuration {
    Configuration::default_for(folder).preallocate_bytes(4 << 20).checkpoint_after_bytes(4 << 20).buffer_bytes(64 << 10)
}

/// Counts what is in a log.
#[derive(Debug, Default)]
struct Counting(Arc<AtomicUsize>);

impl LogManager for Counting {
    fn recover(&mut self, entry: &mut Entry<'_>) -> io::Result<()> {
        if entry.read_all_chunks()?.is_some_and(|chunks| chunks == [RECORD]) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn checkpoint_to(&mut self, _: EntryId, _: &mut SegmentReader, _: &WriteAheadLog) -> io::Result<()> {
        Ok(())
    }
}

pub fn run(folder: &Path, threads: usize, each: usize, figure: impl Fn(Waits) -> f64) -> Result<Sample> {
    let log = config(folder).open(Counting::default())?;
    settle(folder)?;
    let sample = measure(threads, each, figure, || {
        let mut entry = log.begin_entry()?;
        entry.write_chunk(&RECORD)?;
        entry.commit()?;
        Ok(())
    })?;
    log.shutdown()?;
    Ok(sample)
}

/// Checks that the log holds so many records.
pub fn holds(records: usize) -> Check<'static> {
    Box::new(move |folder| {
        let counting = Counting::default();
        let count = Arc::clone(&counting.0);
        config(folder).open(counting)?.shutdown()?;
        let found = count.load(Ordering::Relaxed);
        ensure!(found == records, "{found} records, not {records}");
        Ok(())
    })
}
