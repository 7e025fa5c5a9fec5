//! Many small writes to one path: opened and closed for each, kept open by Vfs, through one FileWriter.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use manyfiles::vfs::Vfs;
use manyfiles::writer::FileWriter;
use manyfiles_measure::contest::{Check, Sample, timed};

use super::Work;
use crate::session::{Interrupt, Session};

pub(super) fn of_1000(work: &Work, session: &Session<'_>) {
    contest(work, session, 1_000, 4 << 10);
}

pub(super) fn of_5000(work: &Work, session: &Session<'_>) {
    contest(work, session, 5_000, 4 << 10);
}

pub(super) fn of_10000(work: &Work, session: &Session<'_>) {
    contest(work, session, 10_000, 512);
}

fn contest(work: &Work, session: &Session<'_>, count: usize, len: usize) {
    let tile: &Vec<u8> = &(0..len).map(|n| n as u8).collect();
    let whole = tile.repeat(count);
    let check: Check<'_> = Box::new(|folder| {
        ensure!(fs::read(folder.join("array"))? == whole, "other bytes than were written");
        Ok(())
    });
    let writes = Writes { tile, count, interrupt: &session.interrupt };
    let open_each = |folder: &Path| -> Result<Sample> {
        fs::create_dir(folder)?;
        let path = folder.join("array");
        timed(|| writes.each(|tile| Ok(File::options().append(true).create(true).open(&path)?.write_all(tile)?)))
    };
    let one_file = |folder: &Path| -> Result<Sample> {
        fs::create_dir(folder)?;
        timed(|| {
            let mut file = File::create(folder.join("array"))?;
            writes.each(|tile| Ok(file.write_all(tile)?))
        })
    };
    let vfs = |folder: &Path| -> Result<Sample> {
        fs::create_dir(folder)?;
        let path = folder.join("array");
        timed(|| {
            let vfs = Vfs::new();
            writes.each(|tile| Ok(vfs.write(&path, tile)?))?;
            Ok(vfs.finish()?)
        })
    };
    let writer = |folder: &Path| -> Result<Sample> {
        fs::create_dir(folder)?;
        timed(|| {
            let mut file = FileWriter::create(folder.join("array"))?;
            writes.each(|tile| Ok(file.write_all(tile)?))?;
            file.close()?;
            Ok(())
        })
    };
    session.contest(
        work,
        &check,
        vec![
            ("open, write, close each", Box::new(open_each)),
            ("one File", Box::new(one_file)),
            ("Vfs::write", Box::new(vfs)),
            ("FileWriter", Box::new(writer)),
        ],
    );
}

/// The same bytes, over and over.
struct Writes<'a> {
    tile: &'a [u8],
    count: usize,
    interrupt: &'a Interrupt,
}

impl Writes<'_> {
    #[inline(always)]
    fn each(&self, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        (0..self.count).try_for_each(|_| {
            self.interrupt.check()?;
            write(black_box(self.tile))
        })
    }
}
