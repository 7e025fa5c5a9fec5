//! `probe`: measures a file system, and shows what it found.

use std::io::IsTerminal;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use manyfiles_probe::{LEAST_SPACE, Observer, Options, Step};

use crate::args::Probe;
use crate::measuring::{self, Outputs};
use crate::report::{self, INCOMPLETE, UNREADABLE};
use crate::stop::Stop;
use crate::terminal::Screen;

pub(crate) fn run(args: &Probe) -> ExitCode {
    let screen = Screen::default();
    let tell = |lines: &[String], code| measuring::tell("probe", &screen, args.json, lines, code);
    let mut outputs = Outputs::default();
    if let Some(Err(error)) = args.svg.as_deref().map(|svg| outputs.make(svg)) {
        return tell(&[error], UNREADABLE);
    }
    let stop = match Stop::on_signals() {
        Ok(stop) => stop,
        Err(error) => return tell(&[format!("cannot listen for signals: {error}")], UNREADABLE),
    };
    let watch = Watch { bar: bar(args), stop };
    let found = Options::new().time(args.seconds).run(&args.directory, &watch);
    watch.bar.finish_and_clear();
    let findings = match found {
        Ok(findings) => findings,
        Err(failure) => {
            outputs.remove();
            return tell(&measuring::lines(&failure, &args.directory, LEAST_SPACE), measuring::failed(&watch.stop));
        }
    };
    let mut code = 0;
    if let Some(svg) = &args.svg
        && let Err(error) = findings.write_svg(svg)
    {
        screen.say(format_args!("cannot write {}: {error}", svg.display()));
        code = INCOMPLETE;
    }
    if args.json {
        report::print_json(&findings.to_json(), code)
    } else {
        report::print_stdout(findings.to_text().as_bytes(), code)
    }
}

fn bar(args: &Probe) -> ProgressBar {
    if args.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:24} {percent:>3}%  {wide_msg}").expect("the template is fixed");
    ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::stderr()).with_style(style.progress_chars("=> "))
}

/// Shows how far it is, and stops it at Ctrl-C.
struct Watch {
    bar: ProgressBar,
    stop: Stop,
}

impl Observer for Watch {
    fn begins(&self, step: Step, threads: usize, done: f64) {
        self.bar.set_position((done * 100.0) as u64);
        let threads = if threads == 1 { String::new() } else { format!(", {threads} threads") };
        self.bar.set_message(format!("{}{threads}", step.name()));
        self.bar.tick();
    }

    fn stopped(&self) -> bool {
        self.stop.is_set()
    }
}
