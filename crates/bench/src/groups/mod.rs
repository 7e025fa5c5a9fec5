//! The groups of contests, one file each.

mod append;
mod archive;
mod create;
mod disks;
mod durable;
mod fastclose;
mod follow;
mod fs;
mod mirror;
mod norad;
mod one_path;
mod records;
mod scale;
mod slow;
mod trees;
mod under_wine;
mod unpack;
mod vfs;
mod wal;
mod worktree;

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use crate::contest::Plan;
use crate::report::Book;

pub use scale::Job as ScaleJob;
pub use slow::Job as SlowJob;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// The Linux source's tar, onto tmpfs, against tar, bsdtar and 7zz.
    Unpack,
    /// Archives written, listed, tested, read an entry at a time, and mounted, against those who do that.
    Archive,
    /// A tree copied, taken out of a store, and removed, against cp, tar, git and rm.
    Trees,
    /// A tree made equal to another that it is nearly equal to, against rsync.
    Mirror,
    /// A worktree of a repository of 80,000 files, and its first status, against git.
    Worktree,
    /// New files through TreeWriter, against loops over std, rayon and tokio.
    Create,
    /// The same where a close, or every call, takes milliseconds.
    Slow,
    /// New files and an unpacked tar on sshfs, gocryptfs, an overlay and FUSE mounts, against everybody at their best.
    Disks,
    /// Whether FastClose costs anything where a close is fast.
    Fastclose,
    /// Loops over manyfiles::fs against the same over std::fs: where a close takes 2 ms, and where closing is fast.
    Fs,
    /// A font saved by norad: as it comes, patched, and through TreeWriter.
    Norad,
    /// Whether 225,000 files cost as much each as 2,300, and memory stays flat.
    Scale,
    /// 100 MiB in small records through FileWriter, against File, BufWriter and bare write(2).
    Records,
    /// Many small writes to one path, against opening and closing for each.
    OnePath,
    /// Many files on the disk through SyncBatch, against one fsync each and git's batch method.
    Durable,
    /// Durable records from many threads through Appender, against a lock around each write and sync.
    Append,
    /// The same, with frames, against write-ahead logs: raft-engine and okaywal (feature wal-peers).
    Wal,
    /// What it costs those who append that others follow the log.
    Follow,
    /// Many small writes to one path by its name in every call, through Vfs::write, and against TileDB's VFS.
    Vfs,
    /// close_already beside manyfiles: programs for Windows, under wine.
    UnderWine,
}

impl Group {
    /// Enters what was measured into the book. `cache` is a folder for downloads.
    pub fn run(self, plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
        match self {
            Group::Unpack => unpack::run(plan, cache, book),
            Group::Archive => archive::run(plan, cache, book),
            Group::Trees => trees::run(plan, cache, book),
            Group::Mirror => mirror::run(plan, book),
            Group::Worktree => worktree::run(plan, book),
            Group::Create => create::run(plan, book),
            Group::Slow => slow::run(plan, book),
            Group::Disks => disks::run(plan, book),
            Group::Fastclose => fastclose::run(plan, book),
            Group::Fs => fs::run(plan, book),
            Group::Norad => norad::run(plan, book),
            Group::Scale => scale::run(plan, book),
            Group::Records => records::run(plan, book),
            Group::OnePath => one_path::run(plan, book),
            Group::Durable => durable::run(plan, book),
            Group::Append => append::run(plan, book),
            Group::Wal => wal::run(plan, book),
            Group::Follow => follow::run(plan, book),
            Group::Vfs => vfs::run(plan, cache, book),
            Group::UnderWine => under_wine::run(plan, book),
        }
    }
}
