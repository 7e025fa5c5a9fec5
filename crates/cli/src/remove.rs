//! `manyfiles remove PATH…`.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use manyfiles::tree::{Removal, RemovalProgress};
use manyfiles::{Error, Operation};
use serde_json::{Map, Value};

use crate::args;
use crate::filter::Filter;
use crate::human::{count, counted, duration, entries, one_line, per_second};
use crate::report::{INCOMPLETE, Lines, json_failure, print_json, tell_cannot_begin};
use crate::stop::Stop;
use crate::sys::{self, FileId};
use crate::terminal::{Failures, Screen, Showing};
use crate::walk::{self, Order};
use crate::words::{CannotBegin, Words};

const WORDS: Words = Words { command: "remove", done: "removed", sources: "paths" };

/// EPERM of Unix: not even the rights of a folder would help.
const NOT_PERMITTED: i32 = if cfg!(unix) { 1 } else { i32::MIN };

pub(crate) fn run(args: &args::Remove) -> ExitCode {
    let begun = check(args).and_then(|paths| {
        let filter = Filter::new(&[], &args.exclude).map_err(CannotBegin::because)?;
        match (args.dry_run, args.trash) {
            (true, _) => Ok(list(&paths, &filter, args.force)),
            (false, true) => Ok(trash(&paths).tell(args)),
            (false, false) => Ok(remove(args, &paths, filter)?.tell(args)),
        }
    });
    begun.unwrap_or_else(|why| tell_cannot_begin(WORDS, &why, args.json))
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    files: u64,
    folders: u64,
    kept: u64,
    trashed: u64,
    failures: Vec<Error>,
    signal: Option<i32>,
    elapsed: Duration,
    screen: Arc<Screen>,
}

/// The paths that are there. Everything is looked at before anything is removed.
fn check(args: &args::Remove) -> Result<Vec<&Path>, CannotBegin> {
    let current = Current {
        path: std::env::current_dir().and_then(fs::canonicalize).ok(),
        ids: sys::current_and_above().unwrap_or_default(),
        root: Path::new("/").metadata().ok().and_then(|root| sys::file_id(Path::new("/"), &root)),
    };
    let (mut there, mut wrong) = (Vec::new(), Vec::new());
    for path in &args.paths {
        match refused(path, &current) {
            Ok(None) => there.push(path.as_path()),
            Ok(Some(why)) => wrong.push(format!("{}: {why}", path.display())),
            Err(error) if args.force && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => wrong.push(format!("cannot remove {}: {error}", path.display())),
        }
    }
    if wrong.is_empty() { Ok(there) } else { Err(CannotBegin(wrong)) }
}

/// Where this process is. A path does not tell alone: a folder that is mounted a second time has two. A folder that
/// cannot be asked is known by its path, as all are on Windows.
struct Current {
    path: Option<PathBuf>,
    /// Those above it, too.
    ids: Vec<FileId>,
    root: Option<FileId>,
}

impl Current {
    fn is_in(&self, real: &Path, id: Option<FileId>) -> bool {
        self.path.as_ref().is_some_and(|path| path.starts_with(real)) || id.is_some_and(|id| self.ids.contains(&id))
    }
}

/// Why nobody can mean to remove that.
fn refused(path: &Path, current: &Current) -> io::Result<Option<&'static str>> {
    let text = path.as_os_str().as_encoded_bytes();
    let is_separator = |byte: &u8| byte.is_ascii() && std::path::is_separator((*byte).into());
    // With a separator behind it, a link would be looked through.
    let end = text.iter().rposition(|byte| !is_separator(byte)).map_or(text.len(), |at| at + 1);
    let last = text[..end].rsplit(is_separator).next();
    let metadata = match path.file_name() {
        Some(name) if last == Some(name.as_encoded_bytes()) => fs::symlink_metadata(path.with_file_name(name))?,
        _ => fs::metadata(path)?,
    };
    if !metadata.is_dir() {
        return Ok((end < text.len()).then_some("this is no folder; leave the separator at the end out"));
    }
    let real = fs::canonicalize(path)?;
    let id = sys::file_id(&real, &metadata);
    Ok(match () {
        () if real.parent().is_none() || (id.is_some() && id == current.root) => {
            Some("this is the root; it is not removed")
        }
        () if current.is_in(&real, id) => {
            Some("the current folder is in it; go elsewhere first, and then remove it by its name")
        }
        () if matches!(last, Some(b"." | b"..")) => Some("give the folder by its name"),
        () => None,
    })
}

