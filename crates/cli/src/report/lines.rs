//! [`Lines`]: a list on standard output, beside the messages and the progress bar on standard error.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::INCOMPLETE;
use crate::terminal::Screen;

/// How many bytes are written at once.
const BUFFER: usize = 64 << 10;
/// How long a line waits for others: not longer than its reader takes to notice.
const PATIENCE: Duration = Duration::from_millis(100);

/// Standard output, until it cannot be written to any more. A reader that closes its end needs no more lines: then the
/// process ends, with status 0. So this is for commands that only read.
pub(crate) struct Lines {
    buffer: Vec<u8>,
    screen: Arc<Screen>,
    flushed: Instant,
    /// It could not be written to, as was said.
    is_lost: bool,
    /// Something cannot be printed, as was said.
    is_incomplete: bool,
}

impl Lines {
    pub(crate) fn new(screen: Arc<Screen>) -> Lines {
        Lines {
            buffer: Vec::with_capacity(2 * BUFFER),
            screen,
            flushed: Instant::now(),
            is_lost: false,
            is_incomplete: false,
        }
    }

    /// Prints the bytes as they are: with the end of the line, if it is to end.
    pub(crate) fn print(&mut self, bytes: impl AsRef<[u8]>) {
        self.buffer.extend_from_slice(bytes.as_ref());
        if self.buffer.len() >= BUFFER || self.flushed.elapsed() >= PATIENCE {
            self.flush();
        }
    }

    /// Says why something is not printed. The exit status will say so, too.
    pub(crate) fn leave_out(&mut self, why: impl std::fmt::Display) {
        self.flush();
        self.screen.say(why);
        self.is_incomplete = true;
    }

    /// Says something of what is printed, at its place.
    pub(crate) fn warn(&mut self, what: impl std::fmt::Display) {
        self.flush();
        self.screen.say(what);
    }

    /// Hands over what was printed, to be seen now: before a message on standard error is printed, and at the end.
    pub(crate) fn flush(&mut self) {
        self.flushed = Instant::now();
        if !self.is_lost && !self.buffer.is_empty() {
            let write = || {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&self.buffer).and_then(|()| stdout.flush())
            };
            if let Err(error) = self.screen.pause(write) {
                if error.kind() == io::ErrorKind::BrokenPipe {
                    self.screen.clear();
                    std::process::exit(0);
                }
                self.is_lost = true;
                self.screen.say(format_args!("cannot write to standard output: {error}"));
            }
        }
        self.buffer.clear();
    }

    /// The exit status after the last line: `code`, unless lines are missing.
    pub(crate) fn end(mut self, code: u8) -> ExitCode {
        self.flush();
        self.code(code).into()
    }

    /// The exit status until now.
    pub(crate) fn code(&self, code: u8) -> u8 {
        code.max(if self.is_lost || self.is_incomplete { INCOMPLETE } else { 0 })
    }
}
