//! The temporary names of one tree. What they say, and what is removed, is in [`crate::temporary`].

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::sync::Mutex;

use super::folders::FolderId;
use super::lock::lock;
use crate::sys::Dir;
use crate::temporary;

/// Those of one tree.
#[derive(Debug, Default)]
pub(in crate::tree) struct Temporaries {
    /// Folders that were looked through, and whether the time was known then.
    swept: Mutex<HashSet<(FolderId, bool)>>,
}

impl Temporaries {
    /// A name that nothing has, but for chance.
    pub(in crate::tree) fn name(&self) -> OsString {
        temporary::name()
    }

    /// Whether a name is a temporary one of a process that is surely gone.
    pub(in crate::tree) fn is_of_the_dead(&self, name: &OsStr) -> bool {
        temporary::is_of_the_dead(name)
    }

    /// Removes what dead processes left in a folder, the first time that this run comes there, and again the first time
    /// that it makes a temporary there, `own`, which tells the file system's time.
    pub(super) fn sweep(&self, folder: FolderId, dir: &Dir, own: Option<&OsStr>) {
        if lock(&self.swept).insert((folder, own.is_some())) {
            temporary::tidy(dir, own);
        }
    }
}
