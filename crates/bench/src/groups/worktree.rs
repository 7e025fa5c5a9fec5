//! A second worktree of a repository of 80,000 files, whose files a checkout beside it has, against git with its best
//! number of workers; and the first `git status` in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use manyfiles_measure::contest::Site;
use manyfiles_testkit::{Corpus, Need};

use crate::checks::{SEED, holds};
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, Run};
use crate::place::Place;
use crate::process::{self, said_by};
use crate::report::Book;
use crate::target::build_command;

const GROUP: &str = "worktree";

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    if let Err(why) = Need::Program("git").check() {
        book.skip(GROUP, &why);
        return Ok(());
    }
    let ours = build_command()?;
    let (files, folders) = if plan.quick { (8_000, 470) } else { (80_000, 4_700) };
    let corpus = Corpus::source_tree("a repository", files, folders, SEED);
    let has_all = holds(&corpus);
    let check: Check<'_> = Box::new(move |folder| {
        let said = said_by(git(folder).args(["status", "--porcelain"]))?;
        ensure!(said.is_empty(), "git finds that it differs: {said}");
        // The rest is what was committed.
        std::fs::remove_file(folder.join(".git"))?;
        has_all(folder)
    });
    for (place, aim) in [(Place::ext4_cleared(), 2.0), (Place::xfs_cleared(), 5.0), (Place::btrfs_cleared(), 5.0)] {
        let Some(place) = book.place_or_skip(GROUP, place) else { continue };
        let repository = place.fresh()?;
        make(&repository, &corpus)?;
        let repository = Checkout { path: &repository, ours: &ours };
        let count = if plan.quick { "8,000" } else { "80,000" };
        for (what, is_timed) in [
            (format!("worktree of {count} files"), Timed::Making),
            (format!("first status of {count} files"), Timed::Status),
        ] {
            let mut entrants = vec![repository.entrant("manyfiles worktree", Goal::Shown, &check, None, is_timed)];
            for workers in [1, 2, 4] {
                let name = format!("git worktree add, checkout.workers={workers}");
                let goal = if is_timed == Timed::Making { Goal::Faster(aim) } else { Goal::Shown };
                entrants.push(repository.entrant(&name, goal, &check, Some(workers), is_timed));
            }
            book.enter(contest::run(Contest { group: GROUP, what, place: &place, entrants }, plan));
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Timed {
    Making,
    Status,
}

#[derive(Clone, Copy)]
struct Checkout<'a> {
    path: &'a Path,
    ours: &'a PathBuf,
}

impl<'a> Checkout<'a> {
    /// By git if it has workers, else by us.
    fn entrant(self, name: &str, goal: Goal, check: &'a Check<'a>, workers: Option<u32>, timed: Timed) -> Entrant<'a> {
        let run: Run<'a> = Box::new(move |folder| {
            // Those of earlier runs are gone.
            said_by(git(self.path).args(["worktree", "prune"]))?;
            let mut make = match workers {
                None => Command::new(self.ours),
                Some(_) => git(self.path),
            };
            match workers {
                None => make.args(["worktree", "--quiet", "--detach"]).args([self.path, folder]),
                Some(workers) => make
                    .args(["-c", &format!("checkout.workers={workers}"), "worktree", "add", "--quiet", "--detach"])
                    .arg(folder),
            };
            let made = process::measure_command(&make)?;
            match timed {
                Timed::Making => Ok(made),
                Timed::Status => process::measure_command(git(folder).args(["status", "--porcelain"])),
            }
        });
        Entrant::new(name, goal, check, run)
    }
}

fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").arg("-C").arg(folder);
    git
}

/// A repository with one commit and one pack, checked out some seconds ago: files of the second in which the index was
/// written are looked into each time.
fn make(repository: &Path, corpus: &Corpus) -> Result<()> {
    corpus.write(repository)?;
    said_by(git(repository).args(["init", "--quiet"]))?;
    said_by(git(repository).args(["add", "--all"]))?;
    let own = ["-c", "user.name=benchmark", "-c", "user.email=benchmark"];
    said_by(git(repository).args(own).args(["commit", "--quiet", "-m", "all"]))?;
    said_by(git(repository).args(["repack", "-a", "-d", "-q"]))?;
    std::thread::sleep(Duration::from_secs(2));
    said_by(git(repository).args(["status", "--porcelain"]))?;
    Ok(())
}
