//! Small records one after the other into one file: bare File, BufWriter, FileWriter.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Result, ensure};
use manyfiles::writer::FileWriter;
use manyfiles_measure::contest::{Check, Entrant, Goal, Sample, timed};

use super::Work;
use crate::session::{Interrupt, Session};

const TOTAL: usize = 32 << 20;

/// A call of the system for each byte of 32 MiB takes half a minute. So that it ends, this many are written, and the time is
/// multiplied.
const BARE_BYTES: usize = 256 << 10;

/// What records are cut from, over and over: short enough to stay in the processor's cache.
const CACHED: usize = 64 << 10;

pub(super) fn of_1(work: &Work, session: &Session<'_>) {
    contest(work, session, 1);
}

pub(super) fn of_100(work: &Work, session: &Session<'_>) {
    contest(work, session, 100);
}

pub(super) fn of_1024(work: &Work, session: &Session<'_>) {
    contest(work, session, 1 << 10);
}

pub(super) fn of_8192(work: &Work, session: &Session<'_>) {
    contest(work, session, 8 << 10);
}

fn contest(work: &Work, session: &Session<'_>, len: usize) {
    let records = Records { source: source(len), len, interrupt: &session.interrupt };
    let records = &records;
    let bare = if len == 1 { BARE_BYTES } else { TOTAL };
    let all: Check<'_> = Box::new(|folder| records.check(folder, TOTAL));
    let part: Check<'_> = Box::new(|folder| records.check(folder, bare));
    let name = if bare < TOTAL { "File (1/128, multiplied)" } else { "File" };
    session.enter(
        work,
        vec![
            Entrant::new(name, Goal::Shown, &part, Box::new(|folder| records.with_file(folder, bare))),
            Entrant::new(
                "BufWriter, 8 KiB",
                Goal::Shown,
                &all,
                Box::new(|folder| records.with_buffer(folder, 8 << 10)),
            ),
            Entrant::new(
                "BufWriter, 256 KiB",
                Goal::Shown,
                &all,
                Box::new(|folder| records.with_buffer(folder, 256 << 10)),
            ),
            Entrant::new("FileWriter", Goal::Shown, &all, Box::new(|folder| records.with_file_writer(folder))),
        ],
    );
}

/// Whole records, as many as stay in the cache.
fn source(len: usize) -> Vec<u8> {
    (0..CACHED / len * len).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

struct Records<'a> {
    source: Vec<u8>,
    len: usize,
    interrupt: &'a Interrupt,
}

impl Records<'_> {
    fn with_file(&self, folder: &Path, bytes: usize) -> Result<Sample> {
        fs::create_dir(folder)?;
        let sample = timed(|| {
            let mut file = File::create(folder.join("file"))?;
            self.each(bytes, |record| Ok(file.write_all(record)?))
        })?;
        let times = (TOTAL / bytes) as f64;
        Ok(Sample { seconds: sample.seconds * times, cpu_seconds: sample.cpu_seconds * times, ..sample })
    }

    fn with_buffer(&self, folder: &Path, capacity: usize) -> Result<Sample> {
        fs::create_dir(folder)?;
        timed(|| {
            let mut out = BufWriter::with_capacity(capacity, File::create(folder.join("file"))?);
            self.each(TOTAL, |record| Ok(out.write_all(record)?))?;
            out.flush()?;
            Ok(())
        })
    }

    fn with_file_writer(&self, folder: &Path) -> Result<Sample> {
        fs::create_dir(folder)?;
        timed(|| {
            let mut out = FileWriter::create(folder.join("file"))?;
            self.each(TOTAL, |record| Ok(out.write_all(record)?))?;
            out.close()?;
            Ok(())
        })
    }

    /// Every record in turn, as many whole ones as `bytes` hold. Their length is known at run time only, as a program's would be.
    #[inline(always)]
    fn each(&self, bytes: usize, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let len = black_box(self.len);
        let mut left = bytes / len;
        while left > 0 {
            self.interrupt.check()?;
            for record in self.source.chunks_exact(len).take(left) {
                write(record)?;
                left -= 1;
            }
        }
        Ok(())
    }

    fn check(&self, folder: &Path, bytes: usize) -> Result<()> {
        let mut left = bytes / self.len * self.len;
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
}
