//! What differs between two trees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::report::{Mirrored, NotMirrored};
use super::{Mirror, apply};
use crate::Error;
use crate::sys::{Dir, EntryKind, Identity};

/// Something that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Relative to both folders; empty for these themselves.
    pub path: PathBuf,
    /// What it is: in the source, or of what is only in the target, there.
    pub kind: EntryKind,
    /// How it differs.
    pub what: What,
    /// How many bytes the file has in the source.
    pub len: u64,
}

/// How something differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// It is not in the target. A folder stands for all that is in it.
    New,
    /// Its content is another one, as far as was looked; or what a link says, or which device it is.
    Content,
    /// Its permissions, its owner or, of what is no file, its time.
    Metadata,
    /// It is to be a second name for the file that has this path.
    Link(PathBuf),
    /// It is in the target under this path, which the source has not: it is renamed. It may be in a folder that is new,
    /// or come from one that is only in the target.
    Moved(PathBuf),
    /// Something of another kind has its name in the target.
    Kind,
    /// It is only in the target. A folder stands for all that is in it.
    Extra,
}

/// What differs between two trees, in the order of the paths, and what it takes to make it good.
#[derive(Debug)]
pub struct Differences {
    pub(super) how: Mirror,
    pub(super) from: Arc<Dir>,
    pub(super) source: PathBuf,
    pub(super) target: PathBuf,
    /// `None`: it was not there.
    pub(super) target_is: Option<Identity>,
    pub(super) all: Vec<Difference>,
    /// Files of the source that have further names, with a path that each has in the target.
    pub(super) links: Vec<(Identity, PathBuf)>,
    pub(super) unchanged: u64,
    pub(super) left_out: Vec<PathBuf>,
    pub(super) removals: u64,
    pub(super) source_is_empty: bool,
    pub(super) failures: Vec<Error>,
}

impl Differences {
    /// Whether the trees are equal.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.failures.is_empty()
    }

    /// What could not be compared, such as a folder of the source that may not be read. Whatever it holds in the target
    /// stays as it is.
    pub fn failures(&self) -> &[Error] {
        &self.failures
    }

    /// Each of them, in the order of the paths.
    pub fn iter(&self) -> impl Iterator<Item = &Difference> {
        self.all.iter()
    }

    /// Files and links that are the same.
    pub fn unchanged(&self) -> u64 {
        self.unchanged
    }

    /// How many names [`apply`](Differences::apply) would remove, those of folders and in them included. Files that moved are not among
    /// them.
    pub fn removals(&self) -> u64 {
        self.removals
    }

    /// Devices, FIFOs and sockets that are left out.
    pub fn left_out(&self) -> impl Iterator<Item = &Path> {
        self.left_out.iter().map(PathBuf::as_path)
    }

    /// Makes them good. What changed since they were found is treated as it is then: a file that is gone from the source
    /// is a failure; so is a name that is to be removed and is a folder by now, and more to be removed than
    /// [`max_delete`](Mirror::max_delete) allows. Then nothing is removed. A folder that is only in the target is removed
    /// with all that is in it by then.
    ///
    /// # Errors
    /// If anything differs still; and before anything is touched if more is to be removed than allowed.
    pub fn apply(self) -> Result<Mirrored, NotMirrored> {
        apply::apply(self)
    }
}
