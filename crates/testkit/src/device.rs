//! [`Device`]: a file system on a device that can run full, and lose its power.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cc::run;
use crate::disk::Disk;
use crate::mounts;

/// An image of a file system on a disk in memory, mounted through a loop device, so that two things can happen to it
/// that happen to real ones: blocks that cannot be written though the file system has room for them, and a power cut.
#[derive(Debug)]
pub struct Device {
    point: PathBuf,
    backing: Disk,
}

impl Device {
    /// Makes a file system with its defaults: `ext4`, `xfs` (320 MiB or more) or `btrfs` (128 or more). Needs root,
    /// loop devices and its `mkfs`.
    pub fn new(kind: &str, megabytes: u64) -> io::Result<Device> {
        // A power cut needs room for a second image.
        let backing = Disk::tmpfs().megabytes(2 * megabytes + 16).mount()?;
        let device = Device { point: backing.path().join("mount"), backing };
        fs::create_dir(&device.point)?;
        File::create(device.image())?.set_len(megabytes << 20)?;
        let quiet: &[&str] = match kind {
            // With the block size that larger ones have.
            "ext4" => &["-q", "-F", "-b", "4096", "-E", "nodiscard"],
            _ => &["-q", "-f", "-K"],
        };
        run(Command::new(format!("mkfs.{kind}")).args(quiet).arg(device.image()))?;
        // Every block has its place, so that the file system can always write what it needs for itself.
        let image = File::options().read(true).write(true).open(device.image())?;
        let mut block = vec![0; 1 << 20];
        for at in (0..megabytes << 20).step_by(block.len()) {
            image.read_exact_at(&mut block, at)?;
            image.write_all_at(&block, at)?;
        }
        device.mount()?;
        Ok(device)
    }

    /// The root of the file system.
    pub fn path(&self) -> &Path {
        &self.point
    }

    fn image(&self) -> PathBuf {
        self.backing.path().join("image")
    }

    fn filler(&self) -> PathBuf {
        self.backing.path().join("filler")
    }

    fn mount(&self) -> io::Result<()> {
        run(Command::new("mount").args(["-o", "loop"]).args([&self.image(), &self.point]))?;
        // Linux's loop devices take a write for a success that was cut short by a full disk. So there are none longer
        // than a page.
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let point = self.point.to_string_lossy();
        let device = mounts.lines().find_map(|line| line.strip_prefix("/dev/")?.split_once(&*format!(" {point} ")));
        let (device, _) = device.ok_or_else(|| io::Error::other("the image's loop device is not known"))?;
        fs::write(format!("/sys/block/{device}/queue/max_sectors_kb"), "4")
    }

    fn unmount(&self) -> io::Result<()> {
        run(Command::new("umount").arg(&self.point)).map(drop)
    }

    /// Unmounts and mounts again: nothing is left in the page cache. Nothing may be open.
    pub fn remount(&self) -> io::Result<()> {
        self.unmount()?;
        self.mount()
    }

    /// Takes the device's room away from the file system's free blocks, except for `but` bytes of them. Such a block
    /// gets its place back when it is written, unless the [device is full](Device::fill).
    ///
    /// They are found by a file that fills all of them for a while: its bytes stay in them.
    pub fn take_free_blocks_away(&self, but: u64) -> io::Result<()> {
        const BLOCK: usize = 4096;
        let pattern: Vec<u8> = (0..BLOCK as u32).map(|n| (n.wrapping_mul(0x9E37_79B1) >> 24) as u8 | 1).collect();
        let ballast = self.point.join("ballast");
        let mut file = File::create(&ballast)?;
        let many = pattern.repeat(16);
        while file.write_all(&many).is_ok() {}
        // Writes that found no room do not matter.
        drop(file.sync_all());
        drop(file);
        run(Command::new("sync").arg("-f").arg(&self.point))?;
        let image = File::options().read(true).write(true).open(self.image())?;
        let (mut block, mut holes, mut kept) = (vec![0; BLOCK], Vec::new(), 0);
        for at in (0..image.metadata()?.len()).step_by(BLOCK) {
            image.read_exact_at(&mut block, at)?;
            if block == pattern {
                kept += BLOCK as u64;
                if kept > but {
                    holes.push(at);
                }
            }
        }
        if holes.is_empty() {
            return Err(io::Error::other("no block of the ballast was found in the image"));
        }
        fs::remove_file(&ballast)?;
        run(Command::new("sync").arg("-f").arg(&self.point))?;
        self.unmount()?;
        for at in holes {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: plain numbers; the descriptor is open.
            if unsafe { libc::fallocate(image.as_raw_fd(), mode, at as i64, BLOCK as i64) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        self.mount()
    }

    /// From here on, blocks without a place cannot be written.
    pub fn fill(&self) -> io::Result<()> {
        let mut filler = File::create(self.filler())?;
        loop {
            match filler.write_all(&[1; 4096]) {
                Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(()),
                other => other?,
            }
        }
    }

    /// There is room again.
    pub fn make_room(&self) -> io::Result<()> {
        fs::remove_file(self.filler())
    }

    /// Cuts the power: only the bytes that the device has now stay, and they are mounted again. No file may be open,
    /// and no program may use the mount.
    pub fn cut_power(&self) -> io::Result<()> {
        let copy = self.backing.path().join("copy");
        run(Command::new("cp").args([&self.image(), &copy]))?;
        self.unmount()?;
        fs::rename(copy, self.image())?;
        self.mount()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        mounts::report(mounts::unmount(&self.point));
    }
}
