//! Which files have a handle, by which names, and which have failed: plain data under one lock, which no thread holds
//! while anything is written, opened, closed or looked up.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use rustc_hash::FxHashMap;

use super::Identity;
use super::file_key::FileKey;
use super::kept::KeptHandle;
use super::sync::{AtomicBool, AtomicU64, FileGuard, FileMutex, Map};
use crate::Error;

/// A file that is being written, or that has a handle.
pub(super) struct Slot {
    number: u64,
    /// The name that it was opened by.
    pub(super) key: FileKey,
    /// When it was used last, counted in uses.
    pub(super) used: AtomicU64,
    /// Whether it has a handle that may be closed for another's sake.
    pub(super) can_be_evicted: AtomicBool,
    state: FileMutex<State>,
}

/// What a file's lock is about.
pub(super) enum State {
    /// Not opened yet.
    New,
    Open(Box<KeptHandle>),
    /// No longer in the index: look there again.
    Gone,
    /// Taken by a call that has not put it back: while the file's lock is held, or because a backend panicked.
    Away,
}

impl Slot {
    fn new(number: u64, key: FileKey) -> Arc<Slot> {
        // Unlike any count, so that the first use counts.
        let (used, can_be_evicted) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        Arc::new(Slot { number, key, used, can_be_evicted, state: FileMutex::new(State::New) })
    }

    /// A panic leaves [`State::Away`] behind, or a handle that knows that it was interrupted.
    pub(super) fn lock(&self) -> FileGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn try_lock(&self) -> Option<FileGuard<'_, State>> {
        use std::sync::TryLockError;
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Why a file is not complete.
pub(super) struct Failure {
    pub(super) error: Error,
    /// Whether any call has returned it.
    told: std::sync::atomic::AtomicBool,
    /// The names that the file had here, and what it is.
    pub(super) names: Vec<FileKey>,
    pub(super) identity: Option<FileId>,
}

impl Failure {
    /// Whether the failure is of another file than `identity`'s, which may have taken over the name: callers that use
    /// the name have been told then.
    pub(super) fn is_of_another(&self, found: Option<FileId>) -> bool {
        let differs = matches!((self.identity, found), (Some(own), Some(found)) if own != found);
        differs && self.told.load(Relaxed)
    }

    /// The error, for the caller that is told.
    pub(super) fn tell(&self) -> Error {
        self.told.store(true, Relaxed);
        self.error.clone()
    }
}

/// A file in one of the backends, by number.
pub(super) type FileId = (usize, Identity);

struct Entry {
    slot: Arc<Slot>,
    /// The names that have led to it, each with the number that its handle knows it by.
    names: Vec<FileKey>,
    /// Names by which it is in `by_uri`.
    uris: Vec<Arc<OsStr>>,
    identity: Option<FileId>,
}

/// A file with more URIs than this is found by its path, too.
const MOST_URIS: usize = 4;

/// Names of one file. A program that uses more spellings of one name than this has the handle opened anew now and then.
const MOST_NAMES: usize = 8;

/// The number of files whose failures are remembered before the oldest ones are dropped.
pub(super) const MOST_FAILURES: usize = 10_000;

/// What became of a slot whose file has just been opened.
pub(super) enum Registered {
    /// No other slot has the file.
    New,
    /// Another slot has it, and is found by this name as well from now on, unless it has too many names.
    Alias { of: Arc<Slot>, found: bool },
}

#[derive(Default)]
pub(super) struct Index {
    /// What was asked for, as it was given, and the number of the name: finds the file without looking at the URI's
    /// parts. Hashed in a third of the time of std's hash, which withstands chosen keys: here the program itself
    /// chooses the names.
    by_uri: FxHashMap<Arc<OsStr>, (Arc<Slot>, usize)>,
    by_place: Map<FileKey, (u64, usize)>,
    by_identity: Map<FileId, u64>,
    entries: BTreeMap<u64, Entry>,
    next: u64,
    /// One for each name.
    failures: BTreeMap<FileKey, Arc<Failure>>,
    /// Failures of files that live on by names that were not used here.
    nameless: Vec<Arc<Failure>>,
}

impl Index {
    #[inline]
    pub(super) fn by_uri(&self, uri: &OsStr) -> Option<&(Arc<Slot>, usize)> {
        self.by_uri.get(uri)
    }

