//! Whether 225,000 files cost as much each as 2,300 do, and memory stays flat.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use manyfiles::tree::TreeWriter;
use manyfiles_testkit::{Entry, Tree};

use crate::checks::same;
use crate::contest::{self, Check, Contest, Entrant, Goal, Outcome, Plan, Sample};
use crate::peers::{Peer, write_one};
use crate::place::Place;
use crate::process;
use crate::report::Book;

const FEW: usize = 2_300;
const MANY: usize = 225_000;
/// Enough to fill everything that is bounded: 67 MB, with at most 32 MiB in flight.
const ENOUGH: usize = 45_000;
/// How often the few are written in one run, each time by a new writer into a new folder.
const REPEATS: usize = 10;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let few = |peer, per_folder| [Job::new(peer, MANY, per_folder, 1), Job::new(peer, FEW, per_folder, REPEATS)];
    let enough = |peer, per_folder| [Job::new(peer, MANY, per_folder, 1), Job::new(peer, ENOUGH, per_folder, 1)];
    let at_most = Goal::AtMost(1.15);
    for make in [Place::tmpfs, Place::ext4] {
        for per_folder in [100, usize::MAX] {
            // A new disk for each: all rounds of one contest fill half of it.
            let Some(place) = book.place_or_skip("scale", make()) else { continue };
            let outcome = compare(few(Peer::TreeWriter, per_folder), "time a file", at_most, &place, plan);
            book.enter(outcome);
            let memory = Plan { rounds: contest::FEW, ..plan };
            let outcome = compare(enough(Peer::TreeWriter, per_folder), "peak memory", at_most, &place, memory);
            book.enter_memory(outcome);
            drop(place);
            let Some(place) = book.place_or_skip("scale", make()) else { continue };
            let outcome = compare(few(Peer::Std, per_folder), "time a file", Goal::ShownTime, &place, plan);
            book.enter(outcome);
        }
    }
    Ok(())
}

/// The first job's samples against the second's.
fn compare(jobs: [Job; 2], figure: &str, target: Goal, place: &Place, plan: Plan) -> Option<Outcome> {
    let shape = if jobs[0].per_folder == usize::MAX { "one folder" } else { "100 to a folder" };
    let what = format!("{}: {figure}, {shape}", jobs[0].peer.name());
    let checks: [Check<'_>; 2] = [jobs[0].check(), jobs[1].check()];
    let targets = [Goal::Shown, target];
    let entrants = jobs.iter().zip(&checks).zip(targets).map(|((job, check), target)| {
        Entrant::new(format!("{} files", job.files), target, check, Box::new(|folder| job.measure(folder)))
    });
    let entrants = entrants.collect();
    contest::run(Contest { group: "scale", what, place, entrants }, plan)
}

/// What a child process of this program writes: `files` files of 1 to 2 KB, and that `repeats` times.
#[derive(Clone, Copy)]
pub struct Job {
    peer: Peer,
    files: usize,
    per_folder: usize,
    repeats: usize,
}

impl Job {
    /// The first argument that makes this program the child.
    pub const ARGUMENT: &str = "--write-many";

    fn new(peer: Peer, files: usize, per_folder: usize, repeats: usize) -> Job {
        Job { peer, files, per_folder, repeats }
    }

    /// Does it in a process of its own. The time is for one file.
    fn measure(&self, folder: &Path) -> Result<Sample> {
        let program = std::env::current_exe()?;
        let numbers = [self.files, self.per_folder, self.repeats].map(|n| n.to_string());
        let name = self.peer.name();
        let mut command: Vec<&OsStr> = vec![program.as_ref(), Job::ARGUMENT.as_ref(), name.as_ref()];
        command.extend(numbers.iter().map(AsRef::<OsStr>::as_ref));
        command.push(folder.as_ref());
        let sample = process::measure(&command)?;
        let all = (self.files * self.repeats) as f64;
        Ok(Sample { seconds: sample.seconds / all, cpu_seconds: sample.cpu_seconds / all, ..sample })
    }

    /// Reads the arguments that come after [`ARGUMENT`](Job::ARGUMENT).
    pub fn from_args(arguments: &[String]) -> Result<(Job, PathBuf)> {
        let [peer, files, per_folder, repeats, folder] = arguments else { bail!("expected five arguments") };
        let job = Job::new(Peer::by_name(peer)?, files.parse()?, per_folder.parse()?, repeats.parse()?);
        Ok((job, folder.into()))
    }

    /// The child's work. Each file's bytes are a `Vec` of its own, as those of a program that makes its content are, so
    /// that bytes in flight count as memory.
    pub fn run(self, folder: &Path) -> Result<()> {
        let contents = contents();
        for repeat in 0..self.repeats {
            let root = folder.join(repeat.to_string());
            std::fs::create_dir_all(&root)?;
            let files = (0..self.files).map(|n| (self.path(n), contents[n % contents.len()].clone()));
            match self.peer {
                Peer::TreeWriter => {
                    let tree = TreeWriter::open(&root)?;
                    for (path, bytes) in files {
                        tree.file(path, bytes)?;
                    }
                    tree.finish()?;
                }
                Peer::Std => {
                    for (path, bytes) in files {
                        write_one(&root, &path, &bytes)?;
                    }
                }
                other => bail!("{} takes no part in this", other.name()),
            }
        }
        Ok(())
    }

    fn path(&self, n: usize) -> PathBuf {
        PathBuf::from(format!("d{}/f{n}", n / self.per_folder))
    }

    fn check(self) -> Check<'static> {
        let contents = contents();
        let mut tree = Tree::default();
        for repeat in 0..self.repeats {
            let root = PathBuf::from(repeat.to_string());
            for n in 0..self.files {
                let path = root.join(self.path(n));
                if n % self.per_folder == 0 {
                    tree.entries.insert(path.parent().expect("it has one").to_owned(), Entry::folder());
                }
                tree.entries.insert(path, Entry::file(&contents[n % contents.len()]));
            }
            tree.entries.insert(root, Entry::folder());
        }
        Box::new(move |folder| same(&tree, &Tree::read(folder)?))
    }
}

/// A hundred contents of 1 to 2 KB.
fn contents() -> Vec<Vec<u8>> {
    (0..100).map(|n| (0..1_024 + n * 10).map(|at| (at * (n + 7) % 251) as u8).collect()).collect()
}
