//! `manyfiles cat ARCHIVE PATH…`: files of an archive, on standard output.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use manyfiles_archive::{Archive, ArchiveOptions, Format, InputProgress};

use crate::args;
use crate::human::one_line;
use crate::password::{Asker, Known};
use crate::report::{INCOMPLETE, Lines, tell_cannot_begin};
use crate::terminal::{Screen, Showing, reading};
use crate::words::{CannotBegin, Words};

const WORDS: Words = Words { command: "cat", done: "printed", sources: "archives" };

pub(crate) fn run(args: &args::ArchiveCat) -> ExitCode {
    let screen = Arc::new(Screen::default());
    let archive = open(&args.archive, args.reading, &args.unlock, args.no_cache, args.progress, &screen);
    match archive {
        Ok(archive) => match paths(&archive, args) {
            Ok(paths) => print(&archive, &paths, screen),
            Err(why) => tell_cannot_begin(WORDS, &why, false),
        },
        Err(why) => tell_cannot_begin(WORDS, &why, false),
    }
}

/// Opens an archive to be read by entries, and shows how far that is.
pub(crate) fn open(
    path: &std::path::Path,
    limits: args::Reading,
    unlock: &args::Unlock,
    no_cache: bool,
    progress: args::Progress,
    screen: &Arc<Screen>,
) -> Result<Archive, CannotBegin> {
    if path.as_os_str() == "-" {
        let why = "'-' cannot be read an entry at a time; save it to a file first, or use 'manyfiles unpack -'";
        return Err(CannotBegin::because(why));
    }
    let archive = crate::archive::Archive::check(path).map_err(CannotBegin::because)?;
    let input = InputProgress::new();
    let options = Archive::options().limits(limits.limits()).ignore_zeros(limits.ignore_zeros).progress(input.clone());
    let options = Known::of(unlock)?.open(options, Asker::on(screen));
    let options = if no_cache { ArchiveOptions::cache(options, None) } else { options };
    let showing = Showing::start(screen.clone(), progress, reading(input, archive.size));
    let opened = options.open(path);
    drop(showing);
    opened.map_err(|error| CannotBegin::because(archive.cannot(error.kind())))
}

/// The files to print: those that were named, or the one that a single compressed file is.
fn paths(archive: &Archive, args: &args::ArchiveCat) -> Result<Vec<PathBuf>, CannotBegin> {
    if !args.paths.is_empty() {
        return Ok(args.paths.clone());
    }
    match archive.format() {
        Format::Single(_) => {
            let root = archive.read_dir("").map_err(|error| CannotBegin::because(error.to_string()))?;
            Ok(root.map(|entry| entry.path.to_path_buf()).collect())
        }
        format => {
            let why = format!(
                "{}: say which of its files to print (it is a {format}; 'manyfiles list' shows them)",
                archive.path().display()
            );
            Err(CannotBegin::because(why))
        }
    }
}

fn print(archive: &Archive, paths: &[PathBuf], screen: Arc<Screen>) -> ExitCode {
    let mut out = Lines::new(screen.clone());
    let mut code = 0;
    let mut buffer = vec![0; 256 << 10];
    for path in paths {
        let mut printed = || {
            let mut file = archive.open_file(path)?;
            loop {
                match file.read(&mut buffer) {
                    Ok(0) => return Ok(()),
                    Ok(len) => out.print(&buffer[..len]),
                    Err(cause) => {
                        let path = archive.path().join(path);
                        return Err(manyfiles::Error::new(manyfiles::Operation::Read, path, cause));
                    }
                }
            }
        };
        if let Err(error) = printed() {
            out.flush();
            screen.say(one_line(&error.to_string()));
            code = INCOMPLETE;
        }
    }
    out.end(code)
}
