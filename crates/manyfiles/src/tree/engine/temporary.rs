//! The temporary names of one tree. What they say, and what is removed, is in [`crate::temporary`].

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::sync::Mutex;

use super::folders::FolderId;
use super::lock::lock;
use crate::sys::Dir;
use crate::temporary;

/// The temporary names of one tree.
#[derive(Debug, Default)]
pub(super) struct Temporaries {
    /// Folders that were looked through, and whether the time was known then.
    swept: Mutex<HashSet<(FolderId, bool)>>,
    /// Entries of the run that are named as temporaries are, in lower case: a copy of a folder that a killed run left
    /// something in. The lock is held while a file is looked at and removed.
    entries: Mutex<HashSet<(FolderId, OsString)>>,
}

impl Temporaries {
    /// A name that nothing has, but for chance.
    pub(super) fn name(&self) -> OsString {
        temporary::name()
    }

    /// Notes an entry, before anything has its name: from then on the run removes no file of this name as one that a
    /// dead process left.
    pub(super) fn note_entry(&self, folder: FolderId, name: &OsStr) {
        if temporary::looks_temporary(name) {
            lock(&self.entries).insert((folder, name.to_ascii_lowercase()));
        }
    }

    /// Removes what dead processes left in a folder, the first time that this run comes there, and again the first time
    /// that it makes a temporary there, `own`, which tells the file system's time.
    pub(super) fn sweep(&self, folder: FolderId, dir: &Dir, own: Option<&OsStr>) {
        if lock(&self.swept).insert((folder, own.is_some())) {
            let entries = lock(&self.entries);
            temporary::tidy(dir, own, |name| entries.contains(&(folder, name.to_ascii_lowercase())));
        }
    }
}
