//! An archive mounted: until it can be used, and all of its files read through it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use manyfiles_measure::contest::Site;

use super::{GROUP, ratarmount};
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, Sample, timed};
use crate::groups::unpack::linux_tar;
use crate::place::Place;
use crate::process::said_by;
use crate::report::Book;
use Goal::{Faster, Shown};

pub fn run(ours: &Path, plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let tar = match linux_tar(cache) {
        Ok(tar) => tar,
        Err(why) => {
            book.skip("archive, mount", &format!("{why:#}"));
            return Ok(());
        }
    };
    let place = Place::tmpfs()?;
    let store = place.fresh()?;
    fs::create_dir(&store)?;
    let archive = store.join("linux.tar");
    fs::copy(tar, &archive)?;
    let ratarmount = ratarmount(cache).inspect_err(|why| book.skip("archive, ratarmount", &format!("{why:#}"))).ok();
    let programs: Vec<Program<'_>> =
        [Some(Program::Ours(ours)), ratarmount.as_deref().map(Program::Ratarmount)].into_iter().flatten().collect();
    let check: Check<'_> = Box::new(|_| Ok(()));
    let kept = store.join("kept");
    for (what, is_kept, goal) in [
        ("the Linux source's tar mounted, no index", false, Faster(5.0)),
        ("the Linux source's tar mounted, index kept", true, Faster(5.0)),
    ] {
        let run = |program: Program<'_>, folder: &Path| {
            let kept = if is_kept { kept.clone() } else { folder.with_extension("kept") };
            let mut mounted = None;
            let sample = timed(|| {
                mounted = Some(program.mount(&archive, folder, &kept)?);
                ensure!(fs::read_dir(folder)?.next().is_some(), "nothing is shown");
                Ok(())
            });
            mounted.map_or(Ok(()), Mounted::end)?;
            if !is_kept {
                fs::remove_dir_all(kept)?;
            }
            sample
        };
        let entrants = entrants(&programs, goal, &check, &run, None);
        let what = what.into();
        book.enter(contest::run(Contest { group: GROUP, what, place: &place, entrants }, plan));
    }
    let run = |program: Program<'_>, folder: &Path| {
        let mounted = program.mount(&archive, folder, &kept)?;
        let (mut files, mut bytes) = (0, 0);
        let sample = timed(|| read_all(folder, &mut files, &mut bytes));
        mounted.end()?;
        ensure!(files > 70_000 && bytes > 1_000_000_000, "only {files} files with {bytes} bytes were read");
        sample
    };
    let entrants = entrants(&programs, Faster(1.0), &check, &run, Some(contest::FEW));
    let what = "all files of the Linux source's tar read through a mount".into();
    book.enter(contest::run(Contest { group: GROUP, what, place: &place, entrants }, plan));
    place.done_with(&store)
}

/// An entrant for each program; those of others play at most `rounds` rounds.
fn entrants<'a>(
    programs: &[Program<'a>],
    goal: Goal,
    check: &'a Check<'a>,
    run: &'a dyn Fn(Program<'a>, &Path) -> Result<Sample>,
    rounds: Option<usize>,
) -> Vec<Entrant<'a>> {
    let entrant = |&program: &Program<'a>| {
        let run = Box::new(move |folder: &Path| run(program, folder));
        match program {
            Program::Ours(_) => Entrant::new("manyfiles mount", Shown, check, run),
            Program::Ratarmount(_) => {
                Entrant { rounds_at_most: rounds, ..Entrant::new("ratarmount", goal, check, run) }
            }
        }
    };
    programs.iter().map(entrant).collect()
}

fn read_all(folder: &Path, files: &mut u64, bytes: &mut u64) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_all(&entry.path(), files, bytes)?;
        } else if kind.is_file() {
            *bytes += fs::read(entry.path())?.len() as u64;
            *files += 1;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Program<'a> {
    Ours(&'a Path),
    Ratarmount(&'a Path),
}

impl Program<'_> {
    fn mount(self, archive: &Path, folder: &Path, kept: &Path) -> Result<Mounted> {
        match self {
            Program::Ours(program) => Mounted::by_ours(program, archive, folder, kept),
            Program::Ratarmount(program) => Mounted::by_ratarmount(program, archive, folder, kept),
        }
    }
}

/// A program that shows an archive as a folder.
pub struct Mounted {
    program: Child,
    folder: PathBuf,
}

impl Mounted {
    fn by_ours(program: &Path, archive: &Path, folder: &Path, kept: &Path) -> Result<Mounted> {
        let mut command = Command::new(program);
        command.args(["mount", "-q"]).arg(archive).arg(folder).env("XDG_CACHE_HOME", kept);
        Mounted::start(command, folder, kept)
    }

    /// In the foreground, with two threads, and with its index in `kept`.
    pub fn by_ratarmount(program: &Path, archive: &Path, folder: &Path, kept: &Path) -> Result<Mounted> {
        let mut command = Command::new(program);
        command.args(["-f", "-P", "2", "--index-folders"]).arg(kept).arg(archive).arg(folder);
        Mounted::start(command, folder, kept)
    }

    /// Returns when the folder is that of the archive.
    fn start(mut command: Command, folder: &Path, kept: &Path) -> Result<Mounted> {
        fs::create_dir_all(kept)?;
        fs::create_dir_all(folder)?;
        let before = fs::metadata(folder)?.dev();
        let program = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut mounted = Mounted { program, folder: folder.into() };
        let start = Instant::now();
        while fs::metadata(folder)?.dev() == before {
            if let Some(status) = mounted.program.try_wait()? {
                bail!("{}: {status}", command.get_program().display());
            }
            if start.elapsed() > Duration::from_secs(600) {
                mounted.program.kill()?;
                mounted.program.wait()?;
                bail!("{} has not mounted it in ten minutes", command.get_program().display());
            }
            sleep(Duration::from_millis(1));
        }
        Ok(mounted)
    }

    /// Takes the mount away, and waits until the program has ended.
    pub fn end(mut self) -> Result<()> {
        said_by(Command::new("umount").arg(&self.folder))?;
        self.program.wait()?;
        Ok(())
    }
}
