//! [`Disk`]: a file system for one test.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::cc::run;
use crate::mounts;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ext4,
    Xfs,
    Btrfs,
    Tmpfs,
}

/// What a [`Disk`] is to be like.
#[derive(Clone, Debug)]
pub struct DiskOptions {
    kind: Kind,
    megabytes: u64,
    inodes: Option<u64>,
    quota: Option<u64>,
}

impl DiskOptions {
    /// Its size in MiB; default 1024. An image file takes only the space that is written to.
    #[must_use]
    pub fn megabytes(mut self, megabytes: u64) -> Self {
        self.megabytes = megabytes;
        self
    }

    /// How many files and folders it can hold (ext4 and tmpfs). Default: as many as the file system's tool chooses for
    /// its size.
    #[must_use]
    pub fn inodes(mut self, inodes: u64) -> Self {
        self.inodes = Some(inodes);
        self
    }

    /// Bytes beyond which writes fail with `EDQUOT` (btrfs).
    #[must_use]
    pub fn quota(mut self, bytes: u64) -> Self {
        self.quota = Some(bytes);
        self
    }

    /// Makes it and mounts it. Needs root; all but tmpfs need loop devices and the file system's `mkfs`.
    pub fn mount(self) -> io::Result<Disk> {
        mounts::sweep();
        if self.inodes.is_some() && !matches!(self.kind, Kind::Ext4 | Kind::Tmpfs) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "only ext4 and tmpfs can be given a number of inodes",
            ));
        }
        if self.quota.is_some() && self.kind != Kind::Btrfs {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "only btrfs can be given a quota"));
        }
        let temp = mounts::disk_folder()?;
        let point = temp.path().join("mount");
        std::fs::create_dir(&point)?;
        match self.kind {
            Kind::Tmpfs => self.mount_tmpfs(&point)?,
            _ => self.mount_image(&temp.path().join("image"), &point)?,
        }
        let disk = Disk { point, _temp: temp };
        if let Some(bytes) = self.quota {
            run(Command::new("btrfs").args(["quota", "enable"]).arg(disk.path()))?;
            run(Command::new("btrfs").args(["qgroup", "limit", &bytes.to_string()]).arg(disk.path()))?;
        }
        Ok(disk)
    }

    fn mount_tmpfs(&self, point: &Path) -> io::Result<()> {
        let mut options = format!("size={}m", self.megabytes);
        if let Some(inodes) = self.inodes {
            options += &format!(",nr_inodes={inodes}");
        }
        run(Command::new("mount").args(["-t", "tmpfs", "-o", &options, "manyfiles-testkit"]).arg(point))?;
        Ok(())
    }

    fn mount_image(&self, image: &Path, point: &Path) -> io::Result<()> {
        File::create(image)?.set_len(self.megabytes << 20)?;
        let (mut mkfs, options) = match self.kind {
            // As mkfs makes it, with a journal. The kernel thread that goes on to clear inode tables would disturb
            // benchmarks.
            Kind::Ext4 => (Command::new("mkfs.ext4"), "loop,noinit_itable"),
            Kind::Xfs => (Command::new("mkfs.xfs"), "loop"),
            Kind::Btrfs => (Command::new("mkfs.btrfs"), "loop"),
            Kind::Tmpfs => unreachable!("has no image"),
        };
        if let Some(inodes) = self.inodes {
            mkfs.args(["-N", &inodes.to_string()]);
        }
        run(mkfs.arg("-q").arg(image))?;
        run(Command::new("mount").args(["-o", options]).args([image, point]))?;
        Ok(())
    }
}

/// A file system that is mounted for a test and gone after it.
#[derive(Debug)]
pub struct Disk {
    point: PathBuf,
    // Removed after the file system is unmounted.
    _temp: TempDir,
}

impl Disk {
    /// An ext4 with a journal, in an image file; end with [`mount`](DiskOptions::mount).
    pub fn ext4() -> DiskOptions {
        Disk::of(Kind::Ext4)
    }

    /// An XFS in an image file; at least 300 MiB.
    pub fn xfs() -> DiskOptions {
        Disk::of(Kind::Xfs)
    }

    /// A btrfs in an image file; at least 110 MiB.
    pub fn btrfs() -> DiskOptions {
        Disk::of(Kind::Btrfs)
    }

    /// A file system in memory.
    pub fn tmpfs() -> DiskOptions {
        Disk::of(Kind::Tmpfs)
    }

    /// An overlay, as the root of a container is: what is in `lower` is shown, and stays as it is. What is written is in
    /// memory. Needs root.
    pub fn overlay(lower: &Path) -> io::Result<Disk> {
        mounts::sweep();
        let temp = mounts::disk_folder()?;
        let [point, upper, work] = ["mount", "upper", "work"].map(|name| temp.path().join(name));
        for folder in [&point, &upper, &work] {
            std::fs::create_dir(folder)?;
        }
        let layers = [("lowerdir", lower), ("upperdir", &upper), ("workdir", &work)];
        let options = layers.map(|(name, path)| format!("{name}={}", path.display())).join(",");
        run(Command::new("mount").args(["-t", "overlay", "-o", &options, "manyfiles-testkit"]).arg(&point))?;
        Ok(Disk { point, _temp: temp })
    }

    fn of(kind: Kind) -> DiskOptions {
        DiskOptions { kind, megabytes: 1024, inodes: None, quota: None }
    }

    /// Its root.
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// From here on every change fails with `EROFS`. Nothing may be open for writing.
    pub fn make_read_only(&self) -> io::Result<()> {
        run(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.point)).map(drop)
    }

    /// Waits until everything written to it is in its image.
    pub fn sync(&self) -> io::Result<()> {
        run(Command::new("sync").arg("-f").arg(&self.point)).map(drop)
    }

    /// Fills it until only about `leave` bytes are free: a file `ballast` takes the rest.
    pub fn fill(&self, leave: u64) -> io::Result<()> {
        let mut ballast = File::create(self.point.join("ballast"))?;
        let block = vec![0x5a; 64 << 10];
        let mut written = 0;
        loop {
            match ballast.write(&block) {
                Ok(n) => written += n as u64,
                Err(e) if e.kind() == io::ErrorKind::StorageFull => break,
                Err(e) => return Err(e),
            }
        }
        ballast.set_len(written.saturating_sub(leave))?;
        // The blocks that are given back can be had once the file system has committed that.
        ballast.sync_all()?;
        self.sync()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        mounts::report(mounts::unmount(&self.point));
    }
}
