//! How the files of a tree become durable: by one sync of the whole file system at the end, or by one of each file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use super::folders::Folder;
use crate::sys::{Dir, WholeFileSystem};
use crate::tree::Durability;
use crate::tree::above::{open_all, parents_of_missing, that_have_names};
use crate::{Error, Operation, Result};

/// What is synced, and when.
#[derive(Debug)]
pub(super) struct Durable {
    /// Synced at the end, with all but files that replace others and those on other file systems. `None`: each file is
    /// synced.
    pub(super) whole: Option<WholeFileSystem>,
    /// Folders above the root that have names to be synced in them: their handles, since their paths may lead elsewhere
    /// by then.
    pub(super) above: Vec<(PathBuf, Dir)>,
}

impl Durable {
    /// Opens the root, but one that was `made` for this run; makes it if it is missing. Returns whether it is new. This
    /// comes before the first byte is written, because the kernel tells a lost write only to handles that were open
    /// before.
    pub(super) fn open(root: &Path, made: Option<Dir>, durability: Durability) -> Result<(Dir, bool, Option<Durable>)> {
        let made_here = made.is_none();
        let is_durable = durability != Durability::None && made_here;
        let missing = if is_durable { parents_of_missing(root) } else { Vec::new() };
        // If the look fails, the folder counts as one that was there before.
        let is_missing =
            || matches!(std::fs::symlink_metadata(root), Err(error) if error.kind() == ErrorKind::NotFound);
        let is_new = made.is_some() || is_missing();
        let failed = |error| Error::new(Operation::Open, root, error);
        let dir = match made {
            Some(dir) => dir,
            None => {
                crate::folders::make_all(root).map_err(|error| Error::new(Operation::CreateFolder, root, error))?;
                Dir::open_root(root).map_err(failed)?
            }
        };
        // The sync of the whole file system has the folders above in it, but for those that are on another one.
        let above = |whole: bool| {
            if made_here && whole {
                open_all(&missing)
            } else if made_here {
                that_have_names(root, &missing)
            } else {
                Ok(Vec::new())
            }
        };
        let durable = match durability {
            Durability::None => None,
            Durability::EachFile => Some(Durable { whole: None, above: above(false)? }),
            Durability::AtFinish => {
                let whole = WholeFileSystem::of(&dir).map_err(failed)?;
                Some(Durable { above: above(whole.is_some())?, whole })
            }
        };
        Ok((dir, is_new, durable))
    }

    /// Whether a file is to be synced before it is closed.
    pub(super) fn asks_for(&self, folder: &Folder, replaces: bool) -> bool {
        self.whole.is_none() || replaces || folder.elsewhere.load(Relaxed)
    }

    /// Whether the sync of the whole file system leaves this folder out, because another one is mounted there.
    pub(super) fn is_elsewhere(&self, dir: &Dir) -> std::io::Result<bool> {
        self.whole.as_ref().map_or(Ok(false), |whole| whole.has(dir).map(|has| !has))
    }
}
