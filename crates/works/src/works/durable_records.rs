//! Durable records of many threads in one file: one sync for each, against group commit.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Result, ensure};
use manyfiles::appender::Appender;
use manyfiles_measure::contest::{Sample, timed};

use crate::interrupt::Interrupt;

const RECORD: [u8; 100] = [b'r'; 100];

/// Each thread appends so many records of 100 bytes, and waits for each until it is durable.
#[derive(Clone, Copy, Debug)]
pub struct DurableRecords<'a> {
    threads: usize,
    each: usize,
    interrupt: &'a Interrupt,
}

impl<'a> DurableRecords<'a> {
    /// `each` records from each of `threads`.
    pub fn new(threads: usize, each: usize, interrupt: &'a Interrupt) -> DurableRecords<'a> {
        DurableRecords { threads, each, interrupt }
    }

    /// A lock around a write and a sync.
    ///
    /// # Errors
    /// The first of any thread.
    pub fn with_lock(&self, folder: &Path) -> Result<Sample> {
        fs::create_dir(folder)?;
        let file = Mutex::new(File::create(folder.join("records"))?);
        timed(|| {
            self.on_threads(|| {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.write_all(&RECORD)?;
                Ok(file.sync_data()?)
            })
        })
    }

    /// [`Appender`], unframed.
    ///
    /// # Errors
    /// The first of any thread.
    pub fn with_appender(&self, folder: &Path) -> Result<Sample> {
        fs::create_dir(folder)?;
        let appender = Appender::open(folder.join("records"))?;
        let sample = timed(|| self.on_threads(|| Ok(appender.append_durable(&RECORD)?)))?;
        appender.close()?;
        Ok(sample)
    }

    /// Whether all records are in the file, and nothing else.
    ///
    /// # Errors
    /// What is there instead.
    pub fn check(&self, folder: &Path) -> Result<()> {
        let content = fs::read(folder.join("records"))?;
        ensure!(
            content == RECORD.repeat(self.each * self.threads),
            "{} bytes, or others than were written",
            content.len()
        );
        Ok(())
    }

    fn on_threads(&self, durable: impl Fn() -> Result<()> + Sync) -> Result<()> {
        let one = || {
            (0..self.each).try_for_each(|_| {
                self.interrupt.check()?;
                durable()
            })
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(one)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("it returns its errors"))
        })
    }
}
