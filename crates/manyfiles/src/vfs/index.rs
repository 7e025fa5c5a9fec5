//! Which files have a handle, and which have failed: plain data under one lock, which nobody holds while anything is written,
//! opened or closed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use rustc_hash::FxHashMap;

use super::kept::Kept;
use super::place::Place;
use super::sync::{AtomicBool, AtomicU64, FileGuard, FileMutex, Map};
use crate::Error;

/// A file that somebody writes, or that has a handle.
pub(super) struct Slot {
    pub(super) place: Place,
    /// When it was used last, counted in uses.
    pub(super) used: AtomicU64,
    /// Whether it has a handle that may be closed for another's sake.
    pub(super) can_be_evicted: AtomicBool,
    state: FileMutex<State>,
}

/// What a file's lock is about.
pub(super) enum State {
    /// Nobody has opened it yet.
    New,
    Open(Kept),
    /// No longer in the index: look there again.
    Gone,
    /// Taken by a call that has not put it back: while the file's lock is held, or because a backend panicked.
    Away,
}

impl Slot {
    fn new(place: Place) -> Arc<Slot> {
        // Unlike any count, so that the first use counts.
        let (used, can_be_evicted) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        Arc::new(Slot { place, used, can_be_evicted, state: FileMutex::new(State::New) })
    }

    /// A panic leaves [`State::Away`] behind.
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
struct Failure {
    error: Error,
    /// Whether any call has returned it.
    told: bool,
}

struct Entry {
    slot: Arc<Slot>,
    /// Names by which it is in `by_uri`.
    uris: Vec<Arc<OsStr>>,
}

/// A file with more names than this is found by its path, too.
const MOST_URIS: usize = 4;

#[derive(Default)]
pub(super) struct Index {
    /// What was asked for, as it was given: finds the file without looking at the URI's parts.
    /// With a hash that takes a third of the time of std's: whoever chooses the names opens the files as well.
    by_uri: FxHashMap<Arc<OsStr>, Arc<Slot>>,
    by_place: Map<Place, Entry>,
    failures: BTreeMap<Place, Failure>,
}

impl Index {
    #[inline]
    pub(super) fn by_uri(&self, uri: &OsStr) -> Option<&Arc<Slot>> {
        self.by_uri.get(uri)
    }

    pub(super) fn get(&self, place: &Place) -> Option<&Arc<Slot>> {
        self.by_place.get(place).map(|entry| &entry.slot)
    }

    /// The file's slot, made if need be.
    pub(super) fn slot(&mut self, place: &Place) -> Arc<Slot> {
        let new = || Entry { slot: Slot::new(place.clone()), uris: Vec::new() };
        Arc::clone(&self.by_place.entry(place.clone()).or_insert_with(new).slot)
    }

    /// From now on the file is found by `uri` as well.
    pub(super) fn remember(&mut self, uri: &OsStr, slot: &Arc<Slot>) {
        let Some(entry) = self.by_place.get_mut(&slot.place) else { return };
        if entry.uris.len() < MOST_URIS && !self.by_uri.contains_key(uri) {
            let uri: Arc<OsStr> = uri.into();
            entry.uris.push(Arc::clone(&uri));
            self.by_uri.insert(uri, Arc::clone(slot));
        }
    }

    /// Forgets a slot whose file is closed. Its lock is held.
    pub(super) fn remove(&mut self, place: &Place) {
        for uri in self.by_place.remove(place).into_iter().flat_map(|entry| entry.uris) {
            self.by_uri.remove(&uri);
        }
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.by_place.values().map(|entry| &entry.slot)
    }

    /// The slots of a folder's files, however deep, and its own.
    pub(super) fn within<'a>(&'a self, folder: &'a Place) -> impl Iterator<Item = &'a Arc<Slot>> {
        self.slots().filter(|slot| slot.place.is_within(folder))
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

    pub(super) fn fail(&mut self, place: &Place, error: Error, told: bool) {
        // The first failure is the one that explains the others.
        let failure = self.failures.entry(place.clone()).or_insert(Failure { error, told });
        failure.told |= told;
    }

    /// Why the file is not complete. Whoever asks is told.
    pub(super) fn failure(&mut self, place: &Place) -> Option<Error> {
        let failure = self.failures.get_mut(place)?;
        failure.told = true;
        Some(failure.error.clone())
    }

    /// The first one in a folder.
    pub(super) fn failure_within(&mut self, folder: &Place) -> Option<Error> {
        let (_, failure) = self.failures.range_mut(folder..).next().filter(|(place, _)| place.is_within(folder))?;
        failure.told = true;
        Some(failure.error.clone())
    }

    pub(super) fn take_failure(&mut self, place: &Place) -> Option<Error> {
        self.failures.remove(place).map(|failure| failure.error)
    }

    pub(super) fn forget_failures_within(&mut self, folder: &Place) {
        self.failures.retain(|place, _| !place.is_within(folder));
    }

    pub(super) fn take_failures(&mut self, untold_only: bool) -> Vec<Error> {
        let failures = std::mem::take(&mut self.failures).into_values();
        failures.filter(|failure| !(untold_only && failure.told)).map(|failure| failure.error).collect()
    }
}
