//! Folders that may not be made yet.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::tree::engine::folders::{FolderId, Identity};

/// So many are kept before it is asked which of them are made.
const FEW: usize = 64;

/// The folders in one folder that may not be made yet, by the keys of their names. Those that are made are forgotten
/// now and then.
#[derive(Debug, Default)]
pub(super) struct Unmade {
    by_key: HashMap<u64, FolderId, BuildHasherDefault<Identity>>,
    /// How many there may be before that is asked again.
    most: usize,
}

impl Unmade {
    /// Where folders fail, none of them is ever made. So it is asked again only when there are twice as many as the
    /// last time left: else each would ask for all before it.
    pub(super) fn insert(&mut self, key: u64, id: FolderId, is_made: impl Fn(FolderId) -> bool) {
        if self.by_key.len() >= self.most.max(FEW) {
            self.by_key.retain(|_, &mut id| !is_made(id));
            self.most = 2 * self.by_key.len();
        }
        self.by_key.insert(key, id);
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<FolderId> {
        self.by_key.remove(&key)
    }

    /// Whether this folder was among them. Where names fold, another one may be there by its key.
    pub(super) fn forget(&mut self, key: u64, id: FolderId) -> bool {
        let is_there = self.by_key.get(&key) == Some(&id);
        if is_there {
            self.by_key.remove(&key);
        }
        is_there
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn folders_that_are_never_made_are_asked_for_twice_each_and_not_for_each_other() {
        const FOLDERS: u32 = 100_000;
        let asked = Cell::new(0);
        let mut unmade = Unmade::default();
        for id in 0..FOLDERS {
            unmade.insert(id.into(), id, |_| {
                asked.set(asked.get() + 1);
                false
            });
        }
        assert!(asked.get() <= 2 * FOLDERS, "{} times", asked.get());
        assert_eq!((unmade.remove(99), unmade.remove(99)), (Some(99), None));
    }

    #[test]
    fn folders_that_are_made_are_forgotten() {
        let mut unmade = Unmade::default();
        for id in 0..10_000 {
            unmade.insert(id.into(), id, |_| true);
            assert!(unmade.by_key.len() <= FEW);
        }
        assert!(!unmade.is_empty());
    }

    #[test]
    fn only_the_folder_itself_is_forgotten() {
        let mut unmade = Unmade::default();
        unmade.insert(7, 1, |_| false);
        assert!(!unmade.forget(7, 2) && !unmade.forget(8, 1) && unmade.forget(7, 1) && unmade.is_empty());
    }
}
