//! `manyfiles copy --mirror SRC DST`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use manyfiles::tree::{Difference, Differences, Durability, EntryKind, Mirror, MirrorProgress, Mirrored, What};
use manyfiles::{Error, Operation};
use serde_json::{Map, Value, json};

use super::can_resume;
use super::target::parent_is_there;
use crate::args;
use crate::filter::Filter;
use crate::human::{bytes, count, counted, duration, entries, one_line};
use crate::report::{
    INCOMPLETE, Lines, UNREADABLE, json_failure, json_path, not_kept, print_json, resumed, tell_cannot_begin,
};
use crate::stop::Stop;
use crate::terminal::{Failures, Screen, Showing};
use crate::words::{CannotBegin, Words};

const WORDS: Words = Words { command: "copy", done: "mirrored", sources: "sources" };

pub(crate) fn run(args: &args::Copy) -> ExitCode {
    let begun = check(args).and_then(|(source, target)| {
        let filter = args.options.filter().map_err(CannotBegin::because)?;
        let stop = Stop::on_signals()
            .map_err(|error| CannotBegin::because(format_args!("cannot listen for signals: {error}")))?;
        mirror(args, source, target, filter, &stop)
    });
    begun.unwrap_or_else(|why| tell_cannot_begin(WORDS, &why, args.options.json))
}

/// The two folders.
fn check(args: &args::Copy) -> Result<(&Path, &Path), CannotBegin> {
    can_resume(args)?;
    let [source, target] = args.paths.as_slice() else {
        return Err(CannotBegin::because(format_args!(
            "a mirror has one source and one destination, and {} given: manyfiles copy --mirror SRC DST",
            counted(args.paths.len() as u64, "path is", "paths are")
        )));
    };
    let metadata = fs::metadata(source)
        .map_err(|error| CannotBegin::because(format_args!("cannot read {}: {error}", source.display())))?;
    if !metadata.is_dir() {
        let source = source.display();
        return Err(CannotBegin::because(format_args!("{source} is not a folder, and a mirror is made of folders")));
    }
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !args.make_parents => parent_is_there(target)?,
        _ => {} // Other errors are told when it is opened.
    }
    Ok((source, target))
}

fn mirror(
    args: &args::Copy,
    source: &Path,
    target: &Path,
    filter: Filter,
    stop: &Stop,
) -> Result<ExitCode, CannotBegin> {
    let cancel = Arc::new(AtomicBool::new(false));
    let cancelled = cancel.clone();
    stop.attach(move || cancelled.store(true, Relaxed));
    let (screen, progress) = (Arc::new(Screen::of(stop)), MirrorProgress::new());
    let mirror = choices(args, filter).cancel(cancel).progress(progress.clone());
    let started = Instant::now();
    let showing = Showing::start(screen.clone(), args.options.progress, move |_| (None, so_far(&progress)));
    let mut outcome = Outcome { screen, ..Outcome::default() };
    match mirror.compare(source, target) {
        Ok(found) if args.options.dry_run => {
            drop(showing);
            return Ok(list(&found, args));
        }
        Ok(found) => match found.apply() {
            Ok(mirrored) => outcome.mirrored = mirrored,
            Err(not) => {
                outcome.failures = not.errors().iter().cloned().collect();
                outcome.mirrored = not.into_mirrored();
            }
        },
        Err(errors) => outcome.failures = errors.into_iter().collect(),
    }
    drop(showing);
    outcome.signal = stop.signal();
    outcome.elapsed = started.elapsed();
    Ok(outcome.tell(args, target))
}

fn choices(args: &args::Copy, filter: Filter) -> Mirror {
    let options = &args.options;
    let durability = if options.fsync { Durability::AtFinish } else { Durability::None };
    let mut mirror = Mirror::new()
        .by_content(args.by_content)
        .find_moved(!args.copy_moved)
        .one_file_system(args.one_file_system)
        .owners(options.same_owner)
        .keep(args.keeping.keep(options.same_owner))
        .set_id(options.set_id || args.keeping.archive)
        .special_files(options.special_files || args.keeping.archive)
        .resume(args.resume)
        .durability(durability);
    if let Some(names) = args.max_delete {
        mirror = mirror.max_delete(names);
    }
    if options.jobs > 0 {
        mirror = mirror.threads(options.jobs);
    }
    if filter.is_open() { mirror } else { mirror.exclude(move |path| filter.excludes(path)) }
}

