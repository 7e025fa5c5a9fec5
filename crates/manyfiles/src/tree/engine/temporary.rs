//! The temporary names of one tree. What they say, and what is removed, is in [`crate::temporary`].

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::sync::{Mutex, PoisonError, RwLock};

use super::folders::FolderId;
use super::lock::lock;
use crate::sys::Dir;
use crate::temporary;

/// Those of one tree.
#[derive(Debug, Default)]
pub(in crate::tree) struct Temporaries {
    /// Folders that were looked through, and whether the time was known then.
    swept: Mutex<HashSet<(FolderId, bool)>>,
    /// An entry of this tree has the name of a temporary file: then nothing by such a name is removed, for it could be
    /// the entry. Held while a folder is looked through.
    spares_all: RwLock<bool>,
}

impl Temporaries {
    /// A name that nothing has, but for chance.
    pub(in crate::tree) fn name(&self) -> OsString {
        temporary::name()
    }

    /// Has to come before an entry with this name is written.
    pub(in crate::tree) fn spare(&self, name: &OsStr) {
        if temporary::is_one(name) {
            *self.spares_all.write().unwrap_or_else(PoisonError::into_inner) = true;
        }
    }

    /// Removes what dead processes left in a folder, the first time that this run comes there, and again the first time
    /// that it makes a temporary there, `own`, which tells the file system's time.
    pub(super) fn sweep(&self, folder: FolderId, dir: &Dir, own: Option<&OsStr>) {
        if lock(&self.swept).insert((folder, own.is_some())) {
            let spares_all = self.spares_all.read().unwrap_or_else(PoisonError::into_inner);
            if !*spares_all {
                temporary::tidy(dir, own);
            }
        }
    }
}
