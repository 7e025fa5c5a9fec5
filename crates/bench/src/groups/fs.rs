//! Loops over `std::fs`, and the same loops over `manyfiles::fs`: where a close takes 2 ms, and where closing is fast.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use manyfiles_testkit::{Corpus, Need, Op, SlowMount, Tree};

use crate::checks::{SEED, same};
use crate::contest::{self, Check, Contest, Entrant, FEW, Goal, Plan, Run, timed};
use crate::place::Place;
use crate::report::Book;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    match Need::Fuse.check() {
        Err(why) => book.skip("fs, close 2 ms", &why),
        Ok(()) => {
            let place = Place::slow("close 2 ms", &[Op::Close], Duration::from_millis(2))?;
            let without_delay = place.without_delay()?;
            for work in Work::EACH {
                work.where_closing_is_slow(&place, &without_delay, plan, book)?;
            }
        }
    }
    // A run of some milliseconds is too short to see 3 % in.
    let plan = plan.times(5);
    for place in [Place::tmpfs(), Place::ext4()] {
        let Some(place) = book.place_or_skip("fs", place) else { continue };
        for work in Work::EACH {
            work.where_closing_is_fast(&place, plan, book)?;
        }
    }
    Ok(())
}

/// One loop, as a program has it. Each is written once, and compiled with std's functions and with ours.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    Write,
    Copy,
    ReadAndWrite,
    Rewrite,
    OneFile,
}

/// What a run reads and writes: file by file, the path that is read, the path that is written, and the new content.
struct Steps(Vec<(PathBuf, PathBuf, Arc<[u8]>)>);

macro_rules! loops {
    ($name:ident, $fs:path) => {
        fn $name(work: Work, steps: &Steps) -> Result<()> {
            use $fs as fs;
            for (from, to, content) in &steps.0 {
                match work {
                    Work::Write => fs::write(to, content)?,
                    Work::Copy => drop(fs::copy(from, to)?),
                    Work::ReadAndWrite | Work::Rewrite | Work::OneFile => {
                        std::hint::black_box(fs::read(from)?);
                        fs::write(to, content)?;
                    }
                }
            }
            Ok(())
        }
    };
}

loops!(by_std, std::fs);
loops!(by_ours, manyfiles::fs);

fn by_ours_and_wait(work: Work, steps: &Steps) -> Result<()> {
    by_ours(work, steps)?;
    Ok(manyfiles::close::wait()?)
}

impl Work {
    const EACH: [Work; 5] = [Work::Write, Work::Copy, Work::ReadAndWrite, Work::Rewrite, Work::OneFile];

    fn name(self, count: usize) -> String {
        match self {
            Work::Write => format!("{count} files written"),
            Work::Copy => format!("{count} files copied there"),
            Work::ReadAndWrite => format!("{count} files read, {count} others written"),
            Work::Rewrite => format!("{count} files read and rewritten"),
            Work::OneFile => format!("one file read and rewritten {count} times"),
        }
    }

    /// What is to be at least so many times as fast as std where a close takes 2 ms. A file that is read sees what was
    /// written before, so that the last two have to wait for closes.
    fn claim(self) -> Goal {
        match self {
            Work::Write | Work::Copy | Work::ReadAndWrite => Goal::Faster(10.0),
            Work::Rewrite | Work::OneFile => Goal::Shown,
        }
    }

