//! [`Watch`]: looks at the work ten times a second, names failures when they happen, and draws the progress.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use manyfiles::tree::{Observer, Progress};

use super::Screen;
use crate::args;
use crate::human::{about, bytes, count, entries, per_second};

/// How much of the input was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputRead {
    /// Bytes of the archives, and how many there are, if that is known.
    Bytes(u64, Option<u64>),
    /// Entries found in the source folders.
    Entries(u64),
}

/// A thread that watches a job until it is [ended](Watch::end).
pub struct Watch {
    stop: Sender<()>,
    handed_over: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Watch {
    /// Begins to watch. `input` says how far the reading is.
    pub fn start(
        screen: Arc<Screen>,
        observer: Observer,
        progress: args::Progress,
        input: Box<dyn Fn() -> InputRead + Send>,
    ) -> io::Result<Watch> {
        let (stop, stopped) = mpsc::channel();
        let handed_over = Arc::new(AtomicBool::new(false));
        let mut display = Display::new(progress, handed_over.clone());
        let thread = thread::Builder::new().name("watch".into()).spawn(move || {
            let mut told = 0;
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                let failures = observer.failures(told);
                told += failures.len();
                screen.say_all(failures);
                display.show(&screen, observer.progress(), input());
            }
            screen.clear();
            told
        })?;
        Ok(Watch { stop, handed_over, thread })
    }

    /// From now on nothing is read any more: what is left is to write and to close.
    pub fn all_is_handed_over(&self) {
        self.handed_over.store(true, Ordering::Relaxed);
    }

    /// Ends it, and says how many failures it has named.
    pub fn end(self) -> usize {
        drop(self.stop);
        // Had it panicked, what it named would be unknown: better to name all again than some never.
        self.thread.join().unwrap_or(0)
    }
}

/// Where and how progress is shown.
struct Display {
    target: Target,
    started: Instant,
    handed_over: Arc<AtomicBool>,
    last_line: Instant,
}

#[derive(PartialEq)]
enum Target {
    Nowhere,
    /// A bar, from this time on.
    Bar(Duration),
    /// A line every second, for a log.
    Lines,
}

impl Display {
    fn new(progress: args::Progress, handed_over: Arc<AtomicBool>) -> Display {
        let target = match (progress, io::stderr().is_terminal()) {
            (args::Progress::Never, _) | (args::Progress::Auto, false) => Target::Nowhere,
            (args::Progress::Auto, true) => Target::Bar(Duration::from_millis(500)),
            (args::Progress::Always, true) => Target::Bar(Duration::ZERO),
            (args::Progress::Always, false) => Target::Lines,
        };
        let now = Instant::now();
        Display { target, started: now, handed_over, last_line: now }
    }

    fn show(&mut self, screen: &Screen, progress: Progress, input: InputRead) {
        let elapsed = self.started.elapsed();
        let seen = Seen { progress, input, elapsed, handed_over: self.handed_over.load(Ordering::Relaxed) };
        match self.target {
            Target::Bar(from) if elapsed >= from => screen.draw(|bar| draw(bar.get_or_insert_with(new_bar), &seen)),
            Target::Lines if self.last_line.elapsed() >= Duration::from_secs(1) => {
                self.last_line = Instant::now();
                screen.say(seen.text());
            }
            _ => {}
        }
    }
}

fn new_bar() -> ProgressBar {
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10))
}

fn draw(bar: &ProgressBar, seen: &Seen) {
    let template = match seen.fraction() {
        Some(fraction) => {
            bar.set_length(1000);
            bar.set_position((fraction * 1000.0) as u64);
            "{bar:24} {percent:>3}%  {wide_msg}"
        }
        None => "{spinner} {wide_msg}",
    };
    let style = ProgressStyle::with_template(template).expect("the template is fixed");
    bar.set_style(style.progress_chars("=> "));
    bar.set_message(seen.text());
    bar.tick();
}

/// One look at the work.
struct Seen {
    progress: Progress,
    input: InputRead,
    elapsed: Duration,
    handed_over: bool,
}

impl Seen {
    /// How much is done, from 0 to 1, where it is known how much there is.
    fn fraction(&self) -> Option<f64> {
        let (done, all) = match self.input {
            _ if self.handed_over => (self.progress.entries_done, self.progress.entries_accepted),
            InputRead::Bytes(read, Some(total)) => (read, total),
            InputRead::Bytes(_, None) | InputRead::Entries(_) => return None,
        };
        (all > 0).then(|| (done as f64 / all as f64).min(1.0))
    }

    fn text(&self) -> String {
        let Progress { entries_accepted, entries_done, bytes_written, failures, threads, closing, .. } = self.progress;
        let mut text = format!(
            "{}, {}, {}/s",
            entries(entries_done),
            bytes(bytes_written),
            bytes(per_second(bytes_written, self.elapsed))
        );
        let left = entries_accepted.saturating_sub(entries_done);
        match self.input {
            _ if self.handed_over && left == 0 => text += ", finishing folders",
            _ if self.handed_over && closing > 0 => {
                text += &format!(", closing: {} left, {closing} of {threads} threads are at it", entries(left));
            }
            _ if self.handed_over => text += &format!(", {} left", entries(left)),
            InputRead::Entries(found) => text += &format!(", {} found so far", count(found)),
            InputRead::Bytes(..) if closing * 2 > threads => text += &format!(", {closing} threads are closing"),
            InputRead::Bytes(..) => {}
        }
        if let Some(left) = self.time_left() {
            text += &format!(", {} left", about(left));
        }
        if failures > 0 {
            text += &format!(", {} failed", count(failures));
        }
        text
    }

    /// Only once there is something to judge by.
    fn time_left(&self) -> Option<Duration> {
        let fraction = self.fraction().filter(|&fraction| (0.01..1.0).contains(&fraction))?;
        (self.elapsed >= Duration::from_secs(1)).then(|| self.elapsed.mul_f64(1.0 / fraction - 1.0))
    }
}