/// `81,204 entries compared, 312 written (4.1 MB), 17 removed`
fn so_far(progress: &MirrorProgress) -> String {
    let mut text = format!("{} compared", entries(progress.compared()));
    let ((written, amount), removed) = (progress.written(), progress.removed());
    if written > 0 {
        text += &format!(", {} written ({})", count(written), bytes(amount));
    }
    if removed > 0 {
        text += &format!(", {} removed", count(removed));
    }
    text
}

/// A letter for how something differs.
fn letter(what: &What) -> char {
    match what {
        What::New => '+',
        What::Content => '>',
        What::Metadata => 'p',
        What::Link(_) => 'l',
        What::Moved(_) => 'm',
        What::Kind => '!',
        What::Extra => '-',
        _ => '?',
    }
}

/// The path, with a separator behind that of a folder.
fn shown(difference: &Difference) -> String {
    let path = match difference.path.as_os_str().is_empty() {
        true => ".".into(),
        false => difference.path.to_string_lossy(),
    };
    let end = if difference.kind == EntryKind::Folder { "/" } else { "" };
    match &difference.what {
        What::Link(first) => format!("{path} -> {}", first.display()),
        What::Moved(old) => format!("{} -> {path}", old.display()),
        _ => format!("{path}{end}"),
    }
}

/// Says what would be done.
fn list(found: &Differences, args: &args::Copy) -> ExitCode {
    let code = if found.failures().is_empty() { 0 } else { INCOMPLETE };
    let screen = Arc::new(Screen::default());
    let mut failures = Failures::new(args.options.verbose >= 1);
    failures.name(&screen, found.failures().iter());
    screen.say_all(failures.counted());
    if args.options.json {
        return print_json(&plan(found), code);
    }
    let mut lines = Lines::new(screen.clone());
    for difference in found.iter() {
        lines.print(format!("{} {}\n", letter(&difference.what), one_line(&shown(difference))));
    }
    let code = lines.end(code);
    if !args.options.quiet {
        let (differ, same) = (found.iter().count() as u64, found.unchanged());
        screen.say(format_args!(
            "{}, {} to remove; {} are the same; nothing was touched",
            counted(differ, "difference", "differences"),
            entries(found.removals()),
            count(same)
        ));
    }
    code
}

fn plan(found: &Differences) -> Value {
    let what = |difference: &Difference| match difference.what {
        What::New => "new",
        What::Content => "content",
        What::Metadata => "metadata",
        What::Link(_) => "link",
        What::Moved(_) => "moved",
        What::Kind => "kind",
        What::Extra => "extra",
        _ => "other",
    };
    let kind = |difference: &Difference| match difference.kind {
        EntryKind::File => "file",
        EntryKind::Folder => "folder",
        EntryKind::Symlink => "symlink",
        _ => "node",
    };
    let differences = found.iter().map(|difference| {
        let mut object = Map::new();
        json_path(&mut object, "path", &difference.path);
        object.insert("what".into(), what(difference).into());
        object.insert("kind".into(), kind(difference).into());
        object.insert("bytes".into(), difference.len.into());
        if let What::Moved(old) = &difference.what {
            json_path(&mut object, "from", old);
        }
        Value::from(object)
    });
    json!({
        "command": WORDS.command,
        "status": "dry_run",
        "differences": differences.collect::<Vec<_>>(),
        "removals": found.removals(),
        "unchanged": found.unchanged(),
        "failures": found.failures().iter().map(json_failure).collect::<Vec<_>>(),
    })
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    mirrored: Mirrored,
    failures: Vec<Error>,
    signal: Option<i32>,
    elapsed: Duration,
    screen: Arc<Screen>,
}

impl Outcome {
    fn exit_code(&self) -> u8 {
        match self.signal {
            Some(signal) => 128 + signal as u8,
            None if self.failures.is_empty() => 0,
            None if self.is_untouched() => UNREADABLE,
            None => INCOMPLETE,
        }
    }

    fn is_untouched(&self) -> bool {
        !self.mirrored.begun
    }

    fn written(&self) -> u64 {
        let written = &self.mirrored.written;
        written.files + written.folders + written.symlinks + written.hard_links + written.nodes
    }

    fn removed(&self) -> u64 {
        self.mirrored.removed.files + self.mirrored.removed.folders
    }

