//! `manyfiles list ARCHIVE…`: the entries of archives, in the form that was asked for.
//!
//! [`Unpacker::list`] shows the entries one by one, and a [`Form`] prints them. The forms that need all entries of an
//! archive before they can print keep them in [`Folders`](folders::Folders).

mod folders;
mod form;
mod json;
mod long;
mod names;
mod sizes;
mod tree;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use manyfiles_archive::{InputProgress, Unpacker};

use crate::archive::Archive;
use crate::args;
use crate::filter::Filter;
use crate::human::one_line;
use crate::password::{Asker, Known};
use crate::read::{Read, Source};
use crate::report::{INCOMPLETE, Lines, UNREADABLE, nothing_matches, tell_cannot_begin};
use crate::stop::Stop;
use crate::terminal::{Screen, Showing, reading};
use crate::words::{CannotBegin, Words};
use form::Form;

const WORDS: Words = Words { command: "list", done: "listed", sources: "archives" };

pub(crate) fn run(args: args::List) -> ExitCode {
    list(&args).unwrap_or_else(|why| tell_cannot_begin(WORDS, &why, args.json))
}

fn list(args: &args::List) -> Result<ExitCode, CannotBegin> {
    let filter = Arc::new(
        Filter::listed((&args.include, &args.include_from), (&args.exclude, &args.exclude_from))
            .map_err(CannotBegin::because)?,
    );
    let archives = Archive::check_all(&args.archives)?;
    let progress = InputProgress::new();
    let screen = Arc::new(Screen::default());
    let unpacker = unpacker(args, &filter, &progress, &Known::of(&args.unlock)?, Asker::on(&screen));
    let total = archives.iter().map(|archive| archive.size).sum();
    let showing = Showing::start(screen.clone(), args.progress, reading(progress, total));
    let mut out = Lines::new(screen.clone());
    let has_headings = archives.len() > 1 && !args.null && !args.json;
    let mut read = Read::default();
    for (number, archive) in archives.iter().enumerate() {
        if has_headings {
            let gap = if number > 0 { "\n" } else { "" };
            out.print(format!("{gap}{}:\n", one_line(&archive.name())));
        }
        let mut form = form(args, archive);
        let listed = match archive.open(&Stop::default()) {
            Ok(input) => unpacker
                .list(input, &mut |entry| form.entry(entry, &mut out))
                .map_err(|error| archive.cannot(error.kind())),
            Err(error) => Err(archive.cannot(error)),
        };
        form.end(listed.as_ref().err().map(String::as_str), &mut out);
        let source = match listed {
            Ok(summary) => Source { warning: archive.warning(&summary), ..Source::whole(&archive.path) },
            Err(error) => Source { error: Some(error), ..Source::whole(&archive.path) },
        };
        out.flush();
        screen.say_all(source.error.iter().chain(&source.warning));
        read.sources.push(source);
    }
    drop(showing);
    read.unmatched = filter.unmatched();
    screen.say_all(nothing_matches(&read));
    let code = match () {
        () if read.is_cut_short() => UNREADABLE,
        () if !read.wrong_patterns().is_empty() => INCOMPLETE,
        () => 0,
    };
    Ok(out.end(code))
}

/// Shows entries as the archive has them: nothing is written, so no rights are to be taken away. Devices and FIFOs are
/// shown as refused, because by default `unpack` refuses them.
fn unpacker(
    args: &args::List,
    filter: &Arc<Filter>,
    progress: &InputProgress,
    password: &Known,
    asker: Asker,
) -> Unpacker {
    let choices = Unpacker::options()
        .limits(args.reading.limits())
        .ignore_zeros(args.reading.ignore_zeros)
        .ownership(true)
        .numeric_owner(true)
        .set_id(true)
        .progress(progress.clone());
    let choices = password.give(choices, asker);
    if filter.is_open() {
        return choices.build();
    }
    let filter = filter.clone();
    choices.select(Arc::new(move |path| filter.selects(path))).build()
}

fn form<'a>(args: &args::List, archive: &'a Archive) -> Box<dyn Form + 'a> {
    match args {
        args::List { long: true, .. } => Box::new(long::Long::default()),
        args::List { tree: true, .. } => Box::new(tree::Tree::new(args.depth)),
        args::List { sizes: true, .. } => {
            Box::new(sizes::Sizes::new(args.depth, args.json.then_some(archive.path.as_path())))
        }
        args::List { json: true, .. } => Box::new(json::Json::new(&archive.path)),
        args::List { null: true, .. } => Box::new(names::Names::Null(archive)),
        _ if std::io::stdout().is_terminal() => Box::new(names::Names::Escaped),
        _ => Box::new(names::Names::Bytes),
    }
}
