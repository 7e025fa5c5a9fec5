//! Archives written, listed, tested, read an entry at a time, and mounted: against the programs and libraries that
//! people use for that.

mod entry;
mod many;
mod mount;
mod pack;
mod read;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use manyfiles_archive::Archive;
use manyfiles_testkit::Corpus;

use crate::contest::Plan;
use crate::process::said_by;
use crate::report::Book;

const GROUP: &str = "archive";

pub fn run(plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let ours = crate::target::build_command()?;
    pack::run(&ours, plan, cache, book)?;
    read::run(&ours, plan, cache, book)?;
    entry::run(plan, cache, book)?;
    mount::run(&ours, plan, cache, book)?;
    many::run(plan, book)
}

/// Whether an archive holds the corpus: every `step`th content is compared, and the number of files.
fn holds(archive: &Path, corpus: &Corpus, step: usize) -> Result<()> {
    let archive = Archive::options().cache(None).open(archive)?;
    let mut files = 0;
    archive.walk("", &mut |entry| files += usize::from(entry.kind == manyfiles_archive::Kind::File))?;
    ensure!(files == corpus.files.len(), "{files} files in place of {}", corpus.files.len());
    for (path, bytes) in corpus.files.iter().step_by(step) {
        ensure!(archive.read(path)?[..] == bytes[..], "other bytes in {}", path.display());
    }
    Ok(())
}

/// Whether an archive holds the files of a folder: every `step`th content is compared, and the number of files.
fn holds_files(archive: &Path, folder: &Path, count: u64, step: usize) -> Result<()> {
    let archive = Archive::options().cache(None).open(archive)?;
    let mut files = Vec::new();
    archive.walk("", &mut |entry| {
        // Links have the content of the file that they are a name of.
        if entry.kind == manyfiles_archive::Kind::File {
            files.push(entry.path.to_path_buf());
        }
    })?;
    ensure!(files.len() as u64 == count, "{} files in place of {count}", files.len());
    for path in files.iter().step_by(step) {
        ensure!(archive.read(path)?[..] == fs::read(folder.join(path))?[..], "other bytes in {}", path.display());
    }
    Ok(())
}

/// A Python of its own in the cache, with ratarmount. Made there if it is missing.
fn ratarmount(cache: &Path) -> Result<PathBuf> {
    const PACKAGE: &str = "ratarmount==1.3.0";
    let folder = cache.join("python-ratarmount");
    let program = folder.join("bin/ratarmount");
    let runs = || Command::new(&program).arg("--version").output().is_ok_and(|done| done.status.success());
    if !runs() {
        eprintln!("installing {PACKAGE}, once");
        fs::create_dir_all(cache)?;
        said_by(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        said_by(Command::new(folder.join("bin/python")).args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
        ensure!(runs(), "{PACKAGE} is installed and does not run; it needs libfuse2");
    }
    Ok(program)
}
