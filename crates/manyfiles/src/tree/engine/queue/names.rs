//! The order of one name's entries: which names are in use, and what has to be there before.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Queue;
use super::pending::Held;
use crate::tree::engine::folders::{Folder, FolderId};
use crate::tree::engine::job::{Job, Work};

impl Queue {
    /// The folder with this path, which is checked and in normal form.
    pub(in crate::tree::engine) fn folder(&mut self, path: &OsStr) -> FolderId {
        let id = self.folders.of(path);
        while self.known < self.folders.len() {
            let new = self.folders.get(self.known as FolderId).clone();
            self.known += 1;
            self.add_below(new);
        }
        id
    }

    /// Puts a folder that was named for the first time into the order of its name. It is made when an entry needs it,
    /// unless its name is in use: then after that, and what is in it waits.
    pub(super) fn add_below(&mut self, folder: Arc<Folder>) {
        let Some(parent) = folder.parent.as_ref().map(|parent| parent.id) else { return };
        let key = self.key(parent, &folder.name);
        let above = self.pending.get(parent);
        if above.blocked || !above.is_free(key) {
            self.pending.get_mut(folder.id).blocked = true;
            self.reach(parent, folder);
        }
    }

    /// An entry is to be written in this folder: those above it that may not be made yet are before what comes under
    /// their names.
    pub(super) fn need(&mut self, id: FolderId) {
        let mut folder = self.folders.get(id).clone();
        while !folder.needed.swap(true, Relaxed)
            && let Some(parent) = folder.parent.clone()
        {
            if !folder.made.load(Relaxed) {
                let key = self.key(parent.id, &folder.name);
                let Queue { folders, pending, .. } = self;
                let is_made = |id| folders.get(id).made.load(Relaxed);
                pending.get_mut(parent.id).unmade.insert(key, folder.id, is_made);
            }
            folder = parent;
        }
    }

    /// A thread has left this folder. If it is made, and so those above it, none of them is one that may not be made
    /// yet.
    pub(super) fn forget_made(&mut self, id: FolderId) {
        let mut folder = self.folders.get(id).clone();
        while folder.made.load(Relaxed)
            && let Some(parent) = folder.parent.clone()
            && !self.pending.get(parent.id).unmade.is_empty()
        {
            let key = self.key(parent.id, &folder.name);
            if !self.pending.get_mut(parent.id).unmade.forget(key, folder.id) {
                break;
            }
            self.forget_idle(parent.id);
            folder = parent;
        }
    }

    pub(super) fn reach(&mut self, parent: FolderId, folder: Arc<Folder>) {
        let mut job = Job::new(&folder.name, Work::Reach(folder.clone()));
        job.key = self.key(parent, &folder.name);
        self.unfinished += 1;
        self.unfinished_weight += job.weight();
        self.enqueue(parent, job, false);
    }

    /// An entry of this name comes: a folder of the name that is needed before, and may not be made yet, is made
    /// before.
    pub(super) fn reach_before(&mut self, id: FolderId, key: u64) {
        if self.pending.get(id).unmade.is_empty() {
            return;
        }
        if let Some(child) = self.pending.get_mut(id).unmade.remove(key)
            && !self.folders.get(child).made.load(Relaxed)
        {
            self.reach(id, self.folders.get(child).clone());
        }
    }

    /// Whether what is in the folder waits for its name.
    pub(in crate::tree::engine) fn is_blocked(&self, id: FolderId) -> bool {
        self.pending.get(id).blocked
    }

    pub(super) fn key(&self, id: FolderId, name: &OsStr) -> u64 {
        if self.folders.get(id).folds.load(Relaxed) { self.keys.folded(name) } else { self.keys.exact(name) }
    }

    /// Notes that a folder which was there before folds names.
    pub(in crate::tree::engine) fn fold_names(&mut self, folder: &Folder) {
        folder.folds.store(true, Relaxed);
        for job in &mut self.pending.get_mut(folder.id).jobs {
            if !job.holds {
                job.key = self.keys.folded(&job.name);
            }
        }
        self.forget_idle(folder.id);
    }

    /// Holds a name for a stream, which writes it without a job. `None` if the name is in use.
    pub(in crate::tree::engine) fn claim(&mut self, id: FolderId, name: &OsStr) -> Option<u64> {
        self.need(id);
        let key = self.key(id, name);
        self.reach_before(id, key);
        if !self.pending.get(id).is_free(key) {
            return None;
        }
        self.pending.get_mut(id).held.insert(key, VecDeque::new());
        Some(key)
    }

    /// Gives a held name to the first job that is parked behind it. If there is none, the name is free.
    pub(in crate::tree::engine) fn release(&mut self, id: FolderId, key: u64) {
        let held = &mut self.pending.get_mut(id).held;
        let Entry::Occupied(mut parked) = held.entry(key) else { return };
        match parked.get_mut().pop_front() {
            Some(mut job) => {
                job.holds = true;
                self.parked -= 1;
                self.enqueue(id, job, true);
            }
            None => {
                parked.remove();
                if held.is_empty() {
                    *held = Held::default();
                }
                self.forget_idle(id);
            }
        }
    }
}
