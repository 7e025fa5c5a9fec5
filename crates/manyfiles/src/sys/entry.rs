//! What is known of a name or an open file, in the same terms on every system.

use std::time::SystemTime;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    /// Anything that leads elsewhere: on Windows junctions and mounted volumes, too.
    Symlink,
    Other,
}

/// What is asked about a name or a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    pub(crate) kind: EntryKind,
    pub(crate) len: u64,
    pub(crate) links: u64,
    /// Permission bits. On Windows, what the read-only attribute comes to.
    pub(crate) mode: u32,
    pub(crate) modified: SystemTime,
    /// Whether less is allocated than the length needs.
    pub(crate) sparse: bool,
}