    fn where_closing_is_slow(self, place: &Place, without: &SlowMount, plan: Plan, book: &mut Book) -> Result<()> {
        let count = if self == Work::Write { 2_300 } else { 300 };
        let scene = Scene::new(self, Corpus::one_folder("fs", count, SEED))?;
        let check = scene.check()?;
        let aside = |folder: &Path| without.path().join(folder.file_name().expect("it was made by the place"));
        let few = |entrant| Entrant { rounds_at_most: (self == Work::Write).then_some(FEW), ..entrant };
        let entrants = vec![
            Entrant::new("manyfiles::fs", Goal::Shown, &check, scene.run(by_ours_and_wait, place, Path::to_owned)),
            few(Entrant::new("std::fs", self.claim(), &check, scene.run(by_std, place, Path::to_owned))),
            // What FUSE itself takes, which no closer can take away.
            Entrant::new(
                "std::fs, closes not delayed",
                if self == Work::Write { Goal::AtMost(1.15) } else { Goal::ShownTime },
                &check,
                scene.run(by_std, place, aside),
            ),
        ];
        book.enter(contest::run(Contest { group: "fs", what: self.name(count), place, entrants }, plan));
        Ok(())
    }

    fn where_closing_is_fast(self, place: &Place, plan: Plan, book: &mut Book) -> Result<()> {
        const COUNT: usize = 9_200;
        let scene = Scene::new(self, Corpus::spread(COUNT, 2_300, SEED))?;
        let check = scene.check()?;
        let entrants = vec![
            Entrant::new("manyfiles::fs", Goal::Shown, &check, scene.run(by_ours_and_wait, place, Path::to_owned)),
            Entrant::new("std::fs", Goal::AtMost(1.03), &check, scene.run(by_std, place, Path::to_owned)),
        ];
        book.enter(contest::run(Contest { group: "fs", what: self.name(COUNT), place, entrants }, plan));
        Ok(())
    }
}

/// One loop with the files that it is about.
struct Scene {
    work: Work,
    corpus: Corpus,
    /// What is copied from: memory, where closing is fast.
    elsewhere: tempfile::TempDir,
}

impl Scene {
    fn new(work: Work, corpus: Corpus) -> Result<Scene> {
        let elsewhere = manyfiles_testkit::scratch()?;
        corpus.write(&elsewhere.path().join("from"))?;
        Ok(Scene { work, corpus, elsewhere })
    }

    /// What is there when the loop begins.
    fn prepare(&self, folder: &Path) -> Result<()> {
        for folder in [folder.join("from"), folder.join("to")] {
            self.corpus.folders().into_iter().try_for_each(|below| std::fs::create_dir_all(folder.join(below)))?;
        }
        if !matches!(self.work, Work::Write | Work::Copy) {
            self.corpus.write(&folder.join("from"))?;
        }
        Ok(())
    }

    fn steps(&self, folder: &Path) -> Steps {
        let at = |root: &Path, path: &Path| root.join("from").join(path);
        let (first, _) = &self.corpus.files[0];
        let step = |(path, content): &(PathBuf, Arc<[u8]>)| match self.work {
            Work::Copy => (at(self.elsewhere.path(), path), folder.join("to").join(path), Arc::clone(content)),
            Work::Write | Work::ReadAndWrite => (at(folder, path), folder.join("to").join(path), Arc::clone(content)),
            Work::Rewrite => (at(folder, path), at(folder, path), Arc::clone(content)),
            Work::OneFile => (at(folder, first), at(folder, first), Arc::clone(content)),
        };
        Steps(self.corpus.files.iter().map(step).collect())
    }

    fn run<'a>(
        &'a self,
        by: fn(Work, &Steps) -> Result<()>,
        place: &'a Place,
        seen: impl Fn(&Path) -> PathBuf + 'a,
    ) -> Run<'a> {
        use manyfiles_measure::contest::Site;
        Box::new(move |folder| {
            self.prepare(&place.behind(folder))?;
            place.settle()?;
            let steps = self.steps(&seen(folder));
            timed(|| by(self.work, &steps))
        })
    }

    /// That a run left what std's functions leave.
    fn check(&self) -> Result<Check<'static>> {
        let folder = manyfiles_testkit::scratch()?;
        self.prepare(folder.path())?;
        by_std(self.work, &self.steps(folder.path()))?;
        let expected = Tree::read(folder.path())?;
        Ok(Box::new(move |folder| same(&expected, &Tree::read(folder)?)))
    }
}
