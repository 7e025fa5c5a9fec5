//! [`Subject`]: a public type that programs are played on.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::path::{Path, PathBuf};

use manyfiles_testkit::{Call, Random};

use super::marks::{Mark, Step, mark};
use super::story::{Answer, Story};
use crate::run::Fired;
use crate::scene::bytes;
use crate::told::Told;

/// A call with its number in the program, which stays when others are left out.
#[derive(Clone, Debug)]
pub struct Numbered<C> {
    pub number: u64,
    pub call: C,
}

/// The calls of each thread.
pub type Threads<C> = [Vec<Numbered<C>>];

/// A public type.
pub trait Subject {
    type Options: Debug;
    type Call: Debug + Clone + Sync;

    /// The calls of the system that it makes: those that are worth failing.
    const FAILS: &'static [Call];

    fn options(random: &mut Random) -> Self::Options;

    /// The next call of this thread.
    fn call(random: &mut Random, options: &Self::Options, thread: usize) -> Self::Call;

    /// Puts there what is to be there before.
    fn prepare(_options: &Self::Options, _folder: &Path) -> std::io::Result<()> {
        Ok(())
    }

    /// Plays it, in the child.
    fn play(options: &Self::Options, folder: &Path, threads: &Threads<Self::Call>) -> Story;

    /// Compares, in the parent.
    fn judge(options: &Self::Options, threads: &Threads<Self::Call>, seen: &mut Seen);
}

/// What there is to judge by.
pub struct Seen {
    pub story: Story,
    pub fired: Vec<Fired>,
    pub marks: Vec<Mark>,
    pub folder: PathBuf,
    pub problems: Vec<String>,
}

impl Seen {
    pub fn say(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// The numbers that calls of the system failed with.
    pub fn errnos(&self) -> BTreeSet<i32> {
        self.fired.iter().map(|fired| fired.errno).filter(|errno| *errno != 0).collect()
    }

    /// An error that a failed call of the system explains.
    pub fn is_explained(&self, told: &Told) -> bool {
        told.errno.map_or(!self.errnos().is_empty(), |errno| self.errnos().contains(&errno))
    }

    pub fn answer(&self, number: u64) -> Answer {
        self.story.answers.get(&number).cloned().unwrap_or_default()
    }

    /// Every failed close of a file that is written to, and every failed sync, was told, with a path that leads there.
    pub fn judge_silence(&mut self) {
        let silent = self.fired.iter().filter(|fired| {
            // What was removed is not missed. What Linux says when a close is interrupted means nothing for the file.
            let counts = (fired.call == "close" && fired.is_writing) || fired.call == "fsync" || fired.call == "syncfs";
            // "The note need not be durable" (`appender/file/note.rs`): no record is in it.
            let path = fired.path.to_string_lossy();
            let is_removed = path.ends_with(" (deleted)") || path.ends_with(".manyfiles-open");
            counts && fired.errno != 0 && fired.errno != libc::EINTR && !is_removed && !self.is_told_of(&fired.path)
        });
        let silent = silent.map(|it| format!("nobody was told: {} of {}: {}", it.call, it.path.display(), it.errno));
        let silent: Vec<_> = silent.collect();
        self.problems.extend(silent);
    }

    /// By its path, by one beside it, since the file may have had another name, or by that of a folder above. What has
    /// a temporary name is told by the name that it was to get, wherever that is. Where two calls fail for one file,
    /// the first error is told.
    fn is_told_of(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.folder).unwrap_or(path);
        let is_temporary = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with(".manyfiles-");
        let mut told = self.story.told().filter_map(|told| told.path.as_deref());
        if below.iter().any(is_temporary) {
            return told.next().is_some();
        }
        let folder = path.parent().unwrap_or(path);
        told.any(|told| match told.is_absolute() {
            true => path.starts_with(told) || told.starts_with(folder),
            // Below the root of a tree.
            false => {
                path.ends_with(told) || folder.ends_with(told) || told.parent().is_some_and(|it| folder.ends_with(it))
            }
        })
    }

    /// Nothing that the library names by itself is left, unless what removes it was made to fail.
    pub fn judge_left(&mut self) {
        let left = std::mem::take(&mut self.story.left);
        self.problems.extend(left.iter().map(|what| format!("left: {what}")));
        let can_tidy = !self.fired.iter().any(|fired| ["unlink", "list", "stat", "open"].contains(&&*fired.call));
        for path in crate::scene::below(&self.folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if can_tidy && name.starts_with(".manyfiles-") {
                self.say(format!("left: {}", path.display()));
            }
        }
    }
}

/// Bytes that no other call has.
#[derive(Clone, Copy)]
pub struct Bytes {
    seed: u64,
    len: usize,
}

impl Bytes {
    pub fn new(random: &mut Random) -> Bytes {
        // Around the lengths at which buffers, pages and what is handed over whole end.
        let len = match random.below(20) {
            0 => 0,
            1 => 1,
            2 => 4096 + random.below(3) - 1,
            3 => (64 << 10) + random.below(3) - 1,
            4 => (256 << 10) + random.below(3) - 1,
            5 => 300_000,
            _ => random.below(3000),
        };
        Bytes { seed: random.next(), len }
    }

    pub fn short(random: &mut Random) -> Bytes {
        Bytes { seed: random.next(), len: random.below(2000) }
    }

    pub fn get(self) -> Vec<u8> {
        bytes(self.seed, self.len)
    }
}

impl Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len)
    }
}

/// Plays the calls of each thread on a thread, each with a state of its own.
pub fn on_threads<C: Sync, S>(
    threads: &Threads<C>,
    begin: impl Fn(usize) -> S + Sync,
    call: impl Fn(&mut S, usize, &Numbered<C>) -> Answer + Sync,
    end: impl Fn(S, usize) -> Vec<Told> + Sync,
) -> Story {
    let mut story = Story::default();
    std::thread::scope(|scope| {
        let running = threads.iter().enumerate().map(|(thread, calls)| {
            let (begin, call, end) = (&begin, &call, &end);
            scope.spawn(move || {
                let mut state = begin(thread);
                let answers = calls.iter().map(|it| {
                    mark(it.number, Step::Began);
                    let answer = call(&mut state, thread, it);
                    mark(it.number, Step::Ended);
                    (it.number, answer)
                });
                let answers: Vec<_> = answers.collect();
                (answers, end(state, thread))
            })
        });
        for thread in running.collect::<Vec<_>>() {
            match thread.join() {
                Ok((answers, told)) => {
                    story.answers.extend(answers);
                    story.end.extend(told);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    story
}
