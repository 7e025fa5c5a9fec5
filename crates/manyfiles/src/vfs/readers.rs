//! Files that are read again and again, kept open to be read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::file_key::FileKey;
use super::handle_limit::Permit;
use super::{Identity, Input};

/// How long, in milliseconds, a file is read by one handle. A network file system shows what other machines wrote when
/// a file is opened, and not always before: this bounds how late that is. Opening once in a second costs nothing.
const LIFETIME: u64 = 1_000;

/// An open file. It can be read from several threads at a time, and is closed when the last of them is done.
pub(super) struct Reader {
    pub(super) input: Box<dyn Input>,
    pub(super) identity: Option<Identity>,
    opened: u64,
    used: AtomicU64,
    /// Only a reader that is kept has one.
    _permit: Option<Permit>,
}

impl Reader {
    pub(super) fn new(input: Box<dyn Input>, now: u64, permit: Option<Permit>) -> Reader {
        let identity = input.identity();
        Reader { input, identity, opened: now, used: AtomicU64::new(now), _permit: permit }
    }

    fn is_old(&self, now: u64) -> bool {
        now.saturating_sub(self.opened) >= LIFETIME
    }
}

/// The readers that are kept, by name. Under its lock nothing is opened, read or closed.
#[derive(Default)]
pub(super) struct Readers(Mutex<HashMap<FileKey, Arc<Reader>>>);

impl Readers {
    fn lock(&self) -> MutexGuard<'_, HashMap<FileKey, Arc<Reader>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reader that is kept for a name. The caller has to check that the name still leads to its file.
    pub(super) fn get(&self, key: &FileKey, now: u64) -> Option<Arc<Reader>> {
        let mut readers = self.lock();
        let found = readers.get(key)?;
        if !found.is_old(now) {
            found.used.store(now, Relaxed);
            return Some(Arc::clone(found));
        }
        let old = readers.remove(key);
        drop(readers);
        drop(old);
        None
    }

    /// Keeps a reader. Those that are too old to be used again are let go.
    pub(super) fn keep(&self, key: &FileKey, reader: &Arc<Reader>, now: u64) {
        let gone: Vec<_> = {
            let mut readers = self.lock();
            let old = readers.extract_if(|_, reader| reader.is_old(now)).map(|(_, reader)| reader);
            let mut gone: Vec<_> = old.collect();
            gone.extend(readers.insert(key.clone(), Arc::clone(reader)));
            gone
        };
        drop(gone);
    }

    /// Lets go of those that are chosen, by name and by what they are.
    pub(super) fn forget(&self, mut chosen: impl FnMut(&FileKey, Option<Identity>) -> bool) {
        let gone: Vec<_> = {
            let mut readers = self.lock();
            readers.extract_if(|key, reader| chosen(key, reader.identity)).collect()
        };
        drop(gone);
    }

    /// Lets go of the one used longest ago. False if there was none.
    pub(super) fn forget_oldest(&self) -> bool {
        let oldest = {
            let mut readers = self.lock();
            let oldest = readers.iter().min_by_key(|(_, reader)| reader.used.load(Relaxed));
            let key = oldest.map(|(key, _)| key.clone());
            key.and_then(|key| readers.remove(&key))
        };
        oldest.is_some()
    }

    /// The names by which files are kept.
    pub(super) fn names(&self) -> Vec<FileKey> {
        self.lock().keys().cloned().collect()
    }
}
