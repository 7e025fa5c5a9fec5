//! The groups of contests, one file each.

mod append;
mod create;
mod durable;
mod fastclose;
mod follow;
mod fs;
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

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use manyfiles_testkit::{Compare, Corpus, Tree};

use crate::contest::{Check, Plan};
use crate::report::Book;

pub use scale::Job as ScaleJob;
pub use slow::Job as SlowJob;

/// Every corpus of every run is made from this seed.
pub const SEED: u64 = 20_261_121;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// The Linux source's tar, onto tmpfs, against tar, bsdtar and 7zz.
    Unpack,
    /// A tree copied, taken out of a store, and removed, against cp, tar, git and rm.
    Trees,
    /// New files through TreeWriter, against loops over std, rayon and tokio.
    Create,
    /// The same where a close, or every call, takes milliseconds.
    Slow,
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
            Group::Trees => trees::run(plan, book),
            Group::Create => create::run(plan, book),
            Group::Slow => slow::run(plan, book),
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

/// Checks that a folder holds the corpus and nothing else.
fn holds(corpus: &Corpus) -> Check<'static> {
    let expected = corpus.tree();
    Box::new(move |folder| same(&expected, &Tree::read(folder)?))
}

/// Names, kinds, contents, link targets and hard links.
fn same(expected: &Tree, actual: &Tree) -> Result<()> {
    alike(expected, actual, Compare { hard_links: true, ..Compare::default() })
}

fn alike(expected: &Tree, actual: &Tree, compare: Compare) -> Result<()> {
    let differences = expected.diff(actual, compare).0;
    ensure!(differences.is_empty(), "{} differences, the first: {}", differences.len(), differences[0]);
    Ok(())
}

/// The folder that cargo builds into, if this program is from there.
pub fn target_folder() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    exe.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists()).map(Path::to_owned)
}

/// The release build of the command, beside this program's own.
pub fn build_command() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let built = Command::new(cargo).args(["build", "--release", "--quiet", "-p", "manyfiles-cli"]).status()?;
    ensure!(built.success(), "cannot build the command");
    let target = target_folder().context("this program is not in a cargo target folder")?;
    Ok(target.join("release/manyfiles"))
}
