//! Finds the entries of a source: one folder at a time, links not followed.
//!
//! One folder is open at any time, and memory grows with the folders that are still to be read, not with files.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use manyfiles::{Error, Operation};

use super::target::Placed;
use crate::sys::{self, FileId};

/// After a pause of this length a handle is not waited for any more: a second has passed in all.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Something that is to be copied.
#[derive(Clone)]
pub(super) struct Found {
    /// Where it is, as messages say it: below the source as it was given.
    pub source: PathBuf,
    /// The same from the root of the file system, as it is opened.
    pub absolute: PathBuf,
    /// The same below the source that was given; `.` is that source itself.
    pub below: PathBuf,
    /// Where it goes, below the root.
    pub path: PathBuf,
    /// Of itself: not of what a link leads to.
    pub metadata: Metadata,
    /// The folder it was found in; none for a source itself.
    pub above: Option<Rc<Found>>,
    /// Whether this was handed over, or need not be.
    pub is_done: Cell<bool>,
}

impl Found {
    /// A model for the entries of this folder, which has no name yet.
    fn inside(self: &Rc<Found>) -> Found {
        Found { above: Some(self.clone()), ..Found::clone(self) }
    }

    /// Becomes the entry of this name in `folder`. The memory of the paths is used again: a folder may hold many files.
    fn become_entry(&mut self, folder: &Found, name: &OsStr, metadata: Metadata) {
        set(&mut self.source, &folder.source, name);
        set(&mut self.absolute, &folder.absolute, name);
        set_below(&mut self.below, &folder.below, name);
        set_below(&mut self.path, &folder.path, name);
        self.metadata = metadata;
        self.is_done.set(false);
    }
}

/// Makes `path` lead to `name` in `folder`.
fn set(path: &mut PathBuf, folder: &Path, name: &OsStr) {
    path.clear();
    path.push(folder);
    path.push(name);
}

/// As [`set`]; below `.` there are names alone.
fn set_below(path: &mut PathBuf, folder: &Path, name: &OsStr) {
    set(path, if folder.as_os_str() == "." { Path::new("") } else { folder }, name);
}

/// Called with each entry, or with the error in its place.
pub(super) type Visit<'a> = dyn FnMut(Result<&Found, Error>) -> ControlFlow<(), bool> + 'a;

/// While all handles of the process are in use, by files that are written just now, it waits for one.
fn read_folder(path: &Path) -> io::Result<fs::ReadDir> {
    let mut pause = Duration::from_micros(100);
    loop {
        match sys::reach(path).and_then(|reached| fs::read_dir(reached.path())) {
            Err(error) if sys::is_out_of_handles(&error) && pause < LONGEST_PAUSE => {
                thread::sleep(pause);
                pause *= 2;
            }
            read => return read,
        }
    }
}

/// Shows everything in `placed`, folders before what is in them. The visitor says whether to go on, and whether to look
/// into the folder it was shown. `root` is the destination, which is not copied into itself.
pub(super) fn walk(placed: &Placed, root: Option<FileId>, visit: &mut Visit<'_>) -> ControlFlow<()> {
    let metadata = match fs::symlink_metadata(&placed.source) {
        Ok(metadata) => metadata,
        Err(error) => {
            visit(Err(cannot_read(placed.source.clone(), error)))?;
            return ControlFlow::Continue(());
        }
    };
    let mut folders = Vec::new();
    let top = Found {
        source: placed.source.clone(),
        // Where the current folder is gone, opening says so.
        absolute: std::path::absolute(&placed.source).unwrap_or_else(|_| placed.source.clone()),
        below: ".".into(),
        path: placed.path.clone(),
        metadata,
        above: None,
        is_done: Cell::default(),
    };
    if visit(Ok(&top))? && top.metadata.is_dir() {
        folders.push(Rc::new(top));
    }
    while let Some(folder) = folders.pop() {
        let entries = match read_folder(&folder.source) {
            Ok(entries) => entries,
            Err(error) => {
                visit(Err(cannot_read(folder.source.clone(), error)))?;
                continue;
            }
        };
        let mut found = folder.inside();
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                // Nothing more comes after this: see `std::fs::ReadDir`.
                Err(error) => {
                    visit(Err(cannot_read(folder.source.clone(), error)))?;
                    break;
                }
            };
            let name = entry.file_name();
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) => {
                    visit(Err(cannot_read(folder.source.join(name), error)))?;
                    continue;
                }
            };
            found.become_entry(&folder, &name, metadata);
            let is_folder = found.metadata.is_dir();
            if is_folder && root.is_some() && root == sys::file_id(&found.source, &found.metadata) {
                visit(Err(cannot_read(
                    found.source.clone(),
                    io::Error::other("this is the destination, which is not copied into itself"),
                )))?;
                continue;
            }
            if visit(Ok(&found))? && is_folder {
                folders.push(Rc::new(found.clone()));
            }
        }
    }
    ControlFlow::Continue(())
}

fn cannot_read(path: impl AsRef<Path>, error: io::Error) -> Error {
    Error::new(Operation::Read, path.as_ref(), error)
}
