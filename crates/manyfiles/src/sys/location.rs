//! Which file an open handle is, and where it is.

use super::{Identity, Name};

/// What is known of an open file: enough to tell whether another path leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) identity: Identity,
    /// The mount through which it was reached; 0 where the system does not say. Names lead to the same only within one
    /// mount: what is mounted in two places has two names there.
    pub(crate) mount: u64,
    /// Its path as the system knows it, whatever path it was opened by: without links, from the root. `None` where the
    /// system does not say.
    pub(crate) name: Option<Name>,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathPlace {
    File(Identity),
    Folder(Place),
}
