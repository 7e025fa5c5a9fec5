//! `manyfiles explain TRACE` and `manyfiles explain -- COMMAND…`.
//!
//! `manyfiles_trace` reads the trace. This module finds or makes the trace, and prints the report.

mod compressed;
mod page;
mod reading;
mod source;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use manyfiles_trace::render::{self, Detail};
use manyfiles_trace::{Error, Report};
use serde_json::{Map, Value};

use crate::args;
use crate::human::count;
use crate::report::{INCOMPLETE, UNREADABLE, json_path, print_json, print_stdout, tell_cannot_begin};
use crate::stop::Stop;
use crate::sys;
use crate::terminal::Screen;
use crate::words::{CannotBegin, Words};

use page::Page;
use source::Source;

/// Rows of each table at most.
const ROWS: usize = 100;

const WORDS: Words = Words { command: "explain", done: "explained", sources: "trace" };

/// Does all of it.
pub(crate) fn explain(args: args::Explain) -> ExitCode {
    match begin(&args) {
        Ok(code) => code,
        Err(why) => tell_cannot_begin(WORDS, &why, args.json),
    }
}

fn begin(args: &args::Explain) -> Result<ExitCode, CannotBegin> {
    let stop =
        Stop::on_signals().map_err(|error| CannotBegin::because(format_args!("cannot listen for signals: {error}")))?;
    match &args.trace {
        Some(path) => {
            let source = Source::open(path, &stop)?;
            let page = Page::wanted(args, Some(path))?;
            let Some(before) = before(args, &stop)? else { return Ok(stopped(args, &stop)) };
            let report = read(args, source, &stop)?;
            Ok(match report {
                Some(report) => tell(args, &report, before.as_ref(), page, &path.display().to_string(), None),
                None => stopped(args, &stop),
            })
        }
        None => {
            let page = Page::wanted(args, None)?;
            let Some(before) = before(args, &stop)? else { return Ok(stopped(args, &stop)) };
            let sys::Traced { trace, exit_code } = sys::trace(&args.command, &stop)?;
            // A signal that ended the command does not keep its trace from being explained; one more ends everything.
            let stop = if stop.is_set() { Stop::default() } else { stop };
            let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
            let name = words.join(" ");
            Ok(match read(args, Source::file(trace, &name, &stop)?, &stop)? {
                Some(report) => tell(args, &report, before.as_ref(), page, &name, Some(exit_code)),
                None => stopped(args, &stop),
            })
        }
    }
}

/// Reads the trace that another one is to be compared with, if there is to be one. The outer `None`: that was stopped.
fn before(args: &args::Explain, stop: &Stop) -> Result<Option<Option<Report>>, CannotBegin> {
    let Some(path) = &args.compare else { return Ok(Some(None)) };
    let before = read(args, Source::open(path, stop)?, stop)?;
    if let Some(before) = &before {
        Screen::default().say_all(caveats(before, &path.display().to_string()));
    }
    Ok(before.map(Some))
}

/// Reads the trace to its end; `None` if that was stopped.
fn read(args: &args::Explain, source: Source, stop: &Stop) -> Result<Option<Report>, CannotBegin> {
    let name = source.name.clone();
    // A flame graph has every file.
    let rows = if args.folded.is_some() { usize::MAX } else { ROWS };
    match reading::read(source, args.progress, rows) {
        Ok(report) => Ok(Some(report)),
        Err(_) if stop.is_set() => Ok(None),
        Err(Error::Empty) if args.trace.is_none() => {
            Err(CannotBegin::because(format_args!("{name}: strace did not see it run; what it said is above")))
        }
        Err(error) => Err(CannotBegin::because(format_args!("{name}: {error}"))),
    }
}