fn remove(args: &args::Remove, paths: &[&Path], filter: Filter) -> Result<Outcome, CannotBegin> {
    let stop =
        Stop::on_signals().map_err(|error| CannotBegin::because(format_args!("cannot listen for signals: {error}")))?;
    let cancel = Arc::new(AtomicBool::new(false));
    let cancelled = cancel.clone();
    stop.attach(move || cancelled.store(true, Relaxed));
    let started = Instant::now();
    let screen = Arc::new(Screen::of(&stop));
    let progress = RemovalProgress::new();
    let seen = progress.clone();
    let showing = Showing::start(screen.clone(), args.progress, move |elapsed| {
        let done = seen.removed();
        (None, format!("{} removed, {} a second", entries(done), count(per_second(done, elapsed))))
    });
    let mut removal =
        Removal::new().force(args.force).across_mounts(args.across_mounts).cancel(cancel).progress(progress);
    if args.jobs > 0 {
        removal = removal.threads(args.jobs);
    }
    if !filter.is_open() {
        removal = removal.keep(move |path| filter.excludes(path));
    }
    let mut outcome = Outcome { screen: screen.clone(), ..Outcome::default() };
    for path in paths {
        let mut removal = removal.clone();
        if args.verbose >= 2 {
            let (screen, root) = (screen.clone(), path.to_path_buf());
            removal = removal.on_removed(move |path| {
                let path = if path.as_os_str().is_empty() { root.clone() } else { root.join(path) };
                screen.print(&format!("{}\n", one_line(&path.to_string_lossy())));
            });
        }
        let removed = removal.remove(path).unwrap_or_else(|error| error.into_removed());
        outcome.files += removed.files;
        outcome.folders += removed.folders;
        outcome.kept += removed.kept;
        // It was there before: it was in a path that was removed before this one.
        let is_gone = |failure: &Error| failure.kind() == io::ErrorKind::NotFound && failure.path() == Some(*path);
        outcome.failures.extend(removed.failures.into_iter().filter(|failure| !is_gone(failure)));
        if removed.cancelled {
            outcome.signal = stop.signal();
            break;
        }
    }
    drop(showing);
    outcome.elapsed = started.elapsed();
    Ok(outcome)
}

fn trash(paths: &[&Path]) -> Outcome {
    let started = Instant::now();
    let mut outcome = Outcome::default();
    for path in paths {
        match sys::trash(path) {
            Ok(()) => outcome.trashed += 1,
            Err(error) => outcome.failures.push(Error::new(Operation::Remove, *path, error)),
        }
    }
    outcome.elapsed = started.elapsed();
    outcome
}

/// Prints what would be removed, folders before what is in them.
fn list(paths: &[&Path], filter: &Filter, force: bool) -> ExitCode {
    let screen = Arc::new(Screen::default());
    let mut lines = Lines::new(screen.clone());
    let (mut found, mut closed, mut failed) = (0, 0, false);
    for path in paths {
        let mut visit = |entry: manyfiles::Result<&walk::Found>| {
            match entry {
                Ok(entry) if entry.below != Path::new(".") && filter.excludes(&*entry.below) => {
                    return ControlFlow::Continue(false);
                }
                Ok(entry) => {
                    found += 1;
                    lines.print(format!("{}\n", one_line(&entry.source.to_string_lossy())));
                }
                Err(error) => {
                    // It is no failure of the run that takes the right.
                    let is_closed = force && error.path().is_some_and(is_closed_and_own);
                    closed += u64::from(is_closed);
                    failed |= !is_closed;
                    match is_closed {
                        true => lines.warn(format_args!("{error}: what is in it is not listed; --force removes it")),
                        false => lines.leave_out(error),
                    }
                }
            }
            ControlFlow::Continue(true)
        };
        if walk::walk(path, path, None, Order::ByName, &mut visit).is_break() {
            break;
        }
    }
    let code = lines.end(if failed { INCOMPLETE } else { 0 });
    let more = match closed {
        0 => String::new(),
        _ => format!(
            " and what is in {}",
            counted(closed, "folder that cannot be listed", "folders that cannot be listed")
        ),
    };
    screen.say(format_args!("would remove {}{more}; nothing was touched", entries(found)));
    code
}

