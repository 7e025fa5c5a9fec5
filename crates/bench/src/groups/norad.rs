//! A font of 2,330 files saved by norad: as it comes, with its close_already patched by ours, and through TreeWriter.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use manyfiles_testkit::{Call, Need, Op, Preload, Rule, Tree};

use super::same;
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, Run, Sample};
use crate::place::Place;
use crate::process;
use crate::report::Book;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let programs = Programs::build()?;
    let expected = programs.what_stock_writes()?;
    let check: Check<'_> = Box::new(|folder| same(&expected, &Tree::read(folder)?));
    // Where closing is fast nothing is to gain, and nothing may be lost.
    let no_slower = Goal::AtMost(1.03);
    for place in [Place::tmpfs(), Place::ext4()] {
        let Some(place) = book.place_or_skip("norad", place) else { continue };
        for threads in ["serial", "rayon"] {
            programs.contests(threads, no_slower, &place, &check, plan.times(5), book);
        }
    }
    match Need::Fuse.check() {
        Err(why) => book.skip("norad, close 2 ms", &why),
        Ok(()) => {
            let place = Place::slow("close 2 ms", &[Op::Close], MS2)?;
            programs.contests("serial", Goal::Faster(15.0), &place, &check, plan, book);
            programs.contests("rayon", no_slower, &place, &check, plan, book);
            // What FUSE itself takes, which no closer can take away.
            let place = Place::slow("the same mount, no delay", &[], Duration::ZERO)?;
            programs.contests("serial", Goal::ShownTime, &place, &check, plan, book);
        }
    }
    match Need::Preload.check() {
        Err(why) => book.skip("norad, closes delayed in the process", &why),
        Ok(()) => {
            let programs = Programs { delayed: true, ..programs };
            let mut place = Place::tmpfs()?;
            place.name = "tmpfs, closes delayed 2 ms".into();
            programs.contests("serial", Goal::Faster(15.0), &place, &check, plan, book);
            programs.contests("rayon", no_slower, &place, &check, plan, book);
        }
    }
    Ok(())
}

const MS2: Duration = Duration::from_millis(2);

/// The programs and the font.
struct Programs {
    folder: PathBuf,
    /// Whether each close of theirs below the run's folder waits 2 ms first.
    delayed: bool,
}

impl Programs {
    fn build() -> Result<Programs> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/norad-programs");
        let target = super::target_folder().unwrap_or_else(std::env::temp_dir);
        let folder = process::said_by(Command::new(&script).env("CARGO_TARGET_DIR", target))?;
        Ok(Programs { folder: folder.trim_end().into(), delayed: false })
    }

    /// What all have to write.
    fn what_stock_writes(&self) -> Result<Tree> {
        let folder = manyfiles_testkit::scratch()?;
        let font = folder.path().join("font.ufo");
        self.save("norad-stock", &font)?;
        let tree = Tree::read(&font)?;
        let (files, _) = tree.files();
        ensure!(files > 2_324, "norad wrote only {files} files");
        Ok(tree)
    }

    fn contests(&self, threads: &str, target: Goal, place: &Place, check: &Check, plan: Plan, book: &mut Book) {
        let suffix = if threads == "rayon" { "-rayon" } else { "" };
        for (ours, name) in [("norad-patched", "patched"), ("save_to_sink", "save_to_sink through TreeWriter")] {
            let run = |program: &str| -> Run<'_> {
                let program = format!("{program}{suffix}");
                Box::new(move |folder| self.save(&program, folder))
            };
            let entrants = vec![
                Entrant::new(name, Goal::Shown, check, run(ours)),
                Entrant::new("norad as it comes", target, check, run("norad-stock")),
            ];
            let what = format!("Roboto-Regular.ufo, {threads}, {name}");
            book.enter(contest::run(Contest { group: "norad", what, place, entrants }, plan));
        }
    }

    /// The program itself says how long the saving took. Processor time is that of all it did, the loading of the font
    /// included.
    fn save(&self, program: &str, to: &Path) -> Result<Sample> {
        let before = process::children_cpu_seconds();
        let mut command = Command::new(self.folder.join(program));
        command.arg(self.folder.join("Roboto-Regular.ufo")).arg(to);
        if self.delayed {
            let name = to.file_name().and_then(|name| name.to_str()).context("the run's folder has a plain name")?;
            Preload::new().rule(Rule::delay(Call::Close, MS2).path_contains(name)).apply(&mut command)?;
        }
        let seconds = process::said_by(&mut command)?.trim().parse()?;
        Ok(Sample { seconds, cpu_seconds: process::children_cpu_seconds() - before, peak_memory: None, count: None })
    }
}