fn stopped(args: &args::Explain, stop: &Stop) -> ExitCode {
    let code = 128 + stop.signal().unwrap_or_default() as u8;
    let why = "stopped before the end of the trace; nothing is told";
    Screen::default().say(why);
    match args.json {
        true => {
            let object = serde_json::json!({"command": WORDS.command, "status": "stopped", "exit_code": code});
            print_json(&object, code)
        }
        false => code.into(),
    }
}

/// Prints the report in every form that was asked for. `traced` is the exit status of the command that was traced.
fn tell(
    args: &args::Explain,
    report: &Report,
    before: Option<&Report>,
    page: Option<Page>,
    name: &str,
    traced: Option<u8>,
) -> ExitCode {
    let screen = Screen::default();
    screen.say_all(caveats(report, name));
    let mut code = if report.is_complete() { 0 } else { INCOMPLETE };
    if let Some(page) = page {
        let (content, then) = match args.folded {
            Some(_) => (render::folded(report), "draw them, for instance: inferno-flamegraph"),
            None => (render::html(report, name), "open it in a browser"),
        };
        let what = page.what();
        match page.write(&content) {
            Ok(path) if !args.quiet => screen.say(format_args!("{what}: {}; {then}", path.display())),
            Ok(_) => {}
            Err(error) => {
                screen.say(error);
                code = INCOMPLETE;
            }
        }
    }
    let code = match traced {
        Some(0) => code,
        Some(status) => status,
        None => code,
    };
    if args.json {
        return print_json(&object(args, report, before, code), code);
    }
    let rows = match args.verbose {
        0 => 10,
        1 => 50,
        _ => 100,
    };
    let text = |width: Option<usize>| match before {
        Some(before) => render::compared(before, report, Detail { rows, width }),
        None => render::text(report, Detail { rows, width }),
    };
    match (args.quiet, traced) {
        (true, _) => code.into(),
        // Standard output is the command's own.
        (false, Some(_)) => {
            screen.print(&text(columns(io::stderr().is_terminal(), sys::columns(&io::stderr()))));
            code.into()
        }
        (false, None) => {
            print_stdout(text(columns(io::stdout().is_terminal(), sys::columns(&io::stdout()))).as_bytes(), code)
        }
    }
}

/// Why the report is incomplete.
fn caveats(report: &Report, name: &str) -> Vec<String> {
    let mut caveats = Vec::new();
    if let Some((line, text)) = &report.damage.first {
        caveats.push(format!(
            "{name}: {} of {} lines were not understood and are not counted; the first is line {}: {text}",
            count(report.damage.lines),
            count(report.lines),
            count(*line),
        ));
    }
    if report.total.calls > 0 && !report.timed {
        caveats.push(format!("{name}: only counts can be told: {}", report.format.how_to_get_durations()));
    }
    caveats
}

/// How many columns there are, if it is a terminal that says so.
fn columns(is_terminal: bool, columns: Option<usize>) -> Option<usize> {
    columns.filter(|&columns| is_terminal && columns > 0)
}

fn object(args: &args::Explain, report: &Report, before: Option<&Report>, code: u8) -> Value {
    let mut object = Map::new();
    object.insert("command".into(), WORDS.command.into());
    let status = match (code, report.is_complete()) {
        (UNREADABLE, _) if args.trace.is_some() => "unreadable",
        (_, true) => "complete",
        (_, false) => "incomplete",
    };
    object.insert("status".into(), status.into());
    object.insert("exit_code".into(), code.into());
    match &args.trace {
        Some(path) => json_path(&mut object, "trace", path),
        None => {
            let words: Vec<Value> = args.command.iter().map(|word| word.to_string_lossy().into()).collect();
            object.insert("traced_command".into(), words.into());
        }
    }
    if let Some(html) = &args.html {
        json_path(&mut object, "html", html);
    }
    if let Some(path) = &args.compare {
        json_path(&mut object, "compared_with", path);
    }
    let told = before.map_or_else(|| render::json(report), |before| render::compared_json(before, report));
    if let Value::Object(told) = told {
        object.extend(told);
    }
    object.into()
}
