//! The folders of a batch: each found once, and found again whatever becomes of its path.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::sys::{self, Dir, Stat};
use crate::temporary;

/// A folder in which a batch has a name to make durable.
///
/// Its handle is held, so that a folder that is renamed or replaced meanwhile is still the right one. A batch over very
/// many folders holds some handles only; of the others it has the absolute path.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    handle: Option<Dir>,
    /// Whether this batch has looked for what a dead process left here.
    is_tidied: AtomicBool,
}

/// All folders of a batch, by their absolute paths.
#[derive(Debug, Default)]
pub(super) struct Folders {
    folders: HashMap<PathBuf, Arc<Folder>>,
    /// The one that was asked for last: files tend to come folder by folder.
    last: Option<(PathBuf, Arc<Folder>)>,
}

/// So many folders are held open at most. More would leave too little of the usual limit (1024 handles) for the files.
const MOST_HANDLES: usize = 128;

/// Paths of so many folders are remembered, some megabytes at most. After that all are looked through again.
const MOST_TIDIED: usize = 10_000;

impl Folders {
    /// The folder of `path`, an absolute one.
    pub(super) fn of(&mut self, path: &Path) -> io::Result<Arc<Folder>> {
        let folder = path.parent().unwrap_or(path);
        if let Some((known, last)) = &self.last
            && known == folder
        {
            return Ok(Arc::clone(last));
        }
        let found = match self.folders.get(folder) {
            Some(known) => Arc::clone(known),
            None => {
                let may_hold = self.folders.len() < MOST_HANDLES.min(sys::handle_limit() / 8);
                let handle = if may_hold { Some(Dir::open_root(folder)?) } else { None };
                let new = Arc::new(Folder { path: folder.to_path_buf(), handle, is_tidied: AtomicBool::new(false) });
                self.folders.insert(folder.to_path_buf(), Arc::clone(&new));
                new
            }
        };
        self.last = Some((folder.to_path_buf(), Arc::clone(&found)));
        Ok(found)
    }

    pub(super) fn len(&self) -> usize {
        self.folders.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Folder>> {
        self.folders.values()
    }
}

impl Folder {
    /// Makes a file under a name that no other file has. `is_private`: no other user may read it.
    pub(super) fn create_temporary(&self, is_private: bool) -> io::Result<(File, OsString)> {
        let mode = if is_private { 0o600 } else { 0o666 };
        loop {
            let name = temporary::name();
            match self.with_handle(|handle| handle.create_new(&name, mode)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(created) => {
                    self.tidy_once(&name);
                    return Ok((created.into(), name));
                }
            }
        }
    }

    /// Removes what dead processes left in this folder. Each process does so once in a folder: a program may make a
    /// batch for each of its files. `own` is a temporary file of this process in the folder.
    fn tidy_once(&self, own: &OsStr) {
        static TIDIED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
        if self.is_tidied.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut tidied = TIDIED.lock().unwrap_or_else(PoisonError::into_inner);
        let paths = tidied.get_or_insert_default();
        if paths.len() >= MOST_TIDIED {
            paths.clear();
        }
        let is_first = paths.insert(self.path.clone());
        drop(tidied);
        if is_first {
            // A courtesy: what cannot be opened or removed stays.
            self.with_handle(|dir| {
                temporary::tidy(dir, Some(own), |_| false);
                Ok(())
            })
            .unwrap_or(());
        }
    }

    /// What has this name. `None`: nothing.
    pub(super) fn look_at(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match self.with_handle(|handle| handle.stat(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    fn with_handle<T>(&self, work: impl Fn(&Dir) -> io::Result<T>) -> io::Result<T> {
        match &self.handle {
            Some(handle) => work(handle),
            None => work(&Dir::open_root(&self.path)?),
        }
    }

    /// Renames within the folder. What had the new name is replaced.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match &self.handle {
            Some(handle) => handle.rename(from, to),
            None => fs::rename(self.path.join(from), self.path.join(to)),
        }
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        match &self.handle {
            Some(handle) => handle.remove(name),
            None => fs::remove_file(self.path.join(name)),
        }
    }

    /// Makes the names in it durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        match &self.handle {
            Some(handle) => handle.sync(),
            None => sys::sync_folder(&self.path),
        }
    }
}
