//! Many files on the disk through SyncBatch, against one fsync each and git's batch method.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use anyhow::Result;
use manyfiles::sync::{BatchMethod, SyncBatch};
use manyfiles::tree::{Durability, TreeWriter};
use manyfiles_testkit::{Corpus, Need};
use manyfiles_works::works::{DurableFiles, pool};
use rayon::prelude::*;
use tempfile::TempDir;

use crate::checks::{SEED, holds};
use crate::contest::{self, Check, Contest, Entrant, FEW, Goal, Plan, Run, Sample, timed};
use crate::git::Repository;
use crate::peers::NEVER;
use crate::place::Place;
use crate::process;
use crate::report::Book;
use Goal::{Faster, Shown};

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let corpora = [
        (Corpus::w1(SEED), "2,300 files durable, one folder"),
        (Corpus::spread(10_000, 100, SEED), "10,000 files durable, 100 folders"),
    ];
    // Where git reads what it adds: reading is nobody's bottleneck.
    let sources: Vec<TempDir> = corpora.iter().map(|(corpus, _)| in_memory(corpus)).collect::<Result<_>>()?;
    for place in [Place::ext4(), Place::xfs()] {
        let Some(place) = book.place_or_skip("durable", place) else { continue };
        // What is claimed is claimed for ext4.
        let claimed = |target| if place.name == "ext4" { target } else { Shown };
        for ((corpus, what), source) in corpora.iter().zip(&sources) {
            contest(corpus, what, &place, claimed(Faster(12.0)), claimed(Faster(3.0)), plan, book);
            against_git(corpus, source.path(), what, &place, plan, book);
        }
    }
    Ok(())
}

fn contest(corpus: &Corpus, what: &str, place: &Place, over_fsync: Goal, over_git: Goal, plan: Plan, book: &mut Book) {
    let check = holds(corpus);
    let files = DurableFiles::new(&corpus.files, &NEVER);
    // core.fsyncMethod=batch: each file's bytes are written out under a temporary name as it comes; one fsync of a file
    // more at the end commits the journal, and then all are renamed.
    let git = |root: &Path| {
        files.in_folders(root, || {
            let temporary = |path: &Path| root.join(path).with_extension("git-tmp");
            for (path, bytes) in &corpus.files {
                let mut file = File::create(temporary(path))?;
                file.write_all(bytes)?;
                write_out(&file)?;
            }
            let last = root.join("bulk-fsync");
            let mut file = File::create(&last)?;
            file.write_all(b"x")?;
            file.sync_all()?;
            fs::remove_file(last)?;
            for (path, _) in &corpus.files {
                fs::rename(temporary(path), root.join(path))?;
            }
            Ok(())
        })
    };
    let sync_fs = |root: &Path| {
        files.in_folders(root, || {
            corpus.files.iter().try_for_each(|(path, bytes)| fs::write(root.join(path), bytes))?;
            Ok(sync_file_system(&File::open(root)?)?)
        })
    };
    let on_threads = |root: &Path| {
        files.in_folders(root, || {
            pool(64)?.install(|| {
                corpus.files.par_iter().try_for_each(|(path, bytes)| {
                    let mut file = File::create(root.join(path))?;
                    file.write_all(bytes)?;
                    Ok(file.sync_all()?)
                })
            })
        })
    };
    let slow = |entrant| Entrant { rounds_at_most: Some(FEW), ..entrant };
    let entrants = vec![
        Entrant::new("SyncBatch", Shown, &check, Box::new(batch(corpus, BatchMethod::Automatic, false))),
        slow(Entrant::new("fsync of each", over_fsync, &check, Box::new(|root| files.with_sync_all(root)))),
        slow(Entrant::new("fsync of each, 64 threads", Faster(1.0), &check, Box::new(on_threads))),
        slow(Entrant::new("git's batch method", over_git, &check, Box::new(git))),
        Entrant::new("write all, then syncfs", Faster(1.0), &check, Box::new(sync_fs)),
        Entrant::new("SyncBatch, atomic", Shown, &check, Box::new(batch(corpus, BatchMethod::Automatic, true))),
        Entrant::new("TreeWriter, durable", Shown, &check, Box::new(|root| by_tree(corpus, root))),
        Entrant::new("SyncBatch, each file", Shown, &check, Box::new(batch(corpus, BatchMethod::EachFile, false))),
    ];
    book.enter(contest::run(Contest { group: "durable", what: what.into(), place, entrants }, plan));
}

/// git itself, which also hashes each file, and looks whether it has it.
fn against_git(corpus: &Corpus, source: &Path, what: &str, place: &Place, plan: Plan, book: &mut Book) {
    if let Err(why) = Need::Program("git").check() {
        return book.skip("durable, git", &why);
    }
    let files = corpus.files.len();
    let (ours, theirs) = (holds(corpus), loose_objects(files));
    let add = |method: &'static str| -> Run<'_> {
        Box::new(move |folder| {
            let repository = Repository::empty(folder)?;
            let settings = [method, "core.fsync=loose-object", "core.looseCompression=0", "core.preloadIndex=false"];
            process::measure_command(&repository.add(source, &settings))
        })
    };
    let few = |entrant| Entrant { rounds_at_most: Some(FEW), ..entrant };
    let entrants = vec![
        Entrant::new("SyncBatch", Shown, &ours, Box::new(batch(corpus, BatchMethod::Automatic, false))),
        few(Entrant::new("git add, fsync", Shown, &theirs, add("core.fsyncMethod=fsync"))),
        few(Entrant::new("git add, batch", Shown, &theirs, add("core.fsyncMethod=batch"))),
    ];
    let what = format!("{what}, against git as it is");
    book.enter(contest::run(Contest { group: "durable", what, place, entrants }, plan));
}

fn loose_objects(count: usize) -> Check<'static> {
    Box::new(move |folder| Repository::at(folder).has_loose(count))
}

fn in_memory(corpus: &Corpus) -> Result<TempDir> {
    let folder = manyfiles_testkit::scratch()?;
    corpus.write(folder.path())?;
    Ok(folder)
}

fn batch(corpus: &Corpus, method: BatchMethod, atomic: bool) -> impl FnMut(&Path) -> Result<Sample> + '_ {
    let options = SyncBatch::options().method(method).atomic(atomic);
    move |root| DurableFiles::new(&corpus.files, &NEVER).with_batch(&options, true, root)
}

fn by_tree(corpus: &Corpus, root: &Path) -> Result<Sample> {
    timed(|| {
        let tree = TreeWriter::options().durability(Durability::AtFinish).open(root)?;
        corpus.files.iter().try_for_each(|(path, bytes)| tree.file(path, bytes.clone()))?;
        tree.finish()?;
        Ok(())
    })
}

/// All of the file system that a file is on: right for a benchmark's own, and not where others write, too.
fn sync_file_system(file: &File) -> io::Result<()> {
    // SAFETY: the call takes a number only, and the descriptor is open while `file` is borrowed.
    match unsafe { libc::syncfs(file.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// As git does: the bytes, and nothing that says where they are.
fn write_out(file: &File) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes numbers only, and the descriptor is open while `file` is borrowed.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
