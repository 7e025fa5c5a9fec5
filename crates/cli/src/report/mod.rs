//! The end of a job: a summary for people, one JSON object for programs, an exit status for both.

pub(crate) mod hints;
mod json;
mod lines;
mod outcome;
mod summary;
mod usage;

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::Value;

use crate::args::Options;
use crate::read::Read;
use crate::terminal::Screen;
use crate::words::{CannotBegin, Words};

pub(crate) use json::{failure as json_failure, path as json_path, sources as json_sources};
pub(crate) use lines::Lines;
pub(crate) use outcome::{INCOMPLETE, Outcome, UNREADABLE};
pub(crate) use summary::{not_kept, resumed, sockets as sockets_skipped};

impl Outcome {
    /// Prints the summary, or the JSON object, or both, and gives the exit status.
    pub(crate) fn tell(&self, options: &Options) -> ExitCode {
        let screen = Screen::default();
        if !options.quiet {
            screen.say_all(summary::lines(self, options));
        }
        let code = self.exit_code();
        if options.json { print_json(&json::outcome(self, code), code) } else { code.into() }
    }
}

/// A line for each pattern that nothing matched.
pub(crate) fn nothing_matches(read: &Read) -> impl Iterator<Item = String> {
    read.wrong_patterns().iter().map(|pattern| format!("--include {pattern}: nothing matches this pattern"))
}

/// Says why a job could not begin.
pub(crate) fn tell_cannot_begin(words: Words, why: &CannotBegin, json: bool) -> ExitCode {
    Screen::default().say_all(&why.0);
    match json {
        true => print_json(&json::cannot_begin(Some(words), &why.0), UNREADABLE),
        false => UNREADABLE.into(),
    }
}

/// Says what is wrong with the command line, or prints the help that was asked for.
pub(crate) fn tell_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return printed(error.print(), 0);
    }
    // A message that cannot be printed has no reader. The exit status says the same.
    let _no_reader = error.print();
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let hint = usage::hint(error, &words);
    Screen::default().say_all(&hint);
    match words.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
        true => {
            let errors: Vec<_> = [error.render().to_string()].into_iter().chain(hint).collect();
            print_json(&json::cannot_begin(None, &errors), UNREADABLE)
        }
        false => UNREADABLE.into(),
    }
}

/// Prints the object to standard output. `code` is the exit status if that works.
pub(crate) fn print_json(object: &Value, code: u8) -> ExitCode {
    print_stdout(format!("{object:#}\n").as_bytes(), code)
}

/// Prints to standard output. `code` is the exit status if that works, or if the reader has closed its end.
pub(crate) fn print_stdout(bytes: &[u8], code: u8) -> ExitCode {
    let mut stdout = io::stdout().lock();
    printed(stdout.write_all(bytes), code)
}

/// The exit status after printing to standard output: `code`, unless output was lost that its reader still waits for.
pub(crate) fn printed(printing: io::Result<()>, code: u8) -> ExitCode {
    match printing.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Screen::default().say(format_args!("cannot write to standard output: {error}"));
            code.max(INCOMPLETE).into()
        }
        _ => code.into(),
    }
}
