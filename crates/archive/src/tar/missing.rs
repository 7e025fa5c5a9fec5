//! The entries of a tar that were not handed over. A hard link to one of them is refused with that reason, and is never
//! made to another file that has that name.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;

use manyfiles::Error;

use crate::entry::{Entry, Kind};

/// How many entries are remembered: some 9 MB. For a link to an entry beyond these, the tree says that the target is
/// missing.
const MOST: usize = 1 << 18;

/// Why an entry was not handed over.
#[derive(Clone, Copy)]
pub(super) enum Why {
    NotSelected,
    Refused,
}

#[derive(Default)]
pub(super) struct Missing {
    keys: RandomState,
    entries: HashMap<u64, Why>,
}

impl Missing {
    /// The entry at `path` is not handed over.
    pub(super) fn add(&mut self, path: &Path, why: Why) {
        if self.entries.len() < MOST {
            self.entries.insert(self.key(path), why);
        }
    }

    /// An entry at `path` is handed over. An earlier entry of this path may not have been.
    pub(super) fn remove(&mut self, path: &Path) {
        if !self.entries.is_empty() {
            self.entries.remove(&self.key(path));
        }
    }

    /// Refuses a hard link if its target cannot be there. `target` is the archive's path, `entry` the entry after
    /// stripping `strip` components.
    pub(super) fn check_link(&self, target: &Path, strip: usize, entry: &mut Entry<'_>) {
        let Kind::HardLink(existing) = entry.kind else { return };
        let shown = target.display();
        let cause = if target.as_os_str().is_empty() {
            "the archive does not say to which file".into()
        } else if strip > 0 && existing.as_os_str().is_empty() {
            format!("it links to {shown}, of which --strip-components {strip} leaves no name")
        } else if names(existing).next().is_none() && !existing.has_root() {
            format!("it links to {shown}, which is the folder that is unpacked to, and only files have hard links")
        } else {
            match self.entries.get(&self.key(target)) {
                Some(Why::NotSelected) => {
                    format!("it links to {shown}, which was not selected (--include, --exclude): select that as well")
                }
                Some(Why::Refused) => format!("it links to {shown}, which was refused"),
                None => return,
            }
        };
        let cause = io::Error::new(io::ErrorKind::InvalidInput, cause);
        entry.refusal = Some(Error::new(entry.operation(), entry.path, cause));
    }

    /// Equal for two spellings of one path.
    fn key(&self, path: &Path) -> u64 {
        let mut hasher = self.keys.build_hasher();
        for name in names(path) {
            hasher.write(name);
            hasher.write_u8(b'/');
        }
        hasher.finish()
    }
}

fn names(path: &Path) -> impl Iterator<Item = &[u8]> {
    path.as_os_str().as_encoded_bytes().split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."))
}
