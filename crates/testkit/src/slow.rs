//! [`SlowMount`]: a file system that waits and fails when told to.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::model::Record;
use crate::{cc, mounts};

/// How many requests of a [`SlowMount`] can wait at the same time.
const THREADS: usize = 512;

/// A kind of request to a [`SlowMount`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Opening a file that exists.
    Open,
    /// Creating a file; the kernel holds the folder's lock meanwhile, so creations in one folder do not overlap.
    Create,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Closing: each close of a descriptor sends one flush, and waits for it.
    Close,
    /// Syncing a file.
    Fsync,
    /// Making a folder.
    Mkdir,
    /// Removing a file or folder.
    Unlink,
    /// Renaming; errors go by the new name.
    Rename,
    /// Making a hard or symbolic link.
    Link,
    /// Setting permissions, owner, times or length.
    SetAttr,
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Op::Open => "open",
            Op::Create => "create",
            Op::Read => "read",
            Op::Write => "write",
            Op::Close => "flush",
            Op::Fsync => "fsync",
            Op::Mkdir => "mkdir",
            Op::Unlink => "unlink",
            Op::Rename => "rename",
            Op::Link => "link",
            Op::SetAttr => "setattr",
        }
    }
}

/// The choices for a [`SlowMount`].
#[derive(Clone, Debug, Default)]
pub struct SlowOptions {
    delays: Vec<(Op, Duration)>,
    failures: Vec<(Op, i32, String)>,
    holds: Vec<(Op, String)>,
    onces: Vec<String>,
    space: Option<u64>,
    at_most: Option<usize>,
    lie: Option<String>,
    jitter: Option<(Duration, u64)>,
    like: Vec<&'static str>,
    logs: bool,
    records: bool,
}

impl SlowOptions {
    /// Each `op` takes this much longer, to the microsecond. Up to 512 such waits overlap.
    #[must_use]
    pub fn delay(mut self, op: Op, delay: Duration) -> Self {
        self.delays.push((op, delay));
        self
    }

    /// Each `op` fails with `errno` for paths (from the mount's root, with a leading slash) that contain `text`. For a
    /// file that is renamed while it is open, the path it was opened by counts.
    #[must_use]
    pub fn fail(mut self, op: Op, errno: i32, text: &str) -> Self {
        assert!(!text.contains('\n'), "one rule is one line");
        self.failures.push((op, errno, text.to_owned()));
        self
    }

    /// The `n`th `op`, counted from 1, on paths that contain `text` (as for [`fail`](SlowOptions::fail)) fails with
    /// `errno`, and no other: so NFS tells what became of a write, at the next close or sync, once.
    #[must_use]
    pub fn fail_nth(mut self, op: Op, errno: i32, text: &str, n: u64) -> Self {
        assert!(!text.contains('\n') && n > 0, "one rule is one line; the first is number 1");
        self.onces.push(format!("{} {errno} {n} {text}", op.name()));
        self
    }

    /// When so many bytes have been written to all files, a write fails with `ENOSPC`.
    #[must_use]
    pub fn space(mut self, bytes: u64) -> Self {
        self.space = Some(bytes);
        self
    }

    /// Reads and writes move at most so many bytes, which the program sees.
    #[must_use]
    pub fn short(mut self, at_most: usize) -> Self {
        assert!(at_most > 0, "a read of nothing is the end");
        self.at_most = Some(at_most);
        self
    }

    /// Files whose paths contain `text` say that their length is 0, as those of `/proc` do.
    #[must_use]
    pub fn lie_about_length(mut self, text: &str) -> Self {
        self.lie = Some(text.to_owned());
        self
    }

    /// Each operation takes up to `most` longer. Which one takes how long follows from `seed` and the order of the
    /// operations.
    #[must_use]
    pub fn jitter(mut self, most: Duration, seed: u64) -> Self {
        self.jitter = Some((most, seed));
        self
    }

