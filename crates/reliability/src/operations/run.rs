//! Plays a case in a child process, has it judged, and makes it shorter.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::FromRawFd;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use manyfiles_testkit::{Preload, scratch};

use super::case::{Case, Keep, Kind, numbers, with_subject};
use super::story::Story;
use super::subject::{Seen, Subject};
use super::{appender, closer, fs, marks, tree, vfs, writer};
use crate::child::{REPORT_FD, left, what_is_open};
use crate::run::{End, fired, watched};

const WATCHDOG: Duration = Duration::from_secs(20);
/// For how long a program is made shorter.
const SHRINKING: Duration = Duration::from_secs(90);

/// Plays it. What is wrong, if anything is.
pub fn play(seed: u64, keep: Keep) -> Vec<String> {
    let problems = with_subject!(Kind::of(seed), S => play_on::<S>(seed, &keep));
    problems.unwrap_or_else(|error| vec![format!("it could not be played: {error}")])
}

fn play_on<S: Subject>(seed: u64, keep: &Keep) -> io::Result<Vec<String>> {
    let case = Case::<S>::new(seed, keep);
    let temp = scratch()?;
    let (folder, record) = (temp.path().join("dst"), temp.path().join("fired"));
    std::fs::create_dir(&folder)?;
    S::prepare(&case.options, &folder)?;
    let mut command = Command::new(std::env::current_exe()?);
    let numbers = keep.as_ref().map(|keep| keep.iter().map(u64::to_string).collect::<Vec<_>>().join(","));
    command.args(["operations-child", &seed.to_string()]).arg(&folder).args(numbers).current_dir("/");
    let text = folder.to_string_lossy();
    if !case.failures.is_empty() {
        let rules = case.failures.iter().map(|failure| failure.rule(&text));
        rules.fold(Preload::new(), Preload::rule).record(&record).apply(&mut command)?;
    }
    let (end, status, report, _, said) = watched(&mut command, true, WATCHDOG)?;
    let story = serde_json::from_slice(&report).ok().and_then(|value| Story::from_json(&value));
    let story = match (end, story) {
        (End::Told, Some(story)) => story,
        (End::Hang, _) => return Ok(vec!["it hangs".into()]),
        _ => return Ok(vec![format!("it crashed: {status}: {}", String::from_utf8_lossy(&said))]),
    };
    let mut seen = Seen { story, fired: fired(&record), marks: marks::read(&record), folder, problems: Vec::new() };
    S::judge(&case.options, &case.threads, &mut seen);
    seen.judge_silence();
    seen.judge_left();
    if !seen.problems.is_empty() {
        let fired = seen.fired.iter().map(|it| format!("{} {} {}", it.call, it.errno, it.path.display()));
        let told = seen.story.told().map(|told| format!("told: {}", told.text));
        let more: Vec<_> = fired.map(|it| format!("fired: {it}")).chain(told).collect();
        seen.problems.extend(more);
    }
    Ok(seen.problems)
}

/// `operations-child SEED FOLDER [NUMBERS]`.
pub fn child(args: &[String]) -> ExitCode {
    fn on<S: Subject>(seed: u64, folder: &Path, keep: &Keep) -> Story {
        let case = Case::<S>::new(seed, keep);
        S::play(&case.options, folder, &case.threads)
    }
    let (Some(Ok(seed)), Some(folder)) = (args.first().map(|seed| seed.parse::<u64>()), args.get(1)) else {
        return ExitCode::from(2);
    };
    let keep = args.get(2).map(|list| list.split(',').filter_map(|number| number.parse().ok()).collect());
    marks::open();
    let before = what_is_open();
    // SAFETY: the parent has put the pipe there, and nothing else owns it.
    let mut pipe = unsafe { File::from_raw_fd(REPORT_FD) };
    let mut story = with_subject!(Kind::of(seed), S => on::<S>(seed, Path::new(folder), &keep));
    story.left = left(&before);
    pipe.write_all(story.to_json().to_string().as_bytes()).expect("the parent reads");
    ExitCode::SUCCESS
}

/// Leaves out of the program what it stops without, first many calls at once and then one by one.
pub fn shrink(seed: u64, mut problems: Vec<String>) -> (Keep, Vec<String>) {
    let mut kept = numbers(seed);
    let begun = Instant::now();
    let mut size = kept.len().div_ceil(2);
    loop {
        let mut is_shorter = false;
        for part in kept.clone().into_iter().collect::<Vec<_>>().chunks(size.max(1)) {
            if begun.elapsed() > SHRINKING {
                return (Some(kept), problems);
            }
            let fewer: BTreeSet<u64> = kept.iter().copied().filter(|number| !part.contains(number)).collect();
            // Threads take turns as they like: what stopped once may need a second try.
            let stop = (0..2).map(|_| play(seed, Some(fewer.clone()))).find(|problems| !problems.is_empty());
            if let Some(stop) = stop {
                (kept, problems, is_shorter) = (fewer, stop, true);
            }
        }
        match size {
            0 | 1 if !is_shorter => return (Some(kept), problems),
            _ if !is_shorter || size > 1 => size = (size / 2).max(1),
            _ => {}
        }
    }
}
