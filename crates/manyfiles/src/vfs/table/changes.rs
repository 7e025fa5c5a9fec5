//! Changes of what names lead to: nothing is kept open there meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering::Release;

use super::Table;
use crate::vfs::file_key::FileKey;
use crate::vfs::index::{Slot, State};
use crate::vfs::within::Within;

impl Table {
    /// Changes what a name leads to, while no handle is kept for the file that it leads to before, and no thread opens
    /// one by this name. What was written to that file before, by any of its names, is in it when `work` begins. Of
    /// what is kept below the name, handles that no thread uses are closed before.
    pub(in crate::vfs) fn exclusively<T>(&self, key: &FileKey, work: impl FnOnce() -> T) -> T {
        loop {
            let (slot, _) = self.write_index().slot(key);
            let mut state = slot.lock();
            if matches!(*state, State::Gone) {
                continue;
            }
            if !matches!(*state, State::New) {
                // Only a permit is dropped: `evict` keeps the failure of the file.
                drop(self.evict(&slot, state));
                continue;
            }
            *state = State::Away;
            let identity = self.identify(key);
            if let Some(other) = identity.and_then(|identity| self.read().by_identity(identity)) {
                drop(self.evict(&other, other.lock()));
            }
            self.forget_readers(key, identity);
            self.close_idle_within(key, &slot);
            let result = work();
            self.changes.fetch_add(1, Release);
            self.forget(&slot, state, None);
            return result;
        }
    }

    pub(super) fn close_idle_within(&self, folder: &FileKey, own: &Arc<Slot>) {
        let names: Vec<(FileKey, Arc<Slot>)> = {
            let index = self.read();
            let others = index.names().filter(|(_, slot)| !Arc::ptr_eq(slot, own));
            others.map(|(name, slot)| (name.clone(), Arc::clone(slot))).collect()
        };
        let mut within = Within::new(self.backend(folder), folder);
        for (name, slot) in names {
            if within.has(&name)
                && let Some(state) = slot.try_lock()
            {
                drop(self.evict(&slot, state));
            }
        }
        let below: Vec<FileKey> = self.readers.names().into_iter().filter(|name| within.has(name)).collect();
        if !below.is_empty() {
            self.readers.forget(|name, _| below.contains(name));
        }
    }
}
