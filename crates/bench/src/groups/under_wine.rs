//! What close_already is made for and what it loses, beside manyfiles: programs for Windows under wine, each close 2 ms
//! slower.
//!
//! Wine's own calls are not Windows's: an open costs 0.9 ms here. How the libraries behave is what this shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use manyfiles_testkit::{Call, Need, Preload, Rule};

use crate::contest::{self, Check, Contest, Entrant, Goal, Outcome, Plan, Run, Sample};
use crate::place::Place;
use crate::process;
use crate::report::Book;
use crate::wine::Wine;
use Goal::{AtMost, NoMoreThan, Shown};

/// Rounds of what takes many seconds and shows a number of failures, not a time.
const FEW: usize = 3;

/// What a closer holds at most on Windows, and the one in the hand of whoever gives it.
const BOUND: u64 = 512 + 1;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    if let Err(why) = Need::Preload.check() {
        book.skip("under-wine", &why);
        return Ok(());
    }
    let wine = match Wine::start() {
        Ok(wine) => wine,
        Err(why) => {
            book.skip("under-wine", &format!("{why:#}"));
            return Ok(());
        }
    };
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("under-wine/Cargo.toml");
    let stage = Stage { program: wine.build(&manifest)?, wine };
    let mut place = Place::tmpfs()?;
    place.name = "wine, close 2 ms".into();

    let few = Plan { rounds: plan.rounds.min(FEW), ..plan };
    let close_already = |target| ("close-already", target);
    let against_both = [close_already(NoMoreThan(0)), ("std", Shown)];
    let scene = |name, count, what| Scene { name, count, what, stage: &stage, place: &place };

    let reopen = scene("reopen", 2_000, "2,000 × fs::write, then opened alone: failures");
    book.enter_counts(reopen.contest(&against_both, few));
    let remove = scene("remove", 500, "500 × folder, fs::write, both removed: failures");
    book.enter_counts(remove.contest(&against_both, few));
    let end = scene("end", 5_000, "5,000 files dropped at the end of main: not closed");
    book.enter_counts(end.contest(&[close_already(NoMoreThan(0))], few));
    let errors = scene("errors", 5_000, "5,000 files, 500 cannot be closed: errors lost");
    book.enter_counts(errors.contest(&[close_already(NoMoreThan(0))], few));

    let burst = scene("burst", 100_000, "100,000 handed over: most that wait at once");
    book.enter_counts(burst.contest(&[close_already(NoMoreThan(BOUND))], few));
    // 64 threads take most of it, a megabyte each under wine. It must not grow with what is handed over.
    let tenth = scene("burst", 10_000, "100,000 handed over: peak memory");
    let check: Check<'_> = Box::new(|_| Ok(()));
    let entrants = vec![
        Entrant::new("manyfiles", Shown, &check, Box::new(|folder| burst.play("manyfiles", folder))),
        Entrant::new("10,000 handed over", AtMost(1.1), &check, Box::new(|folder| tenth.play("manyfiles", folder))),
    ];
    let memory = Contest { group: "under-wine", what: tenth.what.to_owned(), place: &place, entrants };
    book.enter_memory(contest::run(memory, few));

    let files = scene("files", 1_000, "1,000 files until the last is closed");
    book.enter(files.contest(&[close_already(AtMost(0.75)), ("std", Goal::ShownTime)], plan));
    Ok(())
}

/// The program, and what runs it.
struct Stage {
    wine: Wine,
    program: PathBuf,
}

struct Scene<'a> {
    name: &'static str,
    count: usize,
    what: &'static str,
    stage: &'a Stage,
    place: &'a Place,
}

impl Scene<'_> {
    fn contest(&self, peers: &[(&'static str, Goal)], plan: Plan) -> Option<Outcome> {
        let check: Check<'_> = Box::new(|_| Ok(()));
        let play = |who: &'static str| -> Run<'_> { Box::new(move |folder| self.play(who, folder)) };
        let entrants = std::iter::once(("manyfiles", Shown)).chain(peers.iter().copied());
        let entrants = entrants.map(|(who, target)| Entrant::new(shown(who), target, &check, play(who))).collect();
        let what = self.what.to_owned();
        contest::run(Contest { group: "under-wine", what, place: self.place, entrants }, plan)
    }

    fn play(&self, who: &str, folder: &Path) -> Result<Sample> {
        let name = folder.file_name().and_then(|name| name.to_str()).context("the run's folder has a plain name")?;
        let mut command = self.stage.wine.command(&self.stage.program)?;
        command.args([self.name, who]).arg(format!("Z:{}", folder.display())).arg(self.count.to_string());
        // With the separator: what is in the folder, and not the folder itself, which wine reads at every open.
        let inside = Rule::delay(Call::Close, Duration::from_millis(2)).path_contains(&format!("{name}/"));
        let slow = Preload::new().rule(inside);
        let sample = process::measure_command(slow.apply(&mut command)?)?;
        let figure = || fs::read_to_string(folder.join("figure")).context("the program leaves its figure");
        Ok(match self.name {
            "files" => Sample { seconds: figure()?.parse()?, ..sample },
            "end" => Sample { count: Some(self.count as u64 - fs::metadata(folder.join("log"))?.len()), ..sample },
            _ => Sample { count: Some(figure()?.parse()?), ..sample },
        })
    }
}

fn shown(who: &str) -> String {
    match who {
        "close-already" => "close_already 0.3.5".to_owned(),
        other => other.to_owned(),
    }
}
