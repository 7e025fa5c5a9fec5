//! What is known of a name or an open file, in the same terms on every system.

use std::time::SystemTime;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// Anything that leads elsewhere: on Windows junctions and mounted volumes, too.
    Symlink,
    /// A device, a FIFO or a socket.
    Other,
}

/// How a folder is entered to remove what is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entering {
    /// Gives this user the rights that its own folders forbid.
    pub(crate) take_rights: bool,
    /// Also if something is mounted there.
    pub(crate) across_mounts: bool,
}

/// Tells a file from all others that exist at the same time: two names with the same identity are names of one file.
///
/// The reverse does not always hold: an overlay shows one file under two identities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    pub(crate) volume: u64,
    pub(crate) file: u128,
}

impl Identity {
    /// The file with the number `file` on the volume with the number `volume`.
    pub fn new(volume: u64, file: u128) -> Identity {
        Identity { volume, file }
    }
}

/// What is asked about a name or a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    pub(crate) kind: EntryKind,
    pub(crate) identity: Identity,
    pub(crate) len: u64,
    pub(crate) links: u64,
    /// Permission bits. On Windows, what the read-only attribute comes to.
    pub(crate) mode: u32,
    /// User and group. Zeros on Windows, where they have no numbers.
    pub(crate) owner: (u32, u32),
    pub(crate) modified: SystemTime,
    /// When anything about it was changed last, its name or its permissions included.
    pub(crate) changed: SystemTime,
    /// Time of the last access.
    pub(crate) accessed: SystemTime,
    /// How many bytes the file takes on the disk, as far as the system says.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems reserve nothing that stays"))]
    pub(crate) allocated: u64,
    /// Whether less is allocated than the length needs.
    pub(crate) sparse: bool,
    /// Whether more is allocated than the length needs.
    pub(crate) spare: bool,
}
