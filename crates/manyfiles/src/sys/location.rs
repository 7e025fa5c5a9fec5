//! Which file an open handle is, and where it is.

use super::{Identity, SystemPath};

/// What is known of an open file: enough to tell whether another path leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) identity: Identity,
    /// The mount through which it was reached; 0 where the system does not say. Paths lead to the same only within one
    /// mount: what is mounted in two places has two paths there.
    pub(crate) mount: u64,
    /// Its path as the system knows it, whatever path it was opened by: without links, from the root. `None` where the
    /// system does not say.
    pub(crate) path: Option<SystemPath>,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AtPath {
    File(Identity),
    Folder(Location),
}
