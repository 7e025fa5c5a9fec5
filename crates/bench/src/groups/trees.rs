//! A tree of 50,000 files copied, taken out of a store, and removed, as whole programs: against cp, tar, git and rm.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use manyfiles_measure::contest::Site;
use manyfiles_testkit::{Compare, Corpus, Op, Tree};

use crate::checks::{SEED, alike, holds};
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, Run, timed};
use crate::git::Repository;
use crate::installed;
use crate::place::Place;
use crate::process::{self, said_by};
use crate::report::Book;
use crate::target::build_command;
use Goal::{Faster, Shown};

const GROUP: &str = "trees";

pub fn run(plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let ours = build_command()?;
    let corpus = Corpus::w2(SEED);
    for place in [Place::tmpfs(), Place::ext4()] {
        let Some(place) = book.place_or_skip(GROUP, place) else { continue };
        let source = place.fresh()?;
        corpus.write(&source)?;
        copy(&ours, &source, &place, plan, cache, book)?;
        out_of_a_store(&ours, &source, &corpus, &place, plan, book)?;
        remove(&ours, &corpus, &place, plan, cache, book);
        place.done_with(&source)?;
    }
    let all = [Op::Open, Op::Create, Op::Mkdir, Op::Unlink, Op::Close];
    if let Some(place) = book.place_or_skip(GROUP, Place::slow("FUSE, 2 ms", &all, Duration::from_millis(2))) {
        remove_slowly(&ours, &place, plan, cache, book);
    }
    Ok(())
}

fn copy(ours: &Path, source: &Path, place: &Place, plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let expected = Tree::read(source)?;
    let check: Check<'_> = Box::new(|folder| alike(&expected, &Tree::read(folder)?, Compare::ALL));
    // What others keep less of is told by their names.
    let no_times: Check<'_> = Box::new(|folder| alike(&expected, &Tree::read(folder)?, Compare::ALL_BUT_TIMES));
    let program = |program: &Path, flags: &'static [&'static str]| -> Run<'_> {
        let program = program.to_owned();
        Box::new(move |folder| process::measure_command(Command::new(&program).args(flags).args([source, folder])))
    };
    let mut entrants = vec![
        Entrant::new("manyfiles copy -a", Shown, &check, program(ours, &["copy", "-q", "-a"])),
        Entrant::new("manyfiles copy", Shown, &check, program(ours, &["copy", "-q"])),
        Entrant::new("cp -a", Faster(1.0), &check, program(Path::new("cp"), &["-a"])),
    ];
    for (name, version, flags, shown) in [
        ("cpz", "3.2.1", &[][..], "cpz 3.2.1, no times"),
        ("xcp", "0.24.9", &["-r", "--no-progress"], "xcp 0.24.9, no times of folders"),
        ("fcp", "0.2.2", &[], "fcp 0.2.2, no times"),
    ] {
        match installed::by_cargo(cache, name, version) {
            Ok(peer) => entrants.push(Entrant::new(shown, Faster(1.0), &no_times, program(&peer, flags))),
            Err(why) => book.skip(&format!("{GROUP}, {name}"), &format!("{why:#}")),
        }
    }
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
        Entrant::new("GNU tar, no owners", Faster(1.0), &check, unpack(Path::new("tar"), &["--no-same-owner", "-xf"])),
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

fn is_gone(folder: &Path) -> Result<()> {
    ensure!(!folder.exists(), "it is still there");
    Ok(())
}

/// The programs: what `rmz` says of itself is what is asked of us.
fn remove(ours: &Path, corpus: &Corpus, place: &Place, plan: Plan, cache: &Path, book: &mut Book) {
    let check: Check<'_> = Box::new(is_gone);
    let entrant = |name: &str, goal: Goal, mut remove: Run<'static>| {
        let run: Run<'_> = Box::new(move |folder| {
            corpus.write(folder)?;
            place.settle()?;
            remove(folder)
        });
        Entrant::new(name, goal, &check, run)
    };
    let aim = if place.name == "ext4" { 1.45 } else { 1.7 };
    let mut entrants = vec![
        entrant("manyfiles remove", Shown, by_program(ours, &["remove", "-q"])),
        entrant("rm -rf", Faster(aim), by_program(Path::new("rm"), &["-rf"])),
        entrant("std::fs::remove_dir_all", Shown, Box::new(|folder| timed(|| Ok(fs::remove_dir_all(folder)?)))),
    ];
    match installed::by_cargo(cache, "rmz", "3.2.1") {
        Ok(rmz) => entrants.push(entrant("rmz 3.2.1", Faster(1.0), by_program(&rmz, &[]))),
        Err(why) => book.skip("trees, rmz", &format!("{why:#}")),
    }
    let what = "50,000 files, 2,954 folders, removed".into();
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
}

/// The same where each call takes 2 ms. It is made behind the mount, which takes no time.
fn remove_slowly(ours: &Path, place: &Place, plan: Plan, cache: &Path, book: &mut Book) {
    let corpus = Corpus::spread(2_300, 100, SEED);
    let check: Check<'_> = Box::new(is_gone);
    let entrant = |name: &str, goal: Goal, mut remove: Run<'static>| {
        let corpus = &corpus;
        let run: Run<'_> = Box::new(move |folder| {
            corpus.write(&place.behind(folder))?;
            remove(folder)
        });
        Entrant::new(name, goal, &check, run)
    };
    let mut entrants = vec![
        entrant("manyfiles remove", Shown, by_program(ours, &["remove", "-q"])),
        entrant("rm -rf", Faster(20.0), by_program(Path::new("rm"), &["-rf"])),
    ];
    if let Ok(rmz) = installed::by_cargo(cache, "rmz", "3.2.1") {
        entrants.push(entrant("rmz 3.2.1", Shown, by_program(&rmz, &[])));
    }
    let what = "2,300 files, 100 folders, removed".into();
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
}

fn by_program(program: &Path, flags: &'static [&'static str]) -> Run<'static> {
    let program = program.to_owned();
    Box::new(move |folder| process::measure_command(Command::new(&program).args(flags).arg(folder)))
}
