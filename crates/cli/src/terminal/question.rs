//! [`Question`]: what to do with a name that is taken, asked on the terminal.

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use manyfiles::tree::Answer;

use super::{Screen, Waiting};
use crate::human::{bytes, date, one_line};
use crate::stop::{Interruptible, Stop};

/// Asks once per conflict, until an answer was "all".
pub(crate) struct Question {
    screen: Arc<Screen>,
    stop: Stop,
    waiting: Waiting,
    root: PathBuf,
    /// What is known of the entry that is to be written.
    entry: AboutEntry,
    /// The answer to all further questions. Held while one is asked.
    for_all: Mutex<Option<Answer>>,
}

/// What one goes by to decide between two files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// How long it is, if it is a file.
    pub bytes: Option<u64>,
    pub modified: Option<SystemTime>,
}

/// Tells what is known of the entry that is to get a path.
pub(crate) type AboutEntry = Box<dyn Fn(&Path) -> Option<About> + Send + Sync>;

enum Reply {
    One(Answer),
    All(Answer),
    Quit,
    Explain,
    Unclear,
}

const CHOICES: &str = "  [o]verwrite, [s]kip or [r]ename it; [O], [S] or [R] for all such; [?] explains; [q]uit? ";

const EXPLANATION: &str = "\
  o  the new one takes its place
  s  it stays, and the new one is left out
  r  both stay: the new one gets a number, as in 'name (1).txt'
  O, S, R  the same for this one and all that follow, without a question
  q  stop here; what is complete stays
";

impl Question {
    /// `root` is where the paths are below; `entry` tells what is known of the entry that is to get a path.
    pub(crate) fn new(screen: Arc<Screen>, stop: Stop, waiting: Waiting, root: &Path, entry: AboutEntry) -> Question {
        Question { screen, stop, waiting, root: root.to_path_buf(), entry, for_all: Mutex::new(None) }
    }

    /// Whether a user can be asked: standard input and standard error are a terminal.
    pub(crate) fn can_be_asked() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// The answer for `path`; asks if it is not clear yet. Asked to quit, or at the end of the input, it stops the job.
    pub(crate) fn ask(&self, path: &Path) -> Answer {
        let mut for_all = self.for_all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = *for_all {
            return answer;
        }
        if self.stop.is_set() {
            return Answer::Error;
        }
        match self.screen.pause(|| self.waiting.during(|| self.converse(path))) {
            Reply::One(answer) => answer,
            Reply::All(answer) => *for_all.insert(answer),
            Reply::Quit | Reply::Explain | Reply::Unclear => {
                self.stop.quit();
                Answer::Error
            }
        }
    }

    fn converse(&self, path: &Path) -> Reply {
        let name = path.to_string_lossy();
        self.screen.write(&format!("manyfiles: {} is there already.\n{}", one_line(&name), self.both(path)));
        loop {
            self.screen.write(CHOICES);
            match self.line().as_deref().map(understand) {
                Some(Reply::Explain) => self.screen.write(EXPLANATION),
                Some(Reply::Unclear) => self.screen.write("  That is none of these.\n"),
                Some(reply) => return reply,
                None => {
                    self.screen.write("\n");
                    return Reply::Quit;
                }
            }
        }
    }

    /// What is there and what is to come, a line each, as far as they are known.
    fn both(&self, path: &Path) -> String {
        let there = std::fs::symlink_metadata(self.root.join(path)).ok().map(|there| About::of(&there));
        let new = (self.entry)(path);
        let order = match (there.and_then(|it| it.modified), new.and_then(|it| it.modified)) {
            (Some(there), Some(new)) if new > there => ", newer",
            (Some(there), Some(new)) if new < there => ", older",
            (Some(_), Some(_)) => ", of the same time",
            _ => "",
        };
        let line = |what, about: Option<About>, order| about.map(|about| format!("  {what}: {about}{order}\n"));
        [line("there", there, ""), line("new  ", new, order)].into_iter().flatten().collect()
    }

    /// A line from the terminal; `None` at its end, or when the job is stopped meanwhile.
    fn line(&self) -> Option<String> {
        let mut input = Interruptible::stdin(self.stop.clone()).ok()?; // without standard input no answer can come
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            match input.read(&mut byte) {
                Ok(0) | Err(_) if line.is_empty() => return None,
                Ok(0) | Err(_) => break,
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) => line.push(byte[0]),
            }
        }
        Some(String::from_utf8_lossy(&line).into_owned())
    }
}

impl About {
    pub(crate) fn of(metadata: &std::fs::Metadata) -> About {
        About { bytes: metadata.is_file().then_some(metadata.len()), modified: metadata.modified().ok() }
    }
}

impl std::fmt::Display for About {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.bytes {
            Some(size) => f.write_str(&bytes(size))?,
            None => f.write_str("not a file")?,
        }
        match self.modified.and_then(date) {
            Some(date) => write!(f, ", {date}"),
            None => Ok(()),
        }
    }
}

fn understand(line: &str) -> Reply {
    match line.trim() {
        "o" | "overwrite" => Reply::One(Answer::Overwrite),
        "s" | "skip" => Reply::One(Answer::Skip),
        "r" | "rename" => Reply::One(Answer::Rename),
        "O" => Reply::All(Answer::Overwrite),
        "S" => Reply::All(Answer::Skip),
        "R" => Reply::All(Answer::Rename),
        "q" | "Q" | "quit" => Reply::Quit,
        "?" | "h" | "help" => Reply::Explain,
        _ => Reply::Unclear,
    }
}