/// Whether it is a folder whose rights this user can take.
fn is_closed_and_own(path: &Path) -> bool {
    let metadata = path.symlink_metadata();
    metadata.is_ok_and(|it| it.is_dir() && sys::owner(&it).is_some_and(|(user, _)| user == sys::own_ids().0))
}

impl Outcome {
    fn exit_code(&self) -> u8 {
        match self.signal {
            Some(signal) => 128 + signal as u8,
            None if self.failures.is_empty() => 0,
            None => INCOMPLETE,
        }
    }

    fn tell(&self, args: &args::Remove) -> ExitCode {
        let mut failures = Failures::new(args.verbose >= 1);
        failures.name(&self.screen, self.failures.iter());
        self.screen.say_all(failures.counted());
        if !args.quiet {
            self.screen.say_all(self.summary(args));
        }
        let code = self.exit_code();
        if args.json { print_json(&self.object(code), code) } else { code.into() }
    }

    /// `removed 83,732 entries in 0.35 s (239,000 a second)`, and what stays.
    fn summary(&self, args: &args::Remove) -> Vec<String> {
        if args.trash {
            let trashed = counted(self.trashed, "path", "paths");
            return vec![format!("moved {trashed} to the trash in {}", duration(self.elapsed))];
        }
        let removed = self.files + self.folders;
        let rate = match per_second(removed, self.elapsed) {
            rate if self.elapsed >= Duration::from_millis(10) => format!(" ({} a second)", count(rate)),
            _ => String::new(),
        };
        let stopped = if self.signal.is_some() { "interrupted: " } else { "" };
        let mut lines = vec![format!("{stopped}removed {} in {}{rate}", entries(removed), duration(self.elapsed))];
        if self.kept > 0 {
            lines.push(format!("{} kept, as --exclude asks", entries(self.kept)));
        }
        if !self.failures.is_empty() {
            lines.push(format!("{} could not be removed, as said above", entries(self.failures.len() as u64)));
        }
        let any = |kind| self.failures.iter().any(|failure| failure.kind() == kind);
        let says = |number| self.failures.iter().any(|failure| failure.raw_os_error() == Some(number));
        if !args.force && any(io::ErrorKind::PermissionDenied) && !says(NOT_PERMITTED) {
            lines.push("if the folders are yours: --force takes the rights that they forbid".into());
        }
        if says(NOT_PERMITTED) {
            lines.push(
                "'not permitted': another user's in a folder such as /tmp, or immutable (lsattr, chattr -i)".into(),
            );
        }
        if !args.across_mounts && any(io::ErrorKind::CrossesDevices) {
            lines.push("what is mounted stays: unmount it, or empty it with --across-mounts".into());
        }
        lines
    }

    fn object(&self, code: u8) -> Value {
        let mut object = Map::new();
        object.insert("command".into(), WORDS.command.into());
        let status = match code {
            0 => "complete",
            INCOMPLETE => "incomplete",
            _ => "stopped",
        };
        object.insert("status".into(), status.into());
        object.insert("exit_code".into(), code.into());
        object.insert("files".into(), self.files.into());
        object.insert("folders".into(), self.folders.into());
        object.insert("kept".into(), self.kept.into());
        object.insert("trashed".into(), self.trashed.into());
        object.insert("failures".into(), self.failures.iter().map(json_failure).collect());
        object.insert("signal".into(), self.signal.into());
        object.insert("seconds".into(), ((self.elapsed.as_secs_f64() * 1e6).round() / 1e6).into());
        object.into()
    }
}
