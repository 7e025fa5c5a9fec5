//! [`Display`]: where and how progress is shown.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Screen;
use crate::args;

/// A bar on a terminal, lines in a log, or nothing, as the user chose.
pub(crate) struct Display {
    target: Target,
    started: Instant,
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
    pub(crate) fn new(progress: args::Progress) -> Display {
        let target = match (progress, io::stderr().is_terminal()) {
            (args::Progress::Never, _) | (args::Progress::Auto, false) => Target::Nowhere,
            (args::Progress::Auto, true) => Target::Bar(Duration::from_millis(500)),
            (args::Progress::Always, true) => Target::Bar(Duration::ZERO),
            (args::Progress::Always, false) => Target::Lines,
        };
        let now = Instant::now();
        Display { target, started: now, last_line: now }
    }

    /// Shows how far the work is, if it is time to. `look` is given the time that has passed, and tells how much is
    /// done, from 0 to 1, if that is known, and what to say.
    pub(crate) fn show(&mut self, screen: &Screen, look: impl FnOnce(Duration) -> (Option<f64>, String)) {
        let elapsed = self.started.elapsed();
        match self.target {
            Target::Bar(from) if elapsed >= from => {
                let (fraction, text) = look(elapsed);
                screen.draw(|bar| draw(bar.get_or_insert_with(new_bar), fraction, text));
            }
            Target::Lines if self.last_line.elapsed() >= Duration::from_secs(1) => {
                self.last_line = Instant::now();
                screen.say(look(elapsed).1);
            }
            _ => {}
        }
    }
}

fn new_bar() -> ProgressBar {
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10))
}

fn draw(bar: &ProgressBar, fraction: Option<f64>, text: String) {
    let template = match fraction {
        Some(fraction) => {
            bar.set_length(1000);
            bar.set_position((fraction * 1000.0) as u64);
            "{bar:24} {percent:>3}%  {wide_msg}"
        }
        None => "{spinner} {wide_msg}",
    };
    let style = ProgressStyle::with_template(template).expect("the template is fixed");
    bar.set_style(style.progress_chars("=> "));
    bar.set_message(text);
    bar.tick();
}

/// What is left of the time, once there is something to judge by.
pub(crate) fn time_left(fraction: Option<f64>, elapsed: Duration) -> Option<Duration> {
    let fraction = fraction.filter(|&fraction| (0.01..1.0).contains(&fraction))?;
    (elapsed >= Duration::from_secs(1)).then(|| elapsed.mul_f64(1.0 / fraction - 1.0))
}
