//! What came of the entries: failures, names that were changed, and paths that this run has written.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::hash::BuildHasherDefault;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::folders::{Folder, FolderId, Identity};
use super::lock::lock;
use super::name::Keys;
use crate::Error;

#[derive(Debug)]
pub(super) struct Outcome {
    told: Mutex<Told>,
    /// Whether any entry is not where it was meant to be: only then are the others looked up.
    any_astray: AtomicBool,
    astray: Mutex<HashMap<(FolderId, OsString), Astray>>,
    /// If the last entry of a path is to win.
    written: Option<Mutex<Written>>,
    keys: Keys,
}

/// Keys of the paths that this run has written. They are asked for only when a name is taken, so they are gathered in a
/// list first.
#[derive(Debug, Default)]
struct Written {
    latest: Vec<u64>,
    known: HashSet<u64, BuildHasherDefault<Identity>>,
}

impl Written {
    /// How many keys are listed at most: the list takes 8 bytes for each, so that growing it never moves much.
    const LISTED: usize = 64 << 10;

    fn add(&mut self, key: u64) {
        if self.latest.len() == Written::LISTED {
            self.known.extend(self.latest.drain(..));
        }
        self.latest.push(key);
    }

    fn has(&mut self, key: u64) -> bool {
        self.known.extend(self.latest.drain(..));
        self.known.contains(&key)
    }
}

#[derive(Debug, Default)]
struct Told {
    failures: Vec<Error>,
    renamed: Vec<(PathBuf, PathBuf)>,
}

/// Why an entry is not where it was meant to be: a link to it must not get whatever else has the name.
#[derive(Clone, Debug)]
pub(super) enum Astray {
    Failed,
    /// The entry has this name in the same folder.
    Renamed(OsString),
}

impl Outcome {
    pub(super) fn new(last_wins: bool) -> Outcome {
        Outcome {
            told: Mutex::default(),
            any_astray: AtomicBool::new(false),
            astray: Mutex::default(),
            written: last_wins.then(Mutex::default),
            keys: Keys::new(),
        }
    }

    /// Whether this run wrote the file of this name, so that a later entry takes its place.
    pub(super) fn is_written(&self, folder: &Folder, name: &OsStr) -> bool {
        self.written.as_ref().is_some_and(|written| lock(written).has(folder.key_of(&self.keys, name)))
    }

    /// The name that an entry of this name got, if a later one is to take its place there.
    pub(super) fn renamed_before(&self, folder: &Folder, name: &OsStr) -> Option<OsString> {
        self.written.as_ref()?;
        match self.astray(folder, name)? {
            Astray::Renamed(other) => Some(other),
            Astray::Failed => None,
        }
    }

    pub(super) fn fail(&self, error: Error) {
        lock(&self.told).failures.push(error);
    }

    pub(super) fn failure_count(&self) -> u64 {
        lock(&self.told).failures.len() as u64
    }

    pub(super) fn failures_from(&self, from: usize) -> Vec<Error> {
        lock(&self.told).failures.get(from..).unwrap_or_default().to_vec()
    }

    /// The failures, and the entries that were written under another name, each with the name asked for and the name
    /// got.
    pub(super) fn take(&self) -> (Vec<Error>, Vec<(PathBuf, PathBuf)>) {
        let told = std::mem::take(&mut *lock(&self.told));
        (told.failures, told.renamed)
    }

    pub(super) fn renamed(&self, folder: &Folder, name: &OsStr, other: &OsStr) {
        lock(&self.told).renamed.push((folder.join(name), folder.join(other)));
        self.is_astray(folder, name, Astray::Renamed(other.to_owned()));
    }

    pub(super) fn is_astray(&self, folder: &Folder, name: &OsStr, why: Astray) {
        lock(&self.astray).insert((folder.id, name.to_owned()), why);
        self.any_astray.store(true, Relaxed);
    }

    /// Where the entry of this name is, if it is not under its name.
    pub(super) fn astray(&self, folder: &Folder, name: &OsStr) -> Option<Astray> {
        if !self.any_astray.load(Relaxed) {
            return None;
        }
        lock(&self.astray).get(&(folder.id, name.to_owned())).cloned()
    }

    /// An entry of this name arrived.
    pub(super) fn is_there(&self, folder: &Folder, name: &OsStr) {
        if let Some(written) = &self.written {
            let key = folder.key_of(&self.keys, name);
            lock(written).add(key);
        }
        if self.any_astray.load(Relaxed) {
            let mut astray = lock(&self.astray);
            if let Some(Astray::Failed) = astray.get(&(folder.id, name.to_owned())) {
                astray.remove(&(folder.id, name.to_owned()));
            }
        }
    }
}
