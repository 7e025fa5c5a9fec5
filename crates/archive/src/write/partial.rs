//! [`Partial`]: a file that is written beside the name that it will have.
//!
//! It is called `.NAME.partial`, and held while it is written, closed and renamed. A run that was killed leaves that file
//! with nobody who holds it. The next run that writes this archive removes it, if it begins as what this program leaves:
//! anything else of that name is somebody's, and an error. Two runs that write one archive at the same time are told.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use manyfiles::{Error, Operation, Result};

use crate::format::{HEAD, detect};
use crate::sys::{self, Left};

/// The name of a file that is not complete. The file is removed when this is dropped.
pub(super) struct Partial {
    path: PathBuf,
    /// Keeps other runs from removing it. `None`: the file system has no locks. There two runs at once are not told, but
    /// neither gives the other's file its name.
    hold: Option<File>,
    /// Whether the file has this name still.
    is_there: bool,
}

impl Partial {
    /// Makes the file, and holds it. One that a killed run has left is removed. The hold has a handle of its own, which
    /// only reads: what closing says of the bytes comes by the other one.
    pub(super) fn create(folder: &Path, target: &Path, replaced: Option<&Metadata>) -> Result<(File, Partial)> {
        let path = folder.join(name(target));
        let error = |path: &Path, error| Error::new(Operation::Create, path, error);
        for attempt in 0..100 {
            // A file that is being removed may be neither there nor gone for a moment.
            if attempt > 2 {
                thread::sleep(Duration::from_millis(1));
            }
            match sys::create_like(replaced).read(true).write(true).create_new(true).open(&path) {
                Ok(file) => match sys::hold(&file, &path) {
                    Ok(Some(hold)) => return Ok((file, Partial { path, hold, is_there: true })),
                    // Another run has taken it for one that was left, in the moment before, and removes it.
                    Ok(None) => {}
                    Err(cause) => {
                        // It was made a moment ago. What cannot be removed is removed by the next run.
                        drop(fs::remove_file(&path));
                        return Err(error(&path, cause));
                    }
                },
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => remove_left(&path, target)?,
                Err(cause) => return Err(error(&path, cause)),
            }
        }
        Err(error(&path, io::Error::other("another program makes this file again and again")))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file has got another name. Returns what held it.
    pub(super) fn has_its_name(&mut self) -> Option<File> {
        self.is_there = false;
        self.hold.take()
    }

    /// Another program's file has the name: it stays.
    pub(super) fn is_another_s(&mut self) {
        self.is_there = false;
    }

    /// Removes the file, of which no other handle is open. What cannot be removed is removed by the next run. Returns
    /// what held it, if it does so still.
    pub(super) fn remove(&mut self) -> Option<File> {
        self.is_there = false;
        sys::remove_held(&mut self.hold, &self.path);
        self.hold.take()
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if self.is_there {
            self.remove();
        }
    }
}

/// `.NAME.partial`, or a shorter name where that would be too long.
fn name(target: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(target.file_name().filter(|name| name.len() < 240).unwrap_or("manyfiles".as_ref()));
    name.push(".partial");
    name
}

/// Whether a file begins as an archive, or with nothing: no byte was written yet, or a crash has made them zeros. What
/// cannot be read is asked again when it is removed, and told then.
fn begins_as_left(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = sys::open_source(path).and_then(|file| file.take(HEAD as u64).read_to_end(&mut head));
    read.is_err() || head.iter().all(|&byte| byte == 0) || detect(&head).is_some()
}

/// Removes what a killed run has left, if it is surely that. What is gone meanwhile is none of it.
fn remove_left(path: &Path, target: &Path) -> Result<()> {
    let error = |why: String| Error::new(Operation::Create, path, io::Error::new(io::ErrorKind::AlreadyExists, why));
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(Error::new(Operation::Metadata, path, cause)),
    };
    // A run that is killed between two steps of giving the name leaves an archive that has both names.
    let archive = fs::symlink_metadata(target).ok();
    let is_left = there.is_file() && sys::is_own(&there, archive.as_ref()) && begins_as_left(path);
    let left = match is_left {
        true => sys::remove_left(path).map_err(|cause| Error::new(Operation::Remove, path, cause))?,
        false => Left::NotOurs,
    };
    match left {
        Left::Gone => Ok(()),
        Left::Held => Err(error("another run is writing this archive just now".into())),
        Left::NotOurs => Err(error("something that is not this program's has this name; move or remove it".into())),
        Left::Unknown(cause) => Err(error(format!(
            "a run that was killed has left it, or another run is writing it: whether it is locked cannot be told \
             ({cause}); remove it if no other run is going on"
        ))),
    }
}