    fn tell(&self, args: &args::Copy, target: &Path) -> ExitCode {
        let mut failures = Failures::new(args.options.verbose >= 1);
        failures.name(&self.screen, self.failures.iter());
        self.screen.say_all(failures.counted());
        if !args.options.quiet {
            self.screen.say_all(self.summary(target));
        }
        let code = self.exit_code();
        if args.options.json { print_json(&self.object(target, code), code) } else { code.into() }
    }

    /// `mirrored into DST in 0.35 s: 12 entries written (40 kB), 3 removed, 83,717 were the same`
    fn summary(&self, target: &Path) -> Vec<String> {
        let (mirrored, to) = (&self.mirrored, target.display());
        let did = format!(
            "{} written ({}), {}{} removed, {} were the same",
            entries(self.written()),
            bytes(mirrored.written.bytes),
            if mirrored.moved > 0 { format!("{} moved, ", count(mirrored.moved)) } else { String::new() },
            count(self.removed()),
            count(mirrored.unchanged),
        );
        let took = duration(self.elapsed);
        let mut lines = vec![match (self.signal, self.failures.is_empty()) {
            (Some(_), _) => format!("interrupted after {took}: {did}; run it again to go on from there"),
            (None, true) if mirrored.not_linked > 0 => format!("{to} is equal now but for links, after {took}: {did}"),
            (None, true) => format!("{to} is equal now, after {took}: {did}"),
            (None, false) if self.is_untouched() => format!("{to} is as it was"),
            (None, false) => format!("{to} is not equal yet, after {took}: {did}"),
        }];
        let is_refused = self.failures.iter().any(|failure| failure.operation() == Operation::Remove);
        if is_refused && self.is_untouched() {
            lines.push("--max-delete N says how many names may be removed".into());
        }
        if mirrored.not_linked > 0 {
            let names = counted(mirrored.not_linked, "further name of a file is", "further names of files are");
            lines.push(format!("{names} a copy, because {to} cannot link it; the next run copies it again"));
        }
        if mirrored.kept > 0 {
            let kept = entries(mirrored.kept);
            lines.push(format!("{kept} only in {to} not removed, because something else was not done"));
        }
        if !mirrored.left_out.is_empty() {
            let left_out =
                counted(mirrored.left_out.len() as u64, "device, FIFO or socket", "devices, FIFOs and sockets");
            lines.push(format!("{left_out} left out; --special-files makes devices and FIFOs"));
        }
        lines.extend(resumed(&mirrored.written));
        lines.extend(not_kept(&mirrored.written.not_kept));
        if !self.failures.is_empty() && !self.is_untouched() {
            lines.push(format!("{} failed, as said above; what arrived stays", count(self.failures.len() as u64)));
        }
        lines
    }

    fn object(&self, target: &Path, code: u8) -> Value {
        let mut object = Map::new();
        object.insert("command".into(), WORDS.command.into());
        let status = match code {
            0 => "complete",
            INCOMPLETE => "incomplete",
            UNREADABLE => "not_begun",
            _ => "stopped",
        };
        object.insert("status".into(), status.into());
        object.insert("exit_code".into(), code.into());
        json_path(&mut object, "destination", target);
        let (written, removed) = (&self.mirrored.written, &self.mirrored.removed);
        for (key, number) in [
            ("files", written.files),
            ("folders", written.folders),
            ("symlinks", written.symlinks),
            ("hard_links", written.hard_links),
            ("nodes", written.nodes),
            ("bytes", written.bytes),
            ("moved", self.mirrored.moved),
            ("unchanged", self.mirrored.unchanged),
            ("removed", removed.files + removed.folders),
            ("not_removed", self.mirrored.kept),
            ("not_linked", self.mirrored.not_linked),
            ("left_out", self.mirrored.left_out.len() as u64),
            ("not_kept", written.not_kept.entries),
            ("resumed", written.resumed),
            ("resumed_bytes", written.resumed_bytes),
            ("partial", written.partial),
        ] {
            object.insert(key.into(), number.into());
        }
        object.insert("failures".into(), self.failures.iter().map(json_failure).collect());
        object.insert("signal".into(), self.signal.into());
        object.insert("seconds".into(), ((self.elapsed.as_secs_f64() * 1e6).round() / 1e6).into());
        object.into()
    }
}
