//! `manyfiles mount ARCHIVE DIR`: an archive as a folder.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use manyfiles_archive::{Archive, Mount, MountOptions};

use crate::args;
use crate::cat;
use crate::human::one_line;
use crate::report::{INCOMPLETE, tell_cannot_begin};
use crate::stop::Stop;
use crate::terminal::Screen;
use crate::words::{CannotBegin, Words};

const WORDS: Words = Words { command: "mount", done: "mounted", sources: "archives" };
/// How often it is looked whether the mount has ended.
const PATIENCE: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &args::Mount) -> ExitCode {
    let screen = Arc::new(Screen::default());
    let mounted = folder_is_free(&args.directory)
        .and_then(|()| cat::open(&args.archive, args.reading, &args.unlock, args.no_cache, args.progress, &screen))
        .and_then(|archive| begin(args, &archive, &screen));
    let (mount, made, stop) = match mounted {
        Ok(mounted) => mounted,
        Err(why) => return tell_cannot_begin(WORDS, &why, false),
    };
    while !mount.is_over() && !stop.is_set() {
        thread::sleep(PATIENCE);
    }
    let ended = if mount.is_over() { mount.wait() } else { mount.unmount() };
    drop(made);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            screen.say(one_line(&format!("{}: the mount has failed: {error}", args.directory.display())));
            INCOMPLETE.into()
        }
    }
}

/// That the folder is empty, or not there.
fn folder_is_free(folder: &Path) -> Result<(), CannotBegin> {
    let cannot = |why: &dyn std::fmt::Display| CannotBegin::because(format!("{}: {why}", folder.display()));
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(cannot(&"the folder is not empty, and what is in it would be hidden; give another one")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => {
            let why = "the program that was mounted here has ended without a word; 'umount' or 'fusermount3 -u' takes \
                       its mount away";
            Err(cannot(&why))
        }
        Err(error) => Err(cannot(&format_args!("cannot mount on it: {error}"))),
    }
}

/// A folder that was made for the mount, and goes with it.
struct Made<'a>(Option<&'a Path>);

impl Drop for Made<'_> {
    fn drop(&mut self) {
        if let Some(folder) = self.0 {
            // It is empty, unless somebody has put something there since: then it stays.
            drop(fs::remove_dir(folder));
        }
    }
}

fn begin<'a>(
    args: &'a args::Mount,
    archive: &Archive,
    screen: &Screen,
) -> Result<(Mount, Made<'a>, Stop), CannotBegin> {
    let folder = &args.directory;
    let cannot = |why: &dyn std::fmt::Display| CannotBegin::because(format!("{}: {why}", folder.display()));
    // From here on Ctrl-C leaves nothing behind.
    let stop = Stop::on_signals().map_err(|error| CannotBegin::because(format!("cannot watch signals: {error}")))?;
    let made = match fs::create_dir(folder) {
        Ok(()) => Made(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !folder.exists() => {
            return Err(cannot(&"it is a symbolic link that leads nowhere"));
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Made(None),
        Err(error) => return Err(cannot(&format_args!("cannot make the folder: {error}"))),
    };
    let mount = MountOptions::default().allow_other(args.allow_other).mount(archive, folder).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => "; FUSE is missing here: /dev/fuse, or the program fusermount3 (package fuse3)",
            io::ErrorKind::PermissionDenied => "; /dev/fuse and the folder must be yours to write to",
            _ => "",
        };
        cannot(&format_args!("cannot mount on it: {error}{advice}"))
    })?;
    if !args.quiet {
        let refused = match archive.refused() {
            0 => String::new(),
            refused => format!(" ({} that unpack would refuse left out)", crate::human::entries(refused)),
        };
        let (archive, folder) = (args.archive.display(), folder.display());
        screen
            .say(one_line(&format!("{archive} is mounted on {folder}{refused}; Ctrl-C or 'umount {folder}' ends it")));
    }
    Ok((mount, made, stop))
}
