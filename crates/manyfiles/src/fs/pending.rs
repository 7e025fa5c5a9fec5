//! What to do about closes that are pending: before an operation, after an open, and after an error. While none is, all
//! of this costs one load.
//!
//! An operation that the system refuses whatever is closed must not wait for a close, which may never return. So where
//! a close is in the way, `refused` is asked before the wait: see `refused.rs`.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::close::{self, Affected};
use crate::sys;

/// What an operation is about: the file or folder at a path, or the one that a symbolic link there leads to. Of a
/// folder also all below it.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    Itself(&'a Path),
    Followed(&'a Path),
    /// As `Followed`, but of a folder only its entries.
    Listed(&'a Path),
}

impl<'a> At<'a> {
    fn path(self) -> &'a Path {
        match self {
            At::Itself(path) | At::Followed(path) | At::Listed(path) => path,
        }
    }

    /// The file or folder that is there, by whatever name it was opened.
    fn affected(self) -> Option<Affected> {
        let affected = sys::at_path(self.path(), !matches!(self, At::Itself(_))).map(Affected::from)?;
        Some(match (self, affected) {
            (At::Listed(_), Affected::Folder(folder)) => Affected::Entries(folder),
            (_, affected) => affected,
        })
    }
}

/// Does `operation` when the files at these paths, and below these folders, are closed.
pub(super) fn settled<R>(
    about: &[At],
    refused: impl FnOnce() -> bool,
    operation: impl FnMut() -> io::Result<R>,
) -> io::Result<R> {
    if !close::nothing_pends() {
        let all: Vec<_> = about.iter().filter_map(|at| at.affected()).filter(close::is_in_the_way).collect();
        if !all.is_empty() && !refused() {
            all.iter().for_each(|affected| {
                close::settle(affected);
            });
        }
    }
    with_handles(operation)
}

/// Does `ask` when pending closes of the file there have been made. The closes come first: if the question came first,
/// a close that is made between the question and the look at pending closes would leave an old answer. What is known of
/// a folder depends on no close.
pub(super) fn known<R>(at: At, refused: impl FnOnce() -> bool, ask: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    if !close::nothing_pends()
        && let Some(Affected::Named(file)) = at.affected()
    {
        settle_unless(refused, &Affected::File(file));
    }
    with_handles(ask)
}

fn settle_unless(refused: impl FnOnce() -> bool, affected: &Affected) {
    if close::is_in_the_way(affected) && !refused() {
        close::settle(affected);
    }
}

/// Opens the file at `path`, to make it or to cut it short, when pending closes of it have been made: some file systems
/// send at close what was written through the handle, and bytes from before the cut would be in the file after it.
/// `make` opens it if it is new.
///
/// While closes pend, the file is first opened as a new one. No close of a new file can be pending, and asking first
/// whether the file is there would be one more request to the server for each new file.
pub(super) fn cut_or_made(
    path: &Path,
    refused: impl Fn() -> bool,
    make: impl FnOnce() -> io::Result<File>,
    cut: impl FnMut() -> io::Result<File>,
) -> io::Result<File> {
    // Windows does not tell which file is at a path, and writes through.
    if !cfg!(windows)
        && !close::nothing_pends()
        && let Ok(file) = make()
    {
        return Ok(file);
    }
    opened(path, false, refused, cut)
}

/// Opens the file at `path` when its pending closes have been made, so that a reader sees all that was written.
/// `is_new`: the options say that there is no such file yet.
///
/// Where the system tells which file is at a path, that is asked first. Elsewhere, and if another file has come there
/// meanwhile, the opened file tells. If there were pending closes then, it is opened again: a file that was opened
/// before the close may show the old content, and a file that was cut short before the close may have bytes again. The
/// second opening takes one more close, which may be slow.
pub(super) fn opened(
    path: &Path,
    is_new: bool,
    refused: impl Fn() -> bool,
    mut open: impl FnMut() -> io::Result<File>,
) -> io::Result<File> {
    let nothing_pended = close::nothing_pends();
    if !nothing_pended
        && !is_new
        && let Some(identity) = sys::file_at(path)
    {
        settle_unless(&refused, &Affected::File(identity));
    }
    let file = match with_handles(&mut open) {
        Err(error) if !nothing_pended && sys::may_be_for_an_open_file(&error, &[path]) && !refused() => {
            // The file in the way may have been closed just now. If something else was in the way, the second try fails
            // again.
            if let Some(affected) = At::Followed(path).affected() {
                close::settle_surely(&affected);
            }
            with_handles(&mut open)
        }
        result => result,
    }?;
    if !close::nothing_pends()
        && let Some(identity) = sys::regular_file(&file)
        && close::settle(&Affected::File(identity))
        && !is_new
    {
        // Closed first: on Windows a file that was opened for oneself alone would be in its own way.
        drop(file);
        return with_handles(open);
    }
    Ok(file)
}

/// Does `operation`, and again as long as it finds no free handle where pending closes have some.
pub(super) fn with_handles<R>(mut operation: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match operation() {
            Err(error) if sys::is_out_of_handles(&error) && close::close_one() => {}
            result => return result,
        }
    }
}

/// Does `operation`, which removes or makes a folder, and once more when the closes have been made that were in its
/// way, if it fails as it does because of these.
pub(super) fn unless_open(path: &Path, mut operation: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let nothing_pended = close::nothing_pends();
    match with_handles(&mut operation) {
        Err(error) if !nothing_pended && (has_only_stand_ins(&error, path) || is_for_an_open_file(&error, path)) => {
            let was_pending = At::Itself(path).affected().is_some_and(|affected| close::settle(&affected));
            // On Windows the name of a removed file lives on until its close, and leads to nothing.
            if !was_pending && cfg!(windows) {
                close::close_one();
            }
            with_handles(operation)
        }
        result => result,
    }
}

fn is_for_an_open_file(error: &io::Error, path: &Path) -> bool {
    sys::may_be_for_an_open_file(error, &[path])
}

/// Whether a folder is not empty for the sake of removed files alone that are open.
fn has_only_stand_ins(error: &io::Error, path: &Path) -> bool {
    error.kind() == io::ErrorKind::DirectoryNotEmpty
        && std::fs::read_dir(path)
            .is_ok_and(|mut names| names.all(|entry| entry.is_ok_and(|entry| sys::is_stand_in(&entry.file_name()))))
}