    /// Each `op` on paths that contain `text` (as for [`fail`](SlowOptions::fail)) hangs: until [`SlowMount::release`],
    /// or the end of the mount or of this process. After a minute it goes on by itself, so that no test leaves a mount
    /// behind that hangs.
    #[must_use]
    pub fn hold(mut self, op: Op, text: &str) -> Self {
        assert!(!text.contains('\n'), "one rule is one line");
        self.holds.push((op, text.to_owned()));
        self
    }

    /// The kernel keeps written bytes until it must send them: at the latest when a file is closed, as NFS does. Errors
    /// of writes are then told by the close, and once.
    #[must_use]
    pub fn write_back(mut self) -> Self {
        self.like.push("writeback");
        self
    }

    /// A removed file that is open lives on under another name (`.fuse_hidden…`), as on NFS and most FUSE mounts.
    #[must_use]
    pub fn keep_removed(mut self) -> Self {
        self.like.push("plain");
        self
    }

    /// Names that differ only in the case of ASCII letters are one name, which stays as it was written first: as with
    /// ext4's `casefold`, APFS and SMB. A rename that would change nothing but the case changes nothing.
    #[must_use]
    pub fn fold_case(mut self) -> Self {
        self.like.push("fold");
        self
    }

    /// Other programs see written bytes only after the file has been closed: as rclone and s3fs do.
    #[must_use]
    pub fn publish_at_close(mut self) -> Self {
        self.like.push("publish");
        self
    }

    /// As Linux shows a FAT volume: all modes are 0755 and all owners root, `chmod` does nothing and says so to nobody,
    /// `chown` to another user fails, times are even seconds, names fold, and there are no links, no reserving and no
    /// renames that exchange or replace nothing.
    #[must_use]
    pub fn like_fat(mut self) -> Self {
        self.like.push("fat fold");
        self
    }

    /// Keeps a list of what was done, for [`SlowMount::log`].
    #[must_use]
    pub fn log(mut self) -> Self {
        self.logs = true;
        self
    }

    /// Keeps every change and every sync for [`SlowMount::record`], which says what a power cut at any of them leaves.
    /// A sync that fails loses what was written since the last one: programs see it until the kernel drops its pages.
    #[must_use]
    pub fn record(mut self) -> Self {
        self.records = true;
        self
    }

    /// Mounts over a new folder in memory.
    pub fn mount(self) -> io::Result<SlowMount> {
        let temp = crate::scratch()?;
        let backing = temp.path().join("backing");
        std::fs::create_dir(&backing)?;
        self.mount_in(temp, backing)
    }

    /// Mounts over `backing`, which stays as it is afterwards. Changes there that do not go through the mount may be
    /// noticed a minute late.
    pub fn mount_over(self, backing: impl Into<PathBuf>) -> io::Result<SlowMount> {
        self.mount_in(crate::scratch()?, backing.into())
    }

