//! Lists a plan: a line for each entry on standard output, or one JSON object.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use serde_json::{Map, Value};

use super::Plan;
use super::plan::{Action, Kind, Line};
use crate::args::Options;
use crate::human::{bytes, counted, entries, one_line};
use crate::job::Job;
use crate::read::Read;
use crate::report::{INCOMPLETE, UNREADABLE, json_path, json_sources, nothing_matches, print_json};
use crate::terminal::Screen;
use crate::work::Work;

/// Plans the job and tells the plan.
pub(crate) fn dry_run(job: &dyn Work, options: &Options) -> ExitCode {
    let mut tally = Tally::default();
    let mut listing = Listing { out: BufWriter::new(io::stdout()), closed: false };
    let mut json = options.json.then(Vec::new);
    let read = {
        let mut tell = |line: Line| {
            tally.count(&line);
            match &mut json {
                Some(lines) => lines.push(to_json(&line)),
                None => listing.print(&line),
            }
        };
        job.list(&mut Plan::new(job, options, &mut tell))
    };
    listing.flush();
    let screen = Screen::default();
    screen.say_all(read.sources.iter().filter_map(|source| source.error.as_ref().or(source.warning.as_ref())));
    screen.say_all(nothing_matches(&read));
    if !options.quiet {
        screen.say(tally.summary(job));
    }
    let code = tally.exit_code(&read).max(if listing.closed { INCOMPLETE } else { 0 });
    match json {
        Some(lines) => print_json(&object(job, &read, &tally, lines, code), code),
        None => code.into(),
    }
}

/// Standard output, until its reader closes the other end.
struct Listing {
    out: BufWriter<io::Stdout>,
    /// It could not be written to, as was said.
    closed: bool,
}

impl Listing {
    fn print(&mut self, line: &Line) {
        if !self.closed {
            let slash = if line.kind == Some(Kind::Folder) { "/" } else { "" };
            let why = line.why.as_ref().map(|why| format!("  ({why})")).unwrap_or_default();
            let text = format!("{:<10}{}{slash}{why}", name(line.action), line.path.display());
            let printed = writeln!(self.out, "{}", one_line(&text));
            self.note(printed);
        }
    }

    fn flush(&mut self) {
        if !self.closed {
            let flushed = self.out.flush();
            self.note(flushed);
        }
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.closed = true;
            if error.kind() == io::ErrorKind::BrokenPipe {
                // The reader needs no more. Nothing was written, so nothing is to be tidied up.
                std::process::exit(0);
            }
            Screen::default().say(format_args!("cannot write to standard output: {error}"));
        }
    }
}

#[derive(Default)]
struct Tally {
    by_action: [u64; Action::ALL.len()],
    bytes: u64,
}

impl Tally {
    fn count(&mut self, line: &Line) {
        self.by_action[line.action as usize] += 1;
        if line.action.writes() {
            self.bytes = self.bytes.saturating_add(line.bytes);
        }
    }

    fn sum(&self, of: impl Fn(Action) -> bool) -> u64 {
        Action::ALL.into_iter().filter(|&action| of(action)).map(|action| self.by_action[action as usize]).sum()
    }

    fn summary(&self, job: &dyn Job) -> String {
        let mut text = format!(
            "would write {}, up to {}, into {}",
            entries(self.sum(Action::writes)),
            bytes(self.bytes),
            job.root().display()
        );
        for (what, n) in [
            (["folder is there already", "folders are there already"], self.by_action[Action::Keep as usize]),
            (["would be skipped"; 2], self.by_action[Action::Skip as usize]),
            (["would fail or be refused"; 2], self.sum(Action::is_failure)),
        ] {
            if n > 0 {
                text += &format!("; {}", counted(n, what[0], what[1]));
            }
        }
        text + "; nothing was touched"
    }

    fn exit_code(&self, read: &Read) -> u8 {
        match self.sum(Action::is_failure) {
            _ if read.is_cut_short() => UNREADABLE,
            0 if read.wrong_patterns().is_empty() => 0,
            _ => INCOMPLETE,
        }
    }
}

fn object(job: &dyn Job, read: &Read, tally: &Tally, lines: Vec<Value>, exit_code: u8) -> Value {
    let mut object = Map::new();
    object.insert("command".into(), job.words().command.into());
    object.insert("status".into(), "dry_run".into());
    object.insert("exit_code".into(), exit_code.into());
    json_path(&mut object, "destination", job.root());
    object.insert(job.words().sources.into(), json_sources(&read.sources));
    let by_action =
        Action::ALL.into_iter().map(|action| (name(action).into(), tally.by_action[action as usize].into()));
    object.insert("actions".into(), Value::Object(by_action.collect()));
    object.insert("bytes".into(), tally.bytes.into());
    object.insert("unmatched".into(), read.wrong_patterns().into());
    object.insert("entries".into(), lines.into());
    object.into()
}

fn to_json(line: &Line) -> Value {
    let mut object = Map::new();
    object.insert("action".into(), name(line.action).into());
    json_path(&mut object, "path", &line.path);
    object.insert("kind".into(), line.kind.map(kind_name).into());
    object.insert("bytes".into(), line.bytes.into());
    object.insert("why".into(), line.why.clone().into());
    object.into()
}

fn name(action: Action) -> &'static str {
    match action {
        Action::Create => "create",
        Action::Keep => "keep",
        Action::Skip => "skip",
        Action::Compare => "compare",
        Action::Overwrite => "overwrite",
        Action::Replace => "replace",
        Action::Rename => "rename",
        Action::Ask => "ask",
        Action::Conflict => "conflict",
        Action::Refuse => "refuse",
        Action::Fail => "fail",
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Folder => "folder",
        Kind::Symlink => "symlink",
        Kind::HardLink => "hard_link",
        Kind::Node => "node",
    }
}
