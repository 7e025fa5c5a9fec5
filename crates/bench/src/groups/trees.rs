//! A tree of 50,000 files copied, taken out of a store, and removed, as whole programs: against cp, tar, git and rm.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use manyfiles_measure::contest::Site;
use manyfiles_testkit::{Compare, Corpus, Tree};

use super::{SEED, alike, build_command, holds};
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, Run, timed};
use crate::git::Repository;
use crate::place::Place;
use crate::process::{self, said_by};
use crate::report::Book;
use Goal::Shown;

const GROUP: &str = "trees";

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let ours = build_command()?;
    let corpus = Corpus::w2(SEED);
    for place in [Place::tmpfs(), Place::ext4()] {
        let Some(place) = book.place_or_skip(GROUP, place) else { continue };
        let source = place.fresh()?;
        corpus.write(&source)?;
        copy(&ours, &source, &place, plan, book)?;
        out_of_a_store(&ours, &source, &corpus, &place, plan, book)?;
        remove(&corpus, &place, plan, book);
        place.done_with(&source)?;
    }
    Ok(())
}

fn copy(ours: &Path, source: &Path, place: &Place, plan: Plan, book: &mut Book) -> Result<()> {
    let expected = Tree::read(source)?;
    let check: Check<'_> = Box::new(|folder| alike(&expected, &Tree::read(folder)?, Compare::ALL));
    let program = |program: &Path, flags: &'static [&'static str]| -> Run<'_> {
        let program = program.to_owned();
        Box::new(move |folder| process::measure_command(Command::new(&program).args(flags).args([source, folder])))
    };
    let entrants = vec![
        Entrant::new("manyfiles copy", Shown, &check, program(ours, &["copy", "-q"])),
        Entrant::new("cp -a", Shown, &check, program(Path::new("cp"), &["-a"])),
    ];
    let what = "50,000 files, 2,954 folders, copied".into();
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
    Ok(())
}

/// An archive here and a repository there: git's files are compressed each by itself, and it also writes an index.
fn out_of_a_store(
    ours: &Path,
    source: &Path,
    corpus: &Corpus,
    place: &Place,
    plan: Plan,
    book: &mut Book,
) -> Result<()> {
    // In memory, so that reading is nobody's bottleneck.
    let store = manyfiles_testkit::scratch()?;
    let tar = store.path().join("tree.tar");
    said_by(Command::new("tar").arg("-cf").arg(&tar).arg("-C").arg(source).arg("."))?;
    let check = holds(corpus);
    let unpack = |program: &Path, flags: &'static [&'static str]| -> Run<'_> {
        let (program, tar) = (program.to_owned(), &tar);
        Box::new(move |folder| {
            fs::create_dir(folder)?;
            process::measure_command(Command::new(&program).args(flags).arg(tar).arg("-C").arg(folder))
        })
    };
    let mut entrants = vec![
        Entrant::new("manyfiles unpack", Shown, &check, unpack(ours, &["unpack", "-q"])),
        Entrant::new("GNU tar", Shown, &check, unpack(Path::new("tar"), &["-xf"])),
    ];
    let repository = store.path().join("repository");
    match Repository::packed(source, &repository) {
        Err(why) => book.skip("trees, git", &format!("{why:#}")),
        Ok(repository) => {
            for (name, workers) in [("git checkout-index", "1"), ("the same, 2 workers", "2")] {
                let repository = repository.clone();
                let run: Run<'_> = Box::new(move |folder| {
                    let workers = format!("checkout.workers={workers}");
                    process::measure_command(&repository.check_out(folder, &[&workers]))
                });
                entrants.push(Entrant::new(name, Shown, &check, run));
            }
        }
    }
    let what = "50,000 files, 2,954 folders, out of a tar or a repository".into();
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
    Ok(())
}

/// manyfiles promises no gain there. The row is for whoever goes from `rm` or `std::fs` to `manyfiles::fs`.
fn remove(corpus: &Corpus, place: &Place, plan: Plan, book: &mut Book) {
    let check: Check<'_> = Box::new(|folder| {
        ensure!(!folder.exists(), "it is still there");
        Ok(())
    });
    let entrant = |name: &str, remove: fn(&Path) -> Result<crate::contest::Sample>| {
        let run: Run<'_> = Box::new(move |folder| {
            corpus.write(folder)?;
            place.settle()?;
            remove(folder)
        });
        Entrant::new(name, Shown, &check, run)
    };
    let entrants = vec![
        entrant("manyfiles::fs::remove_dir_all", |folder| timed(|| Ok(manyfiles::fs::remove_dir_all(folder)?))),
        entrant("std::fs::remove_dir_all", |folder| timed(|| Ok(fs::remove_dir_all(folder)?))),
        entrant("rm -rf", |folder| process::measure(&[OsStr::new("rm"), OsStr::new("-rf"), folder.as_os_str()])),
    ];
    let what = "50,000 files, 2,954 folders, removed".into();
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
}
