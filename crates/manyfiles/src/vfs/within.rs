//! What is in a folder, by whatever names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::file_key::FileKey;
use super::{Backend, Identity};

/// Answers whether files are in one folder, and looks up each folder on their way once.
pub(super) struct Within<'a> {
    backend: &'a dyn Backend,
    folder: &'a FileKey,
    /// What the folder is. `None`: nothing is there, or its paths are all that is known.
    identity: Option<Identity>,
    /// Of folders: whether they are the folder, and whether they are it or in it.
    known: HashMap<PathBuf, (bool, bool)>,
}

impl<'a> Within<'a> {
    pub(super) fn new(backend: &'a dyn Backend, folder: &'a FileKey) -> Within<'a> {
        // Nothing there, or nothing that may be looked at: paths have to do.
        let identity = backend.identity(&folder.path).ok().flatten();
        Within { backend, folder, identity, known: HashMap::new() }
    }

    /// Whether the name is in the folder, however deep, or the folder's own.
    pub(super) fn has(&mut self, name: &FileKey) -> bool {
        name.is_within(self.folder) || self.ask(name).1
    }

    /// Whether the name is directly in the folder.
    pub(super) fn has_child(&mut self, name: &FileKey) -> bool {
        name.is_direct_child_of(self.folder) || self.ask(name).0
    }

    fn ask(&mut self, name: &FileKey) -> (bool, bool) {
        let (Some(identity), Some(parent)) = (self.identity, name.path.parent()) else { return (false, false) };
        if name.backend != self.folder.backend {
            return (false, false);
        }
        if let Some(&known) = self.known.get(parent) {
            return known;
        }
        let answer = self.look(parent, identity);
        self.known.insert(parent.to_path_buf(), answer);
        answer
    }

    fn look(&self, parent: &Path, identity: Identity) -> (bool, bool) {
        let is_it = |path: &Path| matches!(self.backend.identity(path), Ok(Some(found)) if found == identity);
        // A folder that cannot be found has nothing in it.
        let Ok(real) = self.backend.canonical(parent) else { return (false, false) };
        (is_it(&real), real.ancestors().any(is_it))
    }
}
