//! Where a contest takes place: a file system of its own, with a fresh folder for every run.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use manyfiles_measure::contest::Site;
use manyfiles_testkit::{Disk, Op, SlowMount};
use tempfile::TempDir;

use crate::foreign::Foreign;

/// A file system to write to.
pub struct Place {
    /// As tables show it.
    pub name: String,
    kind: Kind,
    runs: Cell<u32>,
}

enum Kind {
    Tmpfs(Disk),
    /// A journaled file system. Nothing is deleted there: blocks and inodes that were just freed make the next run
    /// another.
    Image(Disk),
    /// The same for large files, which no disk holds of all rounds: each run's are deleted, and the journal has
    /// committed that before the next one begins.
    Cleared(Disk),
    Slow(SlowMount),
    Foreign(Foreign),
    /// Over an empty folder, which lasts as long.
    Overlay {
        disk: Disk,
        _lower: TempDir,
    },
}

impl Place {
    /// Files in memory.
    pub fn tmpfs() -> Result<Place> {
        Ok(Place::new("tmpfs", Kind::Tmpfs(Disk::tmpfs().megabytes(12 << 10).mount()?)))
    }

    /// A journaled ext4 in an image file, with room for all rounds: ten entrants that write 50,000 files fifteen times.
    pub fn ext4() -> Result<Place> {
        // Of 6.5 KB each, where mkfs reckons with 16.
        const FILES_PER_MEGABYTE: u64 = 160;
        /// What a short round writes.
        const LEAST: u64 = 6 << 10;
        let megabytes = image_size(48 << 10)?;
        ensure!(megabytes >= LEAST, "needs {LEAST} MiB: an image of {megabytes} has room");
        let disk = Disk::ext4().megabytes(megabytes).inodes(megabytes * FILES_PER_MEGABYTE).mount()?;
        Ok(Place::new("ext4", Kind::Image(disk)))
    }

    /// A journaled ext4 in an image file, for large files.
    pub fn ext4_cleared() -> Result<Place> {
        Ok(Place::new("ext4", Kind::Cleared(Disk::ext4().megabytes(image_size(4 << 10)?).mount()?)))
    }

    /// An XFS in an image file, with room for all rounds.
    pub fn xfs() -> Result<Place> {
        Ok(Place::new("XFS", Kind::Image(Disk::xfs().megabytes(image_size(16 << 10)?).mount()?)))
    }

    /// The same, an XFS.
    pub fn xfs_cleared() -> Result<Place> {
        Ok(Place::new("XFS", Kind::Cleared(Disk::xfs().megabytes(image_size(8 << 10)?).mount()?)))
    }

    /// The same, a btrfs.
    pub fn btrfs_cleared() -> Result<Place> {
        Ok(Place::new("btrfs", Kind::Cleared(Disk::btrfs().megabytes(image_size(8 << 10)?).mount()?)))
    }

    /// A FUSE mount over memory whose `ops` each take `delay` longer.
    pub fn slow(name: &str, ops: &[Op], delay: Duration) -> Result<Place> {
        let options = ops.iter().fold(SlowMount::options(), |options, &op| options.delay(op, delay));
        Ok(Place::new(name, Kind::Slow(options.mount()?)))
    }

    /// What a server would be asked for.
    pub const EVERY_CALL: [Op; 7] = [Op::Open, Op::Create, Op::Mkdir, Op::Write, Op::Close, Op::Unlink, Op::Rename];

    /// The same with every call slow, where the kernel gathers what is written.
    pub fn slow_with_write_back(name: &str, delay: Duration) -> Result<Place> {
        let options = SlowMount::options().write_back();
        let options = Place::EVERY_CALL.iter().fold(options, |options, &op| options.delay(op, delay));
        Ok(Place::new(name, Kind::Slow(options.mount()?)))
    }

    /// See [`Foreign::sshfs`].
    pub fn sshfs() -> Result<Place> {
        Ok(Place::new("sshfs on this machine", Kind::Foreign(Foreign::sshfs()?)))
    }

    /// See [`Foreign::gocryptfs`].
    pub fn gocryptfs() -> Result<Place> {
        Ok(Place::new("gocryptfs", Kind::Foreign(Foreign::gocryptfs()?)))
    }

    /// What a container writes to.
    pub fn overlay() -> Result<Place> {
        let lower = tempfile::tempdir()?;
        let disk = Disk::overlay(lower.path())?;
        Ok(Place::new("overlay on the disk", Kind::Overlay { disk, _lower: lower }))
    }

    /// The same files, if the place is a slow mount, on a mount whose calls are not delayed.
    pub fn without_delay(&self) -> Result<SlowMount> {
        match &self.kind {
            Kind::Slow(mount) => Ok(SlowMount::options().mount_over(mount.backing())?),
            _ => bail!("{} has no delay", self.name),
        }
    }

    /// Waits until what was written has reached the image, if the place is one.
    pub fn settle(&self) -> Result<()> {
        if let Kind::Image(disk) | Kind::Cleared(disk) = &self.kind {
            disk.sync()?;
        }
        Ok(())
    }

    fn new(name: &str, kind: Kind) -> Place {
        Place { name: name.to_owned(), kind, runs: Cell::new(0) }
    }
}

/// How large an image can be, in MiB: no larger than what is free where it is made, so that it is the file system in it
/// that says when it is full. The other way round its writes would fail with I/O errors.
fn image_size(wanted: u64) -> Result<u64> {
    /// What a short round writes; and what is left to other programs.
    const LEAST: u64 = 4 << 10;
    const LEFT: u64 = 1 << 10;
    let folder = std::env::temp_dir();
    let Some(free) = manyfiles_measure::Place::of(&folder)?.free_bytes else { return Ok(wanted) };
    let free = free >> 20;
    match free.saturating_sub(LEFT).min(wanted) {
        size if size < LEAST => {
            bail!("needs {LEAST} MiB in {}, and {LEFT} to spare: {free} are free", folder.display())
        }
        size => Ok(size),
    }
}

impl Site for Place {
    fn name(&self) -> &str {
        &self.name
    }

    /// Before it is returned, what earlier runs wrote has reached the image, so that its write-back is not counted as
    /// this run's time.
    fn fresh(&self) -> Result<PathBuf> {
        let run = self.runs.replace(self.runs.get() + 1);
        self.settle()?;
        let root = match &self.kind {
            Kind::Tmpfs(disk) | Kind::Image(disk) | Kind::Cleared(disk) => disk.path(),
            Kind::Slow(mount) => mount.path(),
            Kind::Foreign(mount) => mount.path(),
            Kind::Overlay { disk, .. } => disk.path(),
        };
        Ok(root.join(format!("run-{run:04}")))
    }

    fn behind(&self, folder: &Path) -> PathBuf {
        match &self.kind {
            Kind::Slow(mount) => mount.backing().join(folder.file_name().expect("it was made by `fresh`")),
            Kind::Foreign(mount) => mount.backing().join(folder.file_name().expect("it was made by `fresh`")),
            _ => folder.to_owned(),
        }
    }

    fn done_with(&self, folder: &Path) -> Result<()> {
        if matches!(self.kind, Kind::Tmpfs(_) | Kind::Cleared(_) | Kind::Foreign(_) | Kind::Overlay { .. })
            && folder.exists()
        {
            fs::remove_dir_all(folder)?;
        }
        Ok(())
    }
}
