//! What is to be done: one entry of one folder.

use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use super::counts::TELLING_SIZE;
use super::folders::{Folder, FolderId};
use super::name::Name;
use crate::tree::content::{Content, Kind};
use crate::tree::{Metadata, Node, Symlink};

/// One entry of one folder.
#[derive(Debug)]
pub(in crate::tree) struct Job {
    /// The entry's name in the folder. Empty: the folder itself.
    pub(super) name: Name,
    /// Key of the name; the queue sets it.
    pub(super) key: u64,
    /// Whether the name is held for this job, so that it has to be released when the job is done.
    pub(super) holds: bool,
    pub(super) work: Work,
}

#[derive(Debug)]
pub(in crate::tree) enum Work {
    File {
        content: Content,
        metadata: Metadata,
    },
    Symlink {
        link: Symlink,
        metadata: Metadata,
    },
    /// One half of a hard link, which stands in the order of two names. See [`Link`].
    Link(Arc<Link>),
    /// A hard link of which this job has both names.
    HardLink {
        folder: Arc<Folder>,
        existing: OsString,
    },
    /// A file that is complete under another name gets this one.
    GiveName(Box<Unnamed>),
    Node {
        node: Node,
        metadata: Metadata,
    },
    /// A stream of this name failed that was written beside it: no link from here on gets what has the name.
    Stray,
    /// The folder itself has to be there.
    MakeFolder,
    /// The outcome for this folder, made or failed, has to be known before later entries of its name begin.
    Reach(Arc<Folder>),
    /// The last thing that happens to a folder: `name` is a folder in this one.
    FinishFolder {
        metadata: Metadata,
        /// Whether the folder was there before this run.
        was_there: bool,
    },
    /// The names in the folder itself are made durable.
    SyncFolder,
}

/// A hard link, which stands in the order of two names: what is written under either name before the link is done
/// before it, and what comes after waits. The queue of each name's folder has one half of it. The half that is taken
/// first only holds its name; the thread that takes the second makes the link.
#[derive(Debug)]
pub(in crate::tree) struct Link {
    pub(super) to: Arc<Folder>,
    pub(super) name: OsString,
    pub(super) from: Arc<Folder>,
    pub(super) existing: OsString,
    /// Where the half that was taken first holds its name, and the key of that name. `None` in it: both names are one,
    /// and the other half holds it. Written under the queue's lock.
    pub(super) first: OnceLock<Option<(FolderId, u64)>>,
    /// Whether it was counted as dropped by a cancellation: both halves are dropped then.
    dropped: AtomicBool,
    /// What to write under the name if the link cannot be made.
    pub(super) otherwise: Mutex<Option<(Content, Metadata)>>,
}

/// A file that was written beside its name, because the name was in use, and is complete.
#[derive(Debug)]
pub(in crate::tree) struct Unnamed {
    pub(super) temporary: OsString,
    pub(super) metadata: Metadata,
    /// Bytes of content, and their digest if one was asked for.
    pub(super) bytes: u64,
    pub(super) digest: Option<Vec<u8>>,
}

impl Link {
    pub(super) fn new(
        to: Arc<Folder>,
        name: &OsStr,
        from: Arc<Folder>,
        existing: &OsStr,
        otherwise: Option<(Content, Metadata)>,
    ) -> Link {
        Link {
            to,
            name: name.into(),
            from,
            existing: existing.into(),
            first: OnceLock::new(),
            dropped: AtomicBool::new(false),
            otherwise: otherwise.into(),
        }
    }
}

impl Job {
    pub(in crate::tree) fn new(name: &OsStr, work: Work) -> Job {
        Job { name: name.into(), key: 0, holds: false, work }
    }

    /// Whether the time that the job takes depends, or may depend, on its content more than on anything else.
    pub(super) fn is_large(&self) -> bool {
        match &self.work {
            Work::File { content, .. } => {
                !matches!(content.0, Kind::Bytes(_)) || content.weight() as u64 > TELLING_SIZE
            }
            _ => false,
        }
    }

    /// Whether a caller handed the job over, so that it counts as an entry.
    pub(super) fn is_entry(&self) -> bool {
        !matches!(self.work, Work::Stray | Work::Reach(_) | Work::FinishFolder { .. } | Work::SyncFolder)
    }

    /// Whether dropping it, undone, is one more entry that was not written.
    pub(super) fn drops_an_entry(&self) -> bool {
        match &self.work {
            Work::Link(link) => !link.dropped.swap(true, Relaxed),
            _ => self.is_entry(),
        }
    }

    /// What the job counts for in the bound on bytes in flight: its content, and its own size.
    pub(super) fn weight(&self) -> usize {
        const OWN: usize = 160;
        let name = if let Name::Long(name) = &self.name { name.len() } else { 0 };
        OWN + name
            + match &self.work {
                Work::File { content, metadata } => content.weight() + metadata.xattrs.weight(),
                Work::Symlink { link, metadata } => link.target().as_os_str().len() + metadata.xattrs.weight(),
                Work::Link(link) => link.name.len() + link.existing.len(),
                _ => 0,
            }
    }
}