    pub(super) fn get(&self, key: &FileKey) -> Option<(Arc<Slot>, usize)> {
        let &(number, name) = self.by_place.get(key)?;
        Some((Arc::clone(&self.entries.get(&number)?.slot), name))
    }

    pub(super) fn by_identity(&self, identity: FileId) -> Option<Arc<Slot>> {
        let number = self.by_identity.get(&identity)?;
        Some(Arc::clone(&self.entries.get(number)?.slot))
    }

    /// Whether any file that has a handle can be told from others by more than its name.
    pub(super) fn has_identities(&self) -> bool {
        !self.by_identity.is_empty()
    }

    /// The file's slot, made if need be, and the number of the name.
    pub(super) fn slot(&mut self, key: &FileKey) -> (Arc<Slot>, usize) {
        if let Some(found) = self.get(key) {
            return found;
        }
        let number = self.next;
        self.next += 1;
        let slot = Slot::new(number, key.clone());
        let names = vec![key.clone()];
        self.entries.insert(number, Entry { slot: Arc::clone(&slot), names, uris: Vec::new(), identity: None });
        self.by_place.insert(key.clone(), (number, 0));
        (slot, 0)
    }

    /// From now on the file is found by `uri` as well.
    pub(super) fn remember(&mut self, uri: &OsStr, slot: &Arc<Slot>, name: usize) {
        let Some(entry) = self.entries.get_mut(&slot.number) else { return };
        if entry.uris.len() < MOST_URIS && !self.by_uri.contains_key(uri) {
            let uri: Arc<OsStr> = uri.into();
            entry.uris.push(Arc::clone(&uri));
            self.by_uri.insert(uri, (Arc::clone(slot), name));
        }
    }

    /// Notes what a slot that was just opened is. If another one is the same file, this slot leaves the index, and its
    /// name leads to the other. Its lock is held.
    pub(super) fn register(&mut self, slot: &Slot, identity: FileId) -> Registered {
        let Some(&number) = self.by_identity.get(&identity) else {
            if let Some(entry) = self.entries.get_mut(&slot.number) {
                entry.identity = Some(identity);
                self.by_identity.insert(identity, slot.number);
            }
            return Registered::New;
        };
        self.remove(slot);
        let other = self.entries.get_mut(&number).expect("what is removed leaves every map");
        let found = other.names.len() < MOST_NAMES;
        if found {
            self.by_place.insert(slot.key.clone(), (number, other.names.len()));
            other.names.push(slot.key.clone());
        }
        Registered::Alias { of: Arc::clone(&other.slot), found }
    }

    /// Forgets a slot whose file is closed, and says by which names it was known, and what it was. Its lock is held.
    pub(super) fn remove(&mut self, slot: &Slot) -> (Vec<FileKey>, Option<FileId>) {
        let Some(entry) = self.entries.remove(&slot.number) else { return (Vec::new(), None) };
        for uri in &entry.uris {
            self.by_uri.remove(uri);
        }
        for name in &entry.names {
            self.by_place.remove(name);
        }
        if let Some(identity) = &entry.identity {
            self.by_identity.remove(identity);
        }
        (entry.names, entry.identity)
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.entries.values().map(|entry| &entry.slot)
    }

    /// Every name of every file that has a slot.
    pub(super) fn names(&self) -> impl Iterator<Item = (&FileKey, &Arc<Slot>)> {
        self.entries.values().flat_map(|entry| entry.names.iter().map(|name| (name, &entry.slot)))
    }

    /// The one used longest ago among those whose handle may be closed: idle ones first.
    pub(super) fn victim(&self, idle_only: bool) -> Option<Arc<Slot>> {
        let candidates = || self.slots().filter(|slot| slot.can_be_evicted.load(Relaxed));
        let oldest = |slot: &&Arc<Slot>| slot.used.load(Relaxed);
        let first = candidates().min_by_key(oldest)?;
        if first.try_lock().is_some() {
            return Some(Arc::clone(first));
        }
        let idle = candidates().filter(|slot| slot.try_lock().is_some()).min_by_key(oldest);
        idle.or(if idle_only { None } else { Some(first) }).cloned()
    }

