//! `bench`: what manyfiles gains over plain Rust on a disk, measured and shown.

use std::fs::{self, File};
use std::io;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use manyfiles_works::{Observer, Options, Results, SPACE, bench, works};

use crate::args::{Bench, Progress};
use crate::human::about;
use crate::measuring::{self, Outputs};
use crate::report::{self, INCOMPLETE, UNREADABLE};
use crate::stop::Stop;
use crate::terminal::{Display, Screen};

pub(crate) fn run(args: &Bench) -> ExitCode {
    let watch = Watch::new(args);
    let tell = |lines: &[String], code| measuring::tell("bench", &watch.screen, args.json, lines, code);
    let options = Options {
        rounds: args.rounds.into(),
        time: args.seconds,
        only: args.only.clone(),
        simulate_close: args.simulate_close_ms,
    };
    if works(&options).is_empty() {
        let all = works(&Options::default()).iter().map(|work| format!("  {}", work.name)).collect::<Vec<_>>();
        return tell(&[vec![format!("no work's name contains '{}'; there are:", args.only)], all].concat(), UNREADABLE);
    }
    let mut outputs = Outputs::default();
    for file in [&args.csv, &args.svg].into_iter().flatten() {
        if let Err(error) = outputs.make(file) {
            outputs.remove();
            return tell(&[error], UNREADABLE);
        }
    }
    let stop = match Stop::on_signals() {
        Ok(stop) => stop,
        Err(error) => {
            outputs.remove();
            return tell(&[format!("cannot listen for signals: {error}")], UNREADABLE);
        }
    };
    let watch = Watch { stop, ..watch };
    let measured = bench(&args.directory, &options, &watch);
    watch.screen.clear();
    match measured {
        Ok(results) => show(&results, args, &watch.screen),
        Err(failure) => {
            outputs.remove();
            let lines = measuring::lines(&failure, &args.directory, SPACE);
            measuring::tell("bench", &watch.screen, args.json, &lines, measuring::failed(&watch.stop))
        }
    }
}

fn show(results: &Results, args: &Bench, screen: &Screen) -> ExitCode {
    let mut code = if results.has_problems() { INCOMPLETE } else { 0 };
    let csv = args.csv.as_ref().map(|path| (path, File::create(path).and_then(|file| results.write_csv(file))));
    let svg = args.svg.as_ref().map(|path| (path, fs::write(path, results.to_svg())));
    for (path, written) in [csv, svg].into_iter().flatten() {
        let written: io::Result<()> = written;
        if let Err(error) = written {
            screen.say(format_args!("cannot write {}: {error}", path.display()));
            code = INCOMPLETE;
        }
    }
    if args.json {
        report::print_json(&results.to_json(code), code)
    } else {
        report::print_stdout(results.to_text().as_bytes(), code)
    }
}

/// Shows how far it is, and stops it at Ctrl-C.
struct Watch {
    screen: Screen,
    display: Mutex<Display>,
    stop: Stop,
    rounds: u16,
}

impl Watch {
    fn new(args: &Bench) -> Watch {
        let progress = if args.quiet { Progress::Never } else { args.progress };
        let display = Mutex::new(Display::new(progress));
        Watch { screen: Screen::default(), display, stop: Stop::default(), rounds: args.rounds }
    }
}

impl Observer for Watch {
    fn begins(&self, work: &str, entrant: &str, round: usize, done: f64) {
        let mut display = self.display.lock().unwrap_or_else(PoisonError::into_inner);
        display.show(&self.screen, |elapsed| {
            let round = if round == 0 { "warming up".into() } else { format!("round {round} of {}", self.rounds) };
            (Some(done), format!("{work}: {round}, {entrant}, after {}", about(elapsed)))
        });
    }

    fn stopped(&self) -> bool {
        self.stop.is_set()
    }
}
