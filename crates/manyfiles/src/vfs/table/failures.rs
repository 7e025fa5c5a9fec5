//! Why files are not complete, kept until a call has returned it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Table;
use crate::vfs::file_key::FileKey;
use crate::vfs::index::{Failure, FileId, Slot, State};
use crate::vfs::sync::FileGuard;
use crate::vfs::within::Within;
use crate::{Error, Operation, Result};

/// What a call does to the file that a name leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::vfs) enum Change {
    /// Nothing of what was in it is left.
    Emptied,
    /// The name leads to another file. A link to it stays.
    Replaced,
    /// The name is taken away, from a link, if it is one's.
    Unnamed,
}

/// What is wrong with a file that is about to change.
pub(in crate::vfs) struct Wrong {
    /// With each failure: whether its file is there afterwards, by another name. Then the failure stays.
    failures: Vec<(Arc<Failure>, bool)>,
}

impl Table {
    /// Why a file is not complete, if it is this one: another may have its number by now.
    pub(super) fn failure_of(&self, identity: FileId) -> Option<Arc<Failure>> {
        let maybe = {
            let index = self.read();
            if !index.has_failures() {
                return None;
            }
            index.failures_of(identity)
        };
        let leads_there = |name: &FileKey| self.identify(name) == Some(identity);
        maybe.into_iter().find(|failure| failure.names.is_empty() || failure.names.iter().any(leads_there))
    }

    /// Whether a failure that is kept for this name is that of another file: others have moved it or replaced it, and
    /// somebody has been told.
    pub(super) fn is_of_another(&self, failure: &Failure, key: &FileKey) -> bool {
        failure.is_of_another(self.identify(key))
    }

    /// Returns why a file is not complete, if it is not.
    pub(super) fn check(&self, key: &FileKey, identity: Option<FileId>) -> Result<()> {
        let failure = self.read().failure(key);
        if let Some(failure) = failure.filter(|failure| !self.is_of_another(failure, key)) {
            return Err(failure.tell());
        }
        identity.and_then(|identity| self.failure_of(identity)).map_or(Ok(()), |failure| Err(failure.tell()))
    }

    /// The same for a folder and all that is in it.
    pub(in crate::vfs) fn check_within(&self, folder: &FileKey) -> Result<()> {
        let failed = self.read().failed_names();
        if failed.is_empty() {
            return Ok(());
        }
        let mut within = Within::new(self.backend(folder), folder);
        let found = failed.iter().find(|(key, failure)| within.has(key) && !self.is_of_another(failure, key));
        match found {
            Some((_, failure)) => Err(failure.tell()),
            None => self.check(folder, self.identify(folder)),
        }
    }

    /// After a failure: nothing more is written by this handle. `told`: the caller returns it.
    pub(super) fn give_up(&self, slot: &Slot, mut state: FileGuard<'_, State>, error: Error, told: bool) -> Error {
        // Closed by its drop. Only the first failure is told: whatever the close says is a consequence of it, or less.
        drop(std::mem::replace(&mut *state, State::Away));
        self.forget(slot, state, Some((error.clone(), told)));
        error
    }

    pub(super) fn forget_panicked(&self, slot: &Slot, state: FileGuard<'_, State>, told: bool) -> Error {
        let cause = io::Error::other("a call before this one panicked, and what it wrote is not known");
        let error = self.error(&slot.key, Operation::Write, cause);
        self.forget(slot, state, Some((error.clone(), told)));
        error
    }

    /// The file has no handle any more: its slot leaves the index, in the same moment in which a failure is there to be
    /// found.
    pub(super) fn forget(&self, slot: &Slot, mut state: FileGuard<'_, State>, failure: Option<(Error, bool)>) {
        slot.can_be_evicted.store(false, Relaxed);
        let mut index = self.write_index();
        let (mut names, identity) = index.remove(slot);
        if let Some((error, told)) = failure {
            if names.is_empty() {
                names.push(slot.key.clone());
            }
            index.fail(names, identity, error, told);
        }
        *state = State::Gone;
    }

    /// Has to come before a call that changes what a name leads to: what is wrong with the file that it leads to now.
    pub(in crate::vfs) fn wrong_with(&self, key: &FileKey, change: Change) -> Wrong {
        if !self.read().has_failures() {
            return Wrong { failures: Vec::new() };
        }
        let backend = self.backend(key);
        let is_link = change == Change::Unnamed && backend.is_link(&key.path);
        // If the system cannot say whether there are other names, nothing is forgotten.
        let has_others = || backend.names(&key.path).map_or(true, |names| names > 1);
        let outlives = is_link || change != Change::Emptied && has_others();
        let found = self.identify(key);
        let by_name = self.read().failure(key).filter(|failure| !failure.is_of_another(found));
        let mut failures: Vec<_> = by_name.into_iter().collect();
        failures.extend(found.and_then(|found| self.failure_of(found)));
        // A file that another program has moved away is not the one that changes.
        let is_elsewhere = |failure: &Failure| failure.identity.is_some() && failure.identity != found;
        let failures = failures.into_iter().map(|failure| {
            let stays = outlives || is_elsewhere(&failure);
            (failure, stays)
        });
        Wrong { failures: failures.collect() }
    }

    /// Forgets the failures of the file that had this name, if it is gone: no file is incomplete for them any more.
    ///
    /// Failures of names below `gone` stay. A folder that is removed or replaced was empty, so their files are gone by
    /// other ways, or live where another program has moved them: no call has returned what happened to them.
    pub(in crate::vfs) fn forget_failures(&self, gone: &FileKey, wrong: &Wrong) {
        let mut index = self.write_index();
        for (failure, stays) in &wrong.failures {
            if *stays {
                index.lose_name(failure, gone);
            } else {
                index.take(failure);
            }
        }
        index.forget_failure(gone);
    }

    /// Keeps an error that there is no call to return it, or that shall stay.
    pub(in crate::vfs) fn keep(&self, key: &FileKey, error: Error, told: bool) {
        let identity = self.identify(key);
        self.write_index().fail(vec![key.clone()], identity, error, told);
    }
}