    fn mount_in(self, temp: TempDir, backing: PathBuf) -> io::Result<SlowMount> {
        mounts::sweep();
        let program = cc::compiled("slowfs", include_str!("c/slowfs.c"), &cc::pkg_config("fuse3")?)?;
        let point = temp.path().join("mount");
        std::fs::create_dir(&point)?;
        // SAFETY: no memory is shared; geteuid cannot fail.
        let root = unsafe { libc::geteuid() } == 0;
        let mut options = format!("fsname=slowfs,default_permissions,max_threads={THREADS},max_idle_threads={THREADS}");
        if root {
            options += ",allow_other";
        }
        let list = |items: Vec<String>, separator| items.join(separator);
        let delays = self.delays.iter().map(|(op, delay)| format!("{}={}", op.name(), delay.as_micros())).collect();
        let failures = self.failures.iter().map(|(op, no, text)| format!("{} {no} {text}", op.name())).collect();
        let holds = self.holds.iter().map(|(op, text)| format!("{} {text}", op.name())).collect();
        let daemon = Command::new(program)
            .env("SLOWFS_BACKING", &backing)
            .env("SLOWFS_DELAY", list(delays, ","))
            .env("SLOWFS_FAIL", list(failures, "\n"))
            .env("SLOWFS_HOLD", list(holds, "\n"))
            .env("SLOWFS_ONCE", list(self.onces, "\n"))
            .envs(self.space.map(|bytes| ("SLOWFS_SPACE", bytes.to_string())))
            .envs(self.lie.map(|text| ("SLOWFS_LIE", text)))
            .envs(self.at_most.map(|bytes| ("SLOWFS_SHORT", bytes.to_string())))
            .envs(self.jitter.map(|(most, seed)| ("SLOWFS_JITTER", format!("{} {seed}", most.as_micros()))))
            .env("SLOWFS_FREE", temp.path().join("free"))
            .env("SLOWFS_LIKE", self.like.join(" "))
            .envs(self.logs.then(|| ("SLOWFS_LOG", temp.path().join("log"))))
            .envs(self.records.then(|| ("SLOWFS_RECORD", temp.path().join("record"))))
            .args(["-f", "-o", &options])
            .arg(&point)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut mount = SlowMount { daemon, point, backing, temp };
        mount.wait_until_mounted()?;
        Ok(mount)
    }
}

/// A folder seen through FUSE. Its operations take as long as [`SlowOptions`] say, or fail. Delays of different threads
/// overlap, as those of a server on the network do.
#[derive(Debug)]
pub struct SlowMount {
    daemon: Child,
    point: PathBuf,
    backing: PathBuf,
    // Removed after the mount is gone.
    temp: TempDir,
}

impl SlowMount {
    /// What the mount is to be like; end with [`mount`](SlowOptions::mount).
    pub fn options() -> SlowOptions {
        SlowOptions::default()
    }

    /// The mount's root.
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// The folder behind the mount: the same files without delays or errors.
    pub fn backing(&self) -> &Path {
        &self.backing
    }

    /// [Held](SlowOptions::hold) operations go on, and no more are held.
    pub fn release(&self) {
        std::fs::write(self.temp.path().join("free"), "").expect("the mount's own folder can be written to");
    }

    /// What was done since it was mounted, if it was to be logged: each flush, rename, link and removal, with the path
    /// from the mount's root (the old one of two). What begins to hang is there as "held flush", for instance, and what
    /// [failed once](SlowOptions::fail_nth) as "failed flush".
    pub fn log(&self) -> io::Result<Vec<String>> {
        Ok(std::fs::read_to_string(self.temp.path().join("log"))?.lines().map(String::from).collect())
    }

    /// What was changed and synced since it was mounted, if it was to be [recorded](SlowOptions::record). It begins with
    /// an empty folder.
    pub fn record(&self) -> io::Result<Record> {
        Record::new(&std::fs::read(self.temp.path().join("record"))?, std::fs::metadata(&self.backing)?.ino())
    }

    /// How many threads serve it now. One is added when a request comes while all others wait, and stays.
    pub fn threads(&self) -> io::Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/task", self.daemon.id()))?.count())
    }

    fn wait_until_mounted(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !mounts::is_mounted(&self.point)? {
            if let Some(status) = self.daemon.try_wait()? {
                let mut said = String::new();
                if let Some(stderr) = &mut self.daemon.stderr {
                    stderr.read_to_string(&mut said)?;
                }
                return Err(io::Error::other(format!("slowfs ended at once ({status}): {}", said.trim())));
            }
            if Instant::now() > deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "slowfs did not mount within 60 s"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for SlowMount {
    fn drop(&mut self) {
        mounts::report(mounts::unmount(&self.point));
        // It ends by itself once unmounted, but not while something has a file open there.
        mounts::report(self.daemon.kill());
        mounts::report(self.daemon.wait().map(drop));
        debug_assert!(self.temp.path().exists(), "the folder outlives the mount");
    }
}
