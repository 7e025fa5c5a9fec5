//! What became of each entry, told as it happens.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::Error;

/// An entry that is done with: what [`Options::on_entry`](super::Options::on_entry) is called with.
#[derive(Debug)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// The path that the entry was handed over with, relative to the root, in normal form.
    pub path: &'a Path,
    /// What became of it.
    pub outcome: Outcome<'a>,
}

/// What became of an entry.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// The entry was written and closed.
    #[non_exhaustive]
    Written {
        /// The path that the entry got, if it is another one than it was handed over with
        /// ([`OnConflict::Rename`](super::OnConflict::Rename)).
        renamed: Option<&'a Path>,
        /// What the system says of the file, or of the link itself. `None` of a folder, which changes until the tree is
        /// finished.
        stat: Option<EntryStat>,
        /// The digest of its content, of a file and if [`Options::digest`](super::Options::digest) asks for one.
        digest: Option<&'a [u8]>,
        /// What it shares with the file that it was made of.
        shares: Shares,
    },
    /// The entry was left out because its name is taken, or its content is there already.
    Skipped,
    /// The entry was not written, or not to its end.
    Failed(&'a Error),
    /// The entry was not begun, or was removed again, because the writing was cancelled.
    Cancelled,
}

/// What a new file shares with the one that it was made of ([`Content::copy_of`](super::Content::copy_of),
/// [`Content::link_to`](super::Content::link_to)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shares {
    /// Its bytes are its own.
    #[default]
    Nothing,
    /// It is a clone: both have the same blocks until one of them changes, which the other doesn't show.
    Blocks,
    /// It is the same file under another name.
    All,
}

/// What the system said of an entry when it was complete, before it was closed: what an index that finds changes by
/// needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryStat {
    /// Length in bytes.
    pub len: u64,
    /// Time of the last modification.
    pub modified: SystemTime,
    /// Time of the last change of content or metadata, as far as the system keeps it.
    pub changed: SystemTime,
    /// User and group number. 0 on Windows.
    pub owner: (u32, u32),
    /// Permission bits. On Windows, what the read-only attribute comes to.
    pub mode: u32,
    /// Number of the device or volume.
    pub device: u64,
    /// Number of the file on its device.
    pub inode: u128,
}

impl From<crate::sys::Stat> for EntryStat {
    fn from(stat: crate::sys::Stat) -> EntryStat {
        EntryStat {
            len: stat.len,
            modified: stat.modified,
            changed: stat.changed,
            owner: stat.owner,
            mode: stat.mode,
            device: stat.identity.volume,
            inode: stat.identity.file,
        }
    }
}

/// What is called for each entry.
#[derive(Clone)]
pub(super) struct OnEntry(pub(super) Arc<dyn Fn(&Entry<'_>) + Send + Sync>);

impl fmt::Debug for OnEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnEntry")
    }
}
