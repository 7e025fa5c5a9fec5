//! [`Item`]: what is to be written, as the threads get it.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use manyfiles::tree::{Metadata, Node};

use super::source::{Opened, SourceFile};
use crate::entry::Attribute;
use crate::owners::Names;

/// The head of an entry.
#[derive(Clone, Debug)]
pub(super) struct Head {
    /// Bytes without a NUL and without a slash at the end, with slashes between names.
    pub path: Vec<u8>,
    pub mode: u32,
    pub owner: (u32, u32),
    /// Seconds since 1970, and nanoseconds after them.
    pub modified: (i64, u32),
    /// Extended attributes, with access control lists in the kernel's form.
    pub attributes: Vec<Attribute>,
    /// File flags, by bsdtar's names.
    pub flags: String,
    /// Who knows the names of users and groups, if they are stored.
    pub names: Option<Arc<Names>>,
}

impl Head {
    pub(super) fn new(path: Vec<u8>, metadata: &Metadata, default_mode: u32) -> Head {
        Head {
            path,
            mode: metadata.mode.unwrap_or(default_mode),
            owner: metadata.owner.unwrap_or((0, 0)),
            modified: metadata.modified.map_or((0, 0), since_1970),
            attributes: metadata
                .xattrs()
                .map(|(name, value)| Attribute { name: name.to_vec(), value: value.to_vec() })
                .collect(),
            flags: metadata.file_flags(),
            names: None,
        }
    }

    /// With the attributes and flags that the file was found to have. What was given for the entry counts.
    pub(super) fn with_found(&self, found: &Metadata) -> Head {
        let mut head = self.clone();
        for (name, value) in found.xattrs() {
            if self.attributes.iter().all(|given| given.name != name) {
                head.attributes.push(Attribute { name: name.to_vec(), value: value.to_vec() });
            }
        }
        head.attributes.sort_unstable();
        if head.flags.is_empty() {
            head.flags = found.file_flags();
        }
        head
    }
}

fn since_1970(time: SystemTime) -> (i64, u32) {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
            match before.subsec_nanos() {
                0 => (-seconds, 0),
                nanos => (-seconds - 1, 1_000_000_000 - nanos),
            }
        }
    }
}

/// One part of a batch.
#[derive(Debug)]
pub(super) enum Item {
    Folder(Head),
    Symlink(Head, Vec<u8>),
    HardLink(Head, Vec<u8>),
    Node(Head, Node),
    /// A file whose bytes are here.
    Bytes(Head, Arc<[u8]>),
    /// A file that is opened, read and closed by the thread that lays it out. It has no more than this many bytes.
    Small(Head, SourceFile, u64),
    /// The head of a file that is open already.
    Begin(Head, Arc<Opened>),
    /// The next bytes of a file that is open: from an offset, so many.
    Piece(Arc<Opened>, u64, u64),
    /// Behind the last piece.
    End(Arc<Opened>),
}
