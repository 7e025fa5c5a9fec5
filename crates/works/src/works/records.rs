//! Small records one after the other into one file: bare File, BufWriter, FileWriter.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Result, ensure};
use manyfiles::writer::FileWriter;
use manyfiles_measure::contest::{Sample, timed};

use crate::interrupt::Interrupt;

/// What records are cut from, over and over: short enough to stay in the processor's cache.
const CACHED: usize = 64 << 10;

/// Records of one length, as many whole ones as a number of bytes holds, into the file `file`.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    source: Vec<u8>,
    len: usize,
    count: usize,
    interrupt: &'a Interrupt,
}

impl<'a> Records<'a> {
    /// Records of `len` bytes, `total` in all.
    pub fn new(len: usize, total: usize, interrupt: &'a Interrupt) -> Records<'a> {
        let source = (0..CACHED / len * len).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        Records { source, len, count: total / len, interrupt }
    }

    /// The bytes of as many whole records as stay in the processor's cache. The file is these, over and over.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// How many bytes are written.
    pub fn bytes(&self) -> usize {
        self.count * self.len
    }

    /// A bare [`File`]: one call of the system for each record.
    ///
    /// # Errors
    /// The system's.
    pub fn with_file(&self, folder: &Path) -> Result<Sample> {
        self.into_file(folder, |mut file| self.each(|record| Ok(file.write_all(record)?)))
    }

    /// [`BufWriter`].
    ///
    /// # Errors
    /// The system's.
    pub fn with_buf_writer(&self, capacity: usize, folder: &Path) -> Result<Sample> {
        self.into_file(folder, |file| {
            let mut out = BufWriter::with_capacity(capacity, file);
            self.each(|record| Ok(out.write_all(record)?))?;
            out.flush()?;
            Ok(())
        })
    }

    /// [`FileWriter`].
    ///
    /// # Errors
    /// The system's.
    pub fn with_file_writer(&self, second_thread: bool, folder: &Path) -> Result<Sample> {
        fs::create_dir(folder)?;
        timed(|| {
            let mut out = FileWriter::options().second_thread(second_thread).create(folder.join("file"))?;
            self.each(|record| Ok(out.write_all(record)?))?;
            ensure!(out.close()?.bytes == self.bytes() as u64, "the writer counts other bytes");
            Ok(())
        })
    }

    /// Opens the file and times what is done with it until it is closed: for entrants that only the caller knows.
    ///
    /// # Errors
    /// Those of the work, and of making the file.
    pub fn into_file(&self, folder: &Path, write: impl FnOnce(File) -> Result<()>) -> Result<Sample> {
        fs::create_dir(folder)?;
        timed(|| write(File::create(folder.join("file"))?))
    }

    /// Whether the file holds all records, and nothing else.
    ///
    /// # Errors
    /// What is there instead.
    pub fn check(&self, folder: &Path) -> Result<()> {
        let mut left = self.bytes();
        let mut file = File::open(folder.join("file"))?;
        let length = file.metadata()?.len();
        ensure!(length == left as u64, "{length} bytes, not {left}");
        let mut period = vec![0; self.source.len()];
        while left > 0 {
            let next = period.len().min(left);
            file.read_exact(&mut period[..next])?;
            ensure!(period[..next] == self.source[..next], "other bytes than were written, {left} before the end");
            left -= next;
        }
        Ok(())
    }

    /// Every record in turn. Their length is known at run time only, as a program's would be.
    #[inline(always)]
    fn each(&self, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let len = black_box(self.len);
        let mut left = self.count;
        while left > 0 {
            self.interrupt.check()?;
            for record in self.source.chunks_exact(len).take(left) {
                write(record)?;
                left -= 1;
            }
        }
        Ok(())
    }
}