    // Failures.

    /// Keeps an error with all names of its file.
    pub(super) fn fail(&mut self, names: Vec<FileKey>, identity: Option<FileId>, error: Error, told: bool) {
        // The first failure is the one that explains the others.
        let mut known = names.iter().filter_map(|name| self.failures.get(name));
        if let Some(first) = known.find(|first| !first.is_of_another(identity)) {
            first.told.fetch_or(told, Relaxed);
            return;
        }
        let failure = Arc::new(Failure { error, told: told.into(), names, identity });
        for name in &failure.names {
            self.failures.insert(name.clone(), Arc::clone(&failure));
        }
    }

    /// Why a file that had this name is not complete. Another file may have it by now.
    pub(super) fn failure(&self, key: &FileKey) -> Option<Arc<Failure>> {
        self.failures.get(key).cloned()
    }

    /// Failures that may be this file's: another one may have its number by now.
    pub(super) fn failures_of(&self, identity: FileId) -> Vec<Arc<Failure>> {
        let mut of: Vec<Arc<Failure>> = Vec::new();
        let all = self.failures.values().chain(&self.nameless);
        for failure in all.filter(|failure| failure.identity == Some(identity)) {
            if !of.iter().any(|known| Arc::ptr_eq(known, failure)) {
                of.push(Arc::clone(failure));
            }
        }
        of
    }

    pub(super) fn has_failures(&self) -> bool {
        !self.failures.is_empty() || !self.nameless.is_empty()
    }

    pub(super) fn too_many_failures(&self) -> bool {
        self.failures.len() + self.nameless.len() >= MOST_FAILURES
    }

    pub(super) fn failed_names(&self) -> Vec<(FileKey, Arc<Failure>)> {
        self.failures.iter().map(|(key, failure)| (key.clone(), Arc::clone(failure))).collect()
    }

    /// Forgets a failure under all of its names.
    pub(super) fn take_failure(&mut self, key: &FileKey) -> Option<Error> {
        let failure = self.failures.remove(key)?;
        self.take(&failure);
        Some(failure.error.clone())
    }

    /// The same for one that is in hand.
    pub(super) fn take(&mut self, failure: &Arc<Failure>) {
        self.failures.retain(|_, other| !Arc::ptr_eq(other, failure));
        self.nameless.retain(|other| !Arc::ptr_eq(other, failure));
    }

    /// Forgets that the file by this name failed. Other names of it stay.
    pub(super) fn forget_failure(&mut self, key: &FileKey) {
        self.failures.remove(key);
    }

    /// A file with a failure has lost a name, and lives on by another, which may not be known here.
    pub(super) fn lose_name(&mut self, failure: &Arc<Failure>, name: &FileKey) {
        let names: Vec<FileKey> = failure.names.iter().filter(|other| *other != name).cloned().collect();
        let has_names =
            names.iter().any(|name| self.failures.get(name).is_some_and(|other| Arc::ptr_eq(other, failure)));
        if has_names {
            self.failures.remove(name);
            return;
        }
        self.take(failure);
        let told = failure.told.load(Relaxed).into();
        let names = Vec::new();
        self.nameless.push(Arc::new(Failure { error: failure.error.clone(), told, names, identity: failure.identity }));
    }

    pub(super) fn take_failures(&mut self, untold_only: bool) -> Vec<Error> {
        // Each is there once for each of its names.
        let mut seen = std::collections::HashSet::new();
        let nameless = std::mem::take(&mut self.nameless);
        let mut taken: Vec<_> = std::mem::take(&mut self.failures).into_values().chain(nameless).collect();
        taken.retain(|failure| seen.insert(Arc::as_ptr(failure)));
        taken.retain(|failure| !untold_only || !failure.told.load(Relaxed));
        taken.iter().map(|failure| failure.error.clone()).collect()
    }
}
