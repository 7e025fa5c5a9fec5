//! Many small writes to one path: opened and closed for each, kept open by Vfs, through one FileWriter.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use manyfiles::vfs::Vfs;
use manyfiles::writer::FileWriter;
use manyfiles_measure::contest::{Sample, timed};

use crate::interrupt::Interrupt;

/// The same bytes, over and over, into the file `array`.
#[derive(Clone, Debug)]
pub struct OnePath<'a> {
    tile: Vec<u8>,
    count: usize,
    interrupt: &'a Interrupt,
}

impl<'a> OnePath<'a> {
    /// `count` writes of `len` bytes.
    pub fn new(count: usize, len: usize, interrupt: &'a Interrupt) -> OnePath<'a> {
        OnePath { tile: (0..len).map(|n| n as u8).collect(), count, interrupt }
    }

    /// What each write writes.
    pub fn tile(&self) -> &[u8] {
        &self.tile
    }

    /// Where each write goes.
    pub fn offsets(&self) -> impl Iterator<Item = u64> + use<> {
        let len = self.tile.len();
        (0..self.count).map(move |n| (n * len) as u64)
    }

    /// The file is opened to append, written and closed for each.
    ///
    /// # Errors
    /// The system's.
    pub fn with_open_each(&self, folder: &Path) -> Result<Sample> {
        let path = array(folder)?;
        timed(|| self.each(|tile| Ok(File::options().append(true).create(true).open(&path)?.write_all(tile)?)))
    }

    /// One unbuffered [`File`].
    ///
    /// # Errors
    /// The system's.
    pub fn with_file(&self, folder: &Path) -> Result<Sample> {
        let path = array(folder)?;
        timed(|| {
            let mut file = File::create(path)?;
            self.each(|tile| Ok(file.write_all(tile)?))
        })
    }

    /// [`Vfs::write`], by the path in every call.
    ///
    /// # Errors
    /// The system's.
    pub fn with_vfs(&self, folder: &Path) -> Result<Sample> {
        let path = array(folder)?;
        timed(|| {
            let vfs = Vfs::new();
            self.each(|tile| Ok(vfs.write(&path, tile)?))?;
            Ok(vfs.finish()?)
        })
    }

    /// One [`FileWriter`].
    ///
    /// # Errors
    /// The system's.
    pub fn with_file_writer(&self, folder: &Path) -> Result<Sample> {
        let path = array(folder)?;
        timed(|| {
            let mut file = FileWriter::create(path)?;
            self.each(|tile| Ok(file.write_all(tile)?))?;
            file.close()?;
            Ok(())
        })
    }

    /// Whether the file holds all of the writes, and nothing else.
    ///
    /// # Errors
    /// If it holds other bytes.
    pub fn check(&self, folder: &Path) -> Result<()> {
        ensure!(fs::read(folder.join("array"))? == self.tile.repeat(self.count), "other bytes than were written");
        Ok(())
    }

    #[inline(always)]
    fn each(&self, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        (0..self.count).try_for_each(|_| {
            self.interrupt.check()?;
            write(black_box(&self.tile))
        })
    }
}

fn array(folder: &Path) -> Result<PathBuf> {
    fs::create_dir(folder)?;
    Ok(folder.join("array"))
}
