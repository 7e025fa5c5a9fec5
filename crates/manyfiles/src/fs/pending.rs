//! What to do about closes that are pending: before an operation, after an open, and after an error.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::close::{self, Name};
use crate::sys;

/// What an operation is about: a path itself, or what a symbolic link there leads to.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Itself(&'a Path),
    Followed(&'a Path),
}

/// Does `operation`, after settling what is pending at or below its targets.
pub(super) fn settled<R>(targets: &[Target], operation: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    targets.iter().for_each(|target| settle(*target));
    again(operation)
}

/// Does what opens `path`, and settles that file before anyone gets it.
///
/// Not beforehand: that takes an opening of its own to learn the file's name, and a file that can be opened although its
/// close is pending is complete.
pub(super) fn opened(path: &Path, mut open: impl FnMut() -> io::Result<File>) -> io::Result<File> {
    let was_idle = close::is_idle();
    let file = match open() {
        Err(error) if !was_idle && sys::may_be_for_an_open_file(&error) => {
            settle(Target::Followed(path));
            again(open)
        }
        result => result,
    }?;
    if sys::OPEN_FILES_HINDER
        && !close::is_idle()
        && let Some(name) = sys::name(&file)
    {
        close::settle(&Name::new(&name));
    }
    Ok(file)
}

/// Does `operation`, and if closes were pending and it fails as it does because of a file that is not closed yet, once
/// more when all are closed.
pub(super) fn again<R>(mut operation: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    // Asked before: what was in the way may be closed when the error is here.
    let was_idle = close::is_idle();
    match operation() {
        Err(error) if !was_idle && sys::may_be_for_an_open_file(&error) => {
            close::settle_all();
            operation()
        }
        result => result,
    }
}

fn settle(target: Target) {
    if !sys::OPEN_FILES_HINDER || close::is_idle() {
        return;
    }
    let name = match target {
        Target::Itself(path) => sys::name_at(path, false),
        Target::Followed(path) => sys::name_at(path, true),
    };
    if let Some(name) = name {
        close::settle(&Name::new(&name));
    }
}
