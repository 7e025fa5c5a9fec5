//! [`Question`]: what to do with a name that is taken, asked on the terminal.

use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use manyfiles::tree::Answer;

use super::Screen;
use super::screen::write_stderr;
use crate::human::one_line;
use crate::stop::{Interruptible, Stop};

/// Asks once per conflict, until an answer was "all".
pub struct Question {
    screen: Arc<Screen>,
    stop: Stop,
    /// The answer to all further questions. Held while one is asked.
    for_all: Mutex<Option<Answer>>,
}

enum Reply {
    One(Answer),
    All(Answer),
    Quit,
    Unclear,
}

impl Question {
    pub fn new(screen: Arc<Screen>, stop: Stop) -> Question {
        Question { screen, stop, for_all: Mutex::new(None) }
    }

    /// Whether there is somebody to ask.
    pub fn can_be_asked() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// The answer for `path`; asks if it is not clear yet. Asked to quit, or at the end of the input, it stops the job.
    pub fn ask(&self, path: &Path) -> Answer {
        let mut for_all = self.for_all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = *for_all {
            return answer;
        }
        if self.stop.is_set() {
            return Answer::Error;
        }
        match self.screen.pause(|| self.converse(path)) {
            Reply::One(answer) => answer,
            Reply::All(answer) => *for_all.insert(answer),
            Reply::Quit | Reply::Unclear => {
                self.stop.quit();
                Answer::Error
            }
        }
    }

    fn converse(&self, path: &Path) -> Reply {
        write_stderr(&format!("manyfiles: {} is there already.\n", one_line(&path.to_string_lossy())));
        loop {
            write_stderr("  [o]verwrite, [s]kip or [r]ename it; [O], [S] or [R] for all such; [q]uit? ");
            match self.line() {
                Some(line) => match understand(&line) {
                    Reply::Unclear => {}
                    reply => return reply,
                },
                None => {
                    write_stderr("\n");
                    return Reply::Quit;
                }
            }
        }
    }

    /// A line from the terminal; `None` at its end, or when the job is stopped meanwhile.
    fn line(&self) -> Option<String> {
        let mut input = Interruptible::stdin(self.stop.clone()).ok()?; // no standard input: nobody to ask
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

fn understand(line: &str) -> Reply {
    match line.trim() {
        "o" | "overwrite" => Reply::One(Answer::Overwrite),
        "s" | "skip" => Reply::One(Answer::Skip),
        "r" | "rename" => Reply::One(Answer::Rename),
        "O" => Reply::All(Answer::Overwrite),
        "S" => Reply::All(Answer::Skip),
        "R" => Reply::All(Answer::Rename),
        "q" | "Q" | "quit" => Reply::Quit,
        _ => Reply::Unclear,
    }
}
