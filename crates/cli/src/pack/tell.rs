//! What came of packing: lines for people, one JSON object for programs, an exit status for both.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use manyfiles::Operation;
use manyfiles_archive::{NotWritten, WriterProgress, Written};
use serde_json::{Map, Value};

use super::hand_over::Packed;
use super::{WORDS, is_stdout};
use crate::args;
use crate::human::{bytes, count, counted, duration, entries, per_second};
use crate::report::{INCOMPLETE, UNREADABLE, json_failure, json_path, print_json, sockets_skipped};
use crate::terminal::{Failures, Screen};

/// Packing that is over.
pub(super) struct Outcome {
    pub path: PathBuf,
    pub end: End,
    pub report: Packed,
    pub unmatched: Vec<String>,
    pub elapsed: Duration,
    pub screen: Arc<Screen>,
}

pub(super) enum End {
    Written(Result<Written, NotWritten>),
    /// By this signal.
    Stopped(i32),
}

/// What a progress bar shows.
pub(super) fn seen(progress: WriterProgress) -> impl Fn(Duration) -> (Option<f64>, String) + Send + 'static {
    move |elapsed| {
        let (read, written) = (progress.bytes(), progress.archive_bytes());
        let rate = bytes(per_second(read, elapsed));
        (None, format!("{}, {} read, {rate}/s, {} written", entries(progress.entries()), bytes(read), bytes(written)))
    }
}

impl Outcome {
    fn written(&self) -> Option<&Written> {
        match &self.end {
            End::Written(Ok(written)) => Some(written),
            End::Written(Err(NotWritten::Entries(written))) => Some(written),
            End::Written(Err(NotWritten::Archive(_))) | End::Stopped(_) => None,
        }
    }

    fn exit_code(&self) -> u8 {
        match &self.end {
            End::Stopped(signal) => 128 + *signal as u8,
            End::Written(Ok(_)) if self.unmatched.is_empty() => 0,
            End::Written(Ok(_) | Err(NotWritten::Entries(_))) => INCOMPLETE,
            End::Written(Err(NotWritten::Archive(_))) => UNREADABLE,
        }
    }

    /// Tells it, and gives the exit status.
    pub(super) fn tell(&self, args: &args::Pack) -> ExitCode {
        let mut failures = Failures::new(args.verbose >= 1);
        if let Some(written) = self.written() {
            failures.name(&self.screen, written.failures.iter());
        }
        self.screen.say_all(failures.counted());
        match &self.end {
            End::Written(Err(NotWritten::Archive(error))) => {
                self.screen.say(format_args!("{error}; no archive was written"));
            }
            End::Stopped(_) => self.screen.say("interrupted: no archive was written"),
            End::Written(_) => {}
        }
        let nothing_matches = |pattern| format!("--include {pattern}: nothing matches this pattern");
        self.screen.say_all(self.unmatched.iter().map(nothing_matches));
        if !args.quiet {
            self.screen.say_all(self.summary());
        }
        let code = self.exit_code();
        if args.json { print_json(&self.object(code), code) } else { code.into() }
    }

    /// `packed 12,345 entries, 1.2 GB in 0.71 s (1.7 GB a second) into a.tar.zst (310 MB, 26 %)`
    fn summary(&self) -> Vec<String> {
        let Some(written) = self.written() else { return Vec::new() };
        let mut lines = vec![format!(
            "packed {}, {} in {}{} into {} ({}{})",
            entries(written.entries()),
            bytes(written.bytes),
            duration(self.elapsed),
            self.rates(written),
            name(&self.path),
            bytes(written.archive_bytes),
            share(written),
        )];
        lines.extend(sockets_skipped(&self.report.sockets));
        if written.not_kept > 0 {
            let (have, which) = if written.not_kept == 1 { ("has", "is") } else { ("have", "are") };
            lines.push(format!(
                "{} {have} extended attributes or access control lists that {which} not kept",
                entries(written.not_kept)
            ));
        }
        if self.report.ignored > 0 {
            lines.push(format!("{} left out, because git ignores them", entries(self.report.ignored)));
        }
        let failed = written.failures.iter().filter(|error| error.operation() != Operation::Sync).count() as u64;
        if failed > 0 {
            lines.push(format!(
                "{} not packed as they are, as said above",
                counted(failed, "entry was", "entries were")
            ));
        }
        lines
    }

    /// Empty for runs that are too short for a rate.
    fn rates(&self, written: &Written) -> String {
        if self.elapsed < Duration::from_millis(10) {
            return String::new();
        }
        let (entries, content) = (written.entries(), written.bytes);
        let entries = count(per_second(entries, self.elapsed));
        format!(" ({entries} entries and {} a second)", bytes(per_second(content, self.elapsed)))
    }

    fn object(&self, code: u8) -> Value {
        let mut object = Map::new();
        object.insert("command".into(), WORDS.command.into());
        let status = match &self.end {
            End::Stopped(_) => "stopped",
            End::Written(Err(NotWritten::Archive(_))) => "not_written",
            End::Written(_) if code == 0 => "complete",
            End::Written(_) => "incomplete",
        };
        object.insert("status".into(), status.into());
        object.insert("exit_code".into(), code.into());
        json_path(&mut object, "archive", &self.path);
        let written = self.written();
        object.insert("format".into(), written.map(|written| written.format.to_string()).into());
        for (key, count) in [
            ("files", written.map(|written| written.files)),
            ("folders", written.map(|written| written.folders)),
            ("symlinks", written.map(|written| written.symlinks)),
            ("hard_links", written.map(|written| written.hard_links)),
            ("nodes", written.map(|written| written.nodes)),
            ("bytes", written.map(|written| written.bytes)),
            ("archive_bytes", written.map(|written| written.archive_bytes)),
        ] {
            object.insert(key.into(), count.into());
        }
        let failures: Vec<_> = match &self.end {
            End::Written(Err(NotWritten::Archive(error))) => vec![json_failure(error)],
            _ => written.into_iter().flat_map(|written| &written.failures).map(json_failure).collect(),
        };
        object.insert("failures".into(), failures.into());
        let socket = |path: &PathBuf| {
            let mut object = Map::new();
            json_path(&mut object, "path", path);
            Value::from(object)
        };
        object.insert("sockets".into(), self.report.sockets.iter().map(socket).collect());
        object.insert("not_kept".into(), self.written().map_or(0, |written| written.not_kept).into());
        object.insert("ignored".into(), self.report.ignored.into());
        object.insert("unmatched".into(), self.unmatched.clone().into());
        let signal = if let End::Stopped(signal) = self.end { Some(signal) } else { None };
        object.insert("signal".into(), signal.into());
        object.insert("seconds".into(), ((self.elapsed.as_secs_f64() * 1e6).round() / 1e6).into());
        object.into()
    }
}

fn name(path: &Path) -> String {
    if is_stdout(path) { "standard output".into() } else { path.display().to_string() }
}

/// How large the archive is compared with its content.
fn share(written: &Written) -> String {
    match written.bytes {
        0 => String::new(),
        content => format!(", {:.0} %", written.archive_bytes as f64 / content as f64 * 100.0),
    }
}
