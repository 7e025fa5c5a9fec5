//! What is to be done, and what came of it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, OnceLock};

use super::counts::TELLING_SIZE;
use super::name::Name;
use crate::tree::content::{Content, Kind};
use crate::tree::{Metadata, Node};

/// Number of a folder, in the order in which they were first named.
pub(in crate::tree) type FolderId = u32;

/// A folder below the root that somebody named.
#[derive(Debug)]
pub(in crate::tree) struct Folder {
    pub(in crate::tree) id: FolderId,
    /// Relative to the root; empty for the root itself.
    pub(in crate::tree) path: Box<Path>,
    pub(in crate::tree) parent: Option<Arc<Folder>>,
    /// Whether it is known to exist.
    pub(super) made: AtomicBool,
    /// The permissions to make it with.
    pub(super) mode: AtomicU32,
    /// The permissions that this run made it with, if it did.
    pub(super) made_with: AtomicU32,
    /// Whether it is on another file system than the root, as far as that matters: see [`Durable`](super::durable::Durable).
    pub(super) elsewhere: AtomicBool,
    /// Why nothing may be written in it.
    pub(super) refused: OnceLock<crate::tree::Refusal>,
}

impl Folder {
    /// Of [`made_with`](Folder::made_with): it was there before, or the system's umask had a say.
    pub(super) const UNKNOWN: u32 = u32::MAX;

    pub(super) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

/// One entry of one folder.
#[derive(Debug)]
pub(in crate::tree) struct Job {
    /// Its name in the folder. Empty: the folder itself.
    pub(super) name: Name,
    /// [`name_key`] of the name.
    pub(super) key: u64,
    pub(super) work: Work,
}

#[derive(Debug)]
pub(in crate::tree) enum Work {
    File {
        content: Content,
        metadata: Metadata,
    },
    Symlink {
        target: PathBuf,
        metadata: Metadata,
    },
    HardLink {
        folder: Arc<Folder>,
        existing: OsString,
    },
    Node {
        node: Node,
        metadata: Metadata,
    },
    /// The folder itself has to be there.
    MakeFolder,
    /// The last thing that happens to a folder: `name` is a folder in this one.
    FinishFolder {
        metadata: Metadata,
    },
    /// The names in the folder itself are made durable.
    SyncFolder,
}

impl Job {
    pub(in crate::tree) fn new(name: &OsStr, work: Work) -> Job {
        Job { name: name.into(), key: name_key(name), work }
    }

    /// Whether what it takes depends on its content more than on anything else, or may.
    pub(super) fn is_large(&self) -> bool {
        match &self.work {
            Work::File { content, .. } => {
                !matches!(content.0, Kind::Bytes(_)) || content.weight() as u64 > TELLING_SIZE
            }
            _ => false,
        }
    }

    /// Whether somebody handed it over, and it is to be counted.
    pub(super) fn is_entry(&self) -> bool {
        !matches!(self.work, Work::FinishFolder { .. } | Work::SyncFolder)
    }

    /// What it counts for in the bound on bytes in flight: its content, and itself.
    pub(super) fn weight(&self) -> usize {
        const OWN: usize = 128;
        OWN + match &self.work {
            Work::File { content, .. } => content.weight(),
            _ => 0,
        }
    }
}

/// A number that two names share if any file system holds them as one (or, rarely, by chance: it only delays them). FNV-1a over the name, upper-case ASCII folded, and bytes beyond ASCII left out: what folds there is any pair of them.
pub(super) fn name_key(name: &OsStr) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in name.as_encoded_bytes() {
        if byte.is_ascii() {
            hash = (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}
