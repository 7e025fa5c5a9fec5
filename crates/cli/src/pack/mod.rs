//! `manyfiles pack SRC… ARCHIVE`.
//!
//! [`mod@place`] gives each source its path in the archive; [`crate::walk`] finds the entries; [`ignored`] knows what
//! git leaves out; [`hand_over`] gives each entry to the archive; [`tell`] says what came of it.

mod hand_over;
mod ignored;
mod place;
mod tell;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use manyfiles_archive::{ArchiveWriter, Format, NotWritten, WriterProgress};

use crate::args;
use crate::filter::Filter;
use crate::listed;
use crate::report::tell_cannot_begin;
use crate::stop::{InterruptibleOutput, Stop};
use crate::sys;
use crate::terminal::{Screen, Showing};
use crate::walk::{self, Order};
use crate::words::{CannotBegin, Words};
use hand_over::{HandOver, fixed_time};
use place::{Placed, place};
use tell::{End, Outcome};

const WORDS: Words = Words { command: "pack", done: "packed", sources: "sources" };

pub(crate) fn run(args: args::Pack) -> ExitCode {
    match pack(&args) {
        Ok(outcome) => outcome.tell(&args),
        Err(why) => tell_cannot_begin(WORDS, &why, args.json),
    }
}

fn pack(args: &args::Pack) -> Result<Outcome, CannotBegin> {
    let filter = Filter::listed((&args.include, &args.include_from), (&args.exclude, &args.exclude_from))
        .map_err(CannotBegin::because)?;
    let listed = match &args.files_from {
        Some(file) => listed::paths(file, args.null).map_err(CannotBegin::because)?,
        None => Vec::new(),
    };
    let (path, sources) = match args.paths.split_last() {
        Some((path, sources)) if !sources.is_empty() || args.files_from.is_some() => {
            (path, [sources, &listed].concat())
        }
        _ => {
            let only = args.paths.first().map_or("nothing".into(), |path| path.display().to_string());
            return Err(CannotBegin::because(format_args!(
                "only {only} is given, and packing needs sources and an archive: manyfiles pack SRC... ARCHIVE"
            )));
        }
    };
    let placed = place(&sources, &args.directory).map_err(CannotBegin)?;
    are_there(&placed)?;
    let time = args.reproducible.then(fixed_time).transpose().map_err(CannotBegin::because)?;
    let stop =
        Stop::on_signals().map_err(|error| CannotBegin::because(format_args!("cannot listen for signals: {error}")))?;
    let started = Instant::now();
    let progress = WriterProgress::new();
    let archive = begin(args, path, progress.clone(), &stop)?;
    if archive.format() == Format::Zip && (args.archive || args.xattrs || args.acls) {
        return Err(CannotBegin::because(
            "a zip keeps neither extended attributes nor access control lists; leave out --archive, --xattrs and --acls, \
             or pack a tar",
        ));
    }
    let canceller = archive.canceller();
    stop.attach(move || canceller.cancel());
    let screen = Arc::new(Screen::of(&stop));
    if !args.quiet {
        screen.say_all(placed.iter().filter_map(renamed));
    }
    let showing = Showing::start(screen.clone(), args.progress, tell::seen(progress));
    let mut hand_over = HandOver::new(&archive, args, &filter, screen.clone(), &stop);
    hand_over.time = time;
    hand_over.partial = archive.partial_path().and_then(id);
    hand_over.replaced = if is_stdout(path) { sys::stdout_id() } else { id(path) };
    for source in &placed {
        let mut visit = |found: manyfiles::Result<&walk::Found>| hand_over.found(found);
        if walk::walk(&source.source, &source.path, None, Order::ByName, &mut visit).is_break() {
            break;
        }
    }
    let (report, warnings) = (hand_over.report, hand_over.ignored.map(|ignored| ignored.warnings));
    let end = match (archive.finish(), stop.signal()) {
        (Err(NotWritten::Archive(_)), Some(signal)) => End::Stopped(signal),
        (written, _) => End::Written(written),
    };
    drop(showing);
    screen.say_all(warnings.unwrap_or_default());
    let unmatched = if matches!(end, End::Stopped(_)) { Vec::new() } else { filter.unmatched() };
    Ok(Outcome { path: path.clone(), end, report, unmatched, elapsed: started.elapsed(), screen })
}

/// Which file a path leads to, if there is one.
fn id(path: &Path) -> Option<sys::FileId> {
    sys::file_id(path, &std::fs::metadata(path).ok()?)
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Each source that is not there is named, before anything is written.
fn are_there(placed: &[Placed]) -> Result<(), CannotBegin> {
    let wrong: Vec<_> = placed
        .iter()
        .filter_map(|placed| {
            let error = std::fs::symlink_metadata(&placed.source).err()?;
            Some(format!("cannot read {}: {error}", placed.source.display()))
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(CannotBegin(wrong)) }
}

/// That the paths in the archive do not begin as the source was given.
fn renamed(placed: &Placed) -> Option<String> {
    let as_given = placed.given.strip_prefix(".").unwrap_or(&placed.given);
    let is_same = placed.path == Path::new(".") || placed.path == as_given;
    let (given, path) = (placed.given.display(), placed.path.display());
    (!is_same).then(|| format!("{given}: called {path} in the archive"))
}

fn begin(args: &args::Pack, path: &Path, progress: WriterProgress, stop: &Stop) -> Result<ArchiveWriter, CannotBegin> {
    let mut options = ArchiveWriter::options()
        .replace(args.force)
        .durable(args.fsync)
        .verify(args.verify)
        .utc(args.reproducible)
        .holes(!args.reproducible)
        .owner_names(!args.reproducible && !args.numeric_owner)
        .progress(progress);
    if let Some(format) = args.format {
        options = options.format(format.into());
    }
    if let Some(level) = args.level {
        options = options.level(level);
    }
    if args.jobs > 0 {
        options = options.threads(args.jobs);
    }
    if !is_stdout(path) {
        return options.create(path).map_err(|error| {
            let mut lines = vec![error.to_string()];
            if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_file() && !args.force {
                lines.push("--force replaces it, once the new one is whole".into());
            }
            if path.is_dir() {
                let name = path.join("NAME.tar.zst");
                lines.push(format!("the archive comes last; in this folder: {}", name.display()));
            }
            CannotBegin(lines)
        });
    }
    let why = match () {
        () if args.format.is_none() => "'-' writes to standard output; say what: --format tar.zst",
        () if args.json => {
            "the archive and the report cannot both go to standard output; name a file, or leave out --json"
        }
        () if args.verify => "what went to standard output cannot be read back; leave out --verify, or name a file",
        () if args.fsync => "standard output cannot be made durable; leave out --fsync, or name a file",
        () if std::io::stdout().is_terminal() => {
            "'-' writes to standard output, which is a terminal; redirect it, or name a file"
        }
        () => {
            let stdout = sys::stdout()
                .map_err(|error| CannotBegin::because(format_args!("cannot write to standard output: {error}")))?;
            return options
                .stream(Box::new(InterruptibleOutput::new(stdout, stop.clone())), "standard output")
                .map_err(|error| CannotBegin::because(error.to_string()));
        }
    };
    Err(CannotBegin::because(why))
}
