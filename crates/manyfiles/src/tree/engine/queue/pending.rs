//! What waits in a folder, and where that is kept while something does.

use std::collections::VecDeque;
use std::hash::BuildHasherDefault;

use super::unmade::Unmade;
use crate::tree::engine::folders::{FolderId, Identity};
use crate::tree::engine::job::Job;

/// Held names by their keys, each with the jobs that are parked behind it.
pub(super) type Held = std::collections::HashMap<u64, VecDeque<Job>, BuildHasherDefault<Identity>>;

/// The entries of one folder, in the order in which they were handed over.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) jobs: VecDeque<Job>,
    pub(super) weight: usize,
    /// Whether one thread has taken entries, and no other thread may take any. That thread writes the entries in their
    /// order, so that their names need not be held.
    pub(super) exclusive: bool,
    /// The keys of the names that this thread has.
    pub(super) taken: Vec<u64>,
    pub(super) held: Held,
    /// Threads at work in the folder.
    pub(super) threads: u32,
    /// Whether the folder stands in `ready`.
    pub(super) listed: bool,
    /// Whether earlier entries of the folder's own name are not done yet.
    pub(super) blocked: bool,
    /// Folders in it that may not be made yet.
    pub(super) unmade: Unmade,
}

impl Pending {
    pub(super) fn is_free(&self, key: u64) -> bool {
        !self.held.contains_key(&key) && !self.taken.contains(&key) && !self.jobs.iter().any(|job| job.key == key)
    }

    /// Whether it says no more than a new one does.
    fn is_idle(&self) -> bool {
        let is_in_use = self.threads > 0 || self.listed || self.blocked || self.exclusive;
        !is_in_use && self.jobs.is_empty() && self.taken.is_empty() && self.held.is_empty() && self.unmade.is_empty()
    }
}

/// Idle ones that are kept for the next folders.
const SPARE: usize = 64;

/// What waits, of the folders in which anything does. A tree may have millions of others.
#[derive(Debug, Default)]
pub(super) struct PendingFolders {
    /// By the folder's number: it is looked up several times for each entry, and all threads wait for the lock.
    busy: Vec<Option<Box<Pending>>>,
    #[expect(clippy::vec_box, reason = "they come from the list above and go back there")]
    spare: Vec<Box<Pending>>,
    /// What is said of all others.
    idle: Pending,
}

impl PendingFolders {
    pub(super) fn get(&self, id: FolderId) -> &Pending {
        self.busy.get(id as usize).and_then(Option::as_deref).unwrap_or(&self.idle)
    }

    /// What something is added to. Who takes the last of it away calls [`forget_idle`](PendingFolders::forget_idle)
    /// afterwards.
    pub(super) fn get_mut(&mut self, id: FolderId) -> &mut Pending {
        let at = id as usize;
        if at >= self.busy.len() {
            self.busy.resize_with(at + 1, || None);
        }
        self.busy[at].get_or_insert_with(|| self.spare.pop().unwrap_or_default())
    }

    /// Folders in which something waits or is being done.
    pub(super) fn ids(&self) -> Vec<FolderId> {
        (0..).zip(&self.busy).filter_map(|(id, pending)| pending.is_some().then_some(id)).collect()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (FolderId, &mut Pending)> {
        (0..).zip(&mut self.busy).filter_map(|(id, pending)| Some((id, &mut **pending.as_mut()?)))
    }

    /// Keeps nothing of the folder if nothing is left to do in it. Returns its list of jobs, which is empty, to be used
    /// again.
    pub(super) fn forget_idle(&mut self, id: FolderId) -> Option<VecDeque<Job>> {
        let mut pending = self.busy.get_mut(id as usize)?.take_if(|pending| pending.is_idle())?;
        let jobs = std::mem::take(&mut pending.jobs);
        if self.spare.len() < SPARE {
            *pending = Pending::default();
            self.spare.push(pending);
        }
        Some(jobs)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.busy.iter().flatten().count()
    }
}
