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
use std::time::{Duration, SystemTime};

use manyfiles::{Error, Operation};

use crate::sys::{self, FileId};

/// After a pause of this length a handle is not waited for any more: a second has passed in all.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Something that was found.
#[derive(Clone)]
pub(crate) struct Found {
    /// Where it is, as messages say it: below the source as it was given.
    pub source: PathBuf,
    /// The same from the root of the file system. See [`at`](Found::at).
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

    /// The path that it is opened by.
    pub(crate) fn at(&self) -> &Path {
        sys::path_to_open(&self.source, &self.absolute)
    }

    /// Becomes the entry of this name in `folder`. The memory of the paths is used again: a folder may hold many files.
    fn become_entry(&mut self, folder: &Found, name: &OsStr, metadata: Metadata) {
        set(&mut self.source, &folder.source, name);
        set(&mut self.absolute, &folder.absolute, name);
        sys::keep_name(&mut self.absolute, name);
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

/// What differs if a file is written to, or if it is another one: the system gives the number of a file that is gone to
/// the next new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    len: u64,
    modified: Option<SystemTime>,
    created: Option<SystemTime>,
}

impl Version {
    pub(crate) fn of(metadata: &Metadata) -> Version {
        Version { len: metadata.len(), modified: metadata.modified().ok(), created: metadata.created().ok() }
    }
}

/// Called with each entry, or with the error in its place.
pub(crate) type Visit<'a> = dyn FnMut(Result<&Found, Error>) -> ControlFlow<(), bool> + 'a;

/// While all handles of the process are in use, by files that are written just now, it waits for one.
fn read_folder(folder: &Found) -> io::Result<fs::ReadDir> {
    let mut pause = Duration::from_micros(100);
    loop {
        match sys::read_folder(folder.at(), &folder.metadata) {
            Err(error) if sys::is_out_of_handles(&error) && pause < LONGEST_PAUSE => {
                thread::sleep(pause);
                pause *= 2;
            }
            read => return read,
        }
    }
}

/// In which order the entries of a folder are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As the file system gives them.
    AsFound,
    /// By their names' bytes, first the files of a folder, then each folder in it with all that it has. Needs memory
    /// for the names of a folder.
    ByName,
}

/// Shows everything in `source`, folders before what is in them, under its `path` below the root. The visitor says
/// whether to go on, and whether to look into the folder it was shown. `root` is the destination, which is not copied
/// into itself.
pub(crate) fn walk(
    source: &Path,
    path: &Path,
    root: Option<FileId>,
    order: Order,
    visit: &mut Visit<'_>,
) -> ControlFlow<()> {
    let metadata = match fs::symlink_metadata(source) {
        Ok(metadata) => metadata,
        Err(error) => {
            visit(Err(cannot_read(source, error)))?;
            return ControlFlow::Continue(());
        }
    };
    let mut folders = Vec::new();
    let top = Found {
        source: source.to_path_buf(),
        // Where the current folder is gone, opening says so.
        absolute: std::path::absolute(source).unwrap_or_else(|_| source.to_path_buf()),
        below: ".".into(),
        path: path.to_path_buf(),
        metadata,
        above: None,
        is_done: Cell::default(),
    };
    if visit(Ok(&top))? && top.metadata.is_dir() {
        folders.push(Rc::new(top));
    }
    let shows_folders_late = order == Order::ByName;
    while let Some(folder) = folders.pop() {
        if shows_folders_late && folder.above.is_some() && !visit(Ok(&folder))? {
            continue;
        }
        let entries: Box<dyn Iterator<Item = io::Result<fs::DirEntry>>> = match read_folder(&folder) {
            Ok(entries) if order == Order::AsFound => Box::new(entries),
            Ok(entries) => Box::new(by_name(entries)),
            Err(error) => {
                visit(Err(cannot_read(folder.source.clone(), error)))?;
                continue;
            }
        };
        let mut found = folder.inside();
        let first = folders.len();
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
            if is_folder && root.is_some() && root == sys::file_id(found.at(), &found.metadata) {
                visit(Err(cannot_read(
                    found.source.clone(),
                    io::Error::other("this is the destination, which is not copied into itself"),
                )))?;
                continue;
            }
            let is_shown_late = is_folder && shows_folders_late;
            if is_shown_late || (visit(Ok(&found))? && is_folder) {
                folders.push(Rc::new(found.clone()));
            }
        }
        if shows_folders_late {
            folders[first..].reverse(); // the last is looked into next
        }
    }
    ControlFlow::Continue(())
}

/// The entries by name, and behind them the error that ended the list.
fn by_name(entries: fs::ReadDir) -> impl Iterator<Item = io::Result<fs::DirEntry>> {
    let (mut sorted, mut last) = (Vec::new(), None);
    for entry in entries {
        match entry {
            Ok(entry) => sorted.push((entry.file_name(), entry)),
            Err(error) => {
                last = Some(error);
                break;
            }
        }
    }
    sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
    sorted.into_iter().map(|(_, entry)| Ok(entry)).chain(last.map(Err))
}

fn cannot_read(path: impl AsRef<Path>, error: io::Error) -> Error {
    Error::new(Operation::Read, path.as_ref(), error)
}
