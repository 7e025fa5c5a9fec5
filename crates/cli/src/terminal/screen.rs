//! [`Screen`]: one writer at a time on standard error.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;

use crate::human::one_line;
use crate::stop::Stop;

/// Standard error, with or without a progress bar in its last line.
#[derive(Default)]
pub(crate) struct Screen {
    bar: Mutex<Option<ProgressBar>>,
    /// What to stop when its reader goes away.
    job: Option<Stop>,
}

impl Screen {
    /// A screen that stops the job when the reader of standard error goes away: the other end of a pipe is closed. If
    /// standard error was closed before the job began, the user wants no messages, but wants the job done.
    pub(crate) fn of(job: &Stop) -> Screen {
        Screen { bar: Mutex::default(), job: Some(job.clone()) }
    }

    /// Prints `manyfiles: ` and the message, as one line.
    pub(crate) fn say(&self, message: impl Display) {
        self.say_all([message]);
    }

    /// Prints each message as a line, with one write.
    pub(crate) fn say_all<M: Display>(&self, messages: impl IntoIterator<Item = M>) {
        let mut text = String::new();
        for message in messages {
            text.push_str("manyfiles: ");
            text.push_str(&one_line(&message.to_string()));
            text.push('\n');
        }
        self.print(&text);
    }

    /// Prints the text as it is.
    pub(crate) fn print(&self, text: &str) {
        if !text.is_empty() {
            self.pause(|| self.write(text));
        }
    }

    /// Takes the bar away while `work` uses the terminal. Other threads that print wait.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        let bar = self.bar();
        match &*bar {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }

    /// Writes while the screen is [paused](Screen::pause). What cannot be written is not reported: there is nowhere
    /// left to report it.
    pub(crate) fn write(&self, text: &str) {
        if let Err(error) = io::stderr().lock().write_all(text.as_bytes())
            && error.kind() == io::ErrorKind::BrokenPipe
            && let Some(job) = &self.job
        {
            job.reader_is_gone();
        }
    }

    /// Draws or changes the bar.
    pub(crate) fn draw(&self, change: impl FnOnce(&mut Option<ProgressBar>)) {
        change(&mut self.bar());
    }

    /// Takes the bar away for good.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }

    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        // A bar is whole after any panic, and messages must still come through.
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
