//! Which file is meant.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path in one of the backends, by number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FileKey {
    pub(super) backend: usize,
    /// Equal and ordered by components, so that all that is in a folder follows it.
    pub(super) path: Arc<Path>,
}

impl FileKey {
    pub(super) fn new(backend: usize, path: PathBuf) -> FileKey {
        FileKey { backend, path: path.into() }
    }

    /// Whether this is `folder` or in it, however deep.
    pub(super) fn is_within(&self, folder: &FileKey) -> bool {
        self.backend == folder.backend && self.path.starts_with(&folder.path)
    }

    /// Whether this is `folder` or its direct child.
    pub(super) fn is_direct_child_of(&self, folder: &FileKey) -> bool {
        self.backend == folder.backend && self.path.parent() == Some(&folder.path)
    }
}
