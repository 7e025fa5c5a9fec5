//! [`HandOver`]: gives what the walk found to the tree.

use std::fs::{self, Metadata as Stat};
use std::path::Path;

use manyfiles::tree::{Content, Metadata, Refusal, TreeWriter};
use manyfiles::{Error, Operation};

use super::hard_links::HardLinks;
use super::walk::Found;
use crate::args::{Conflict, Options};
use crate::sys;

/// Turns entries into calls of the tree.
pub struct HandOver<'a> {
    tree: &'a TreeWriter,
    options: &'a Options,
    links: HardLinks,
    /// Whether a name that is taken is the entry's in the end.
    overwrites: bool,
}

impl<'a> HandOver<'a> {
    pub fn new(tree: &'a TreeWriter, options: &'a Options) -> HandOver<'a> {
        let overwrites =
            matches!(options.on_conflict, Some(Conflict::Overwrite | Conflict::Replace | Conflict::SkipIdentical));
        HandOver { tree, options, links: HardLinks::default(), overwrites }
    }

    /// Hands one entry over. What the tree says to it is in the tree's report.
    pub fn entry(&mut self, found: &Found) {
        let metadata = self.metadata(&found.metadata);
        let file_type = found.metadata.file_type();
        let node = sys::node(&found.metadata).filter(|_| self.options.special_files);
        let wanted = file_type.is_dir() || file_type.is_file() || file_type.is_symlink() || node.is_some();
        let stands = |path: &Path| self.overwrites || !is_taken(&self.tree.root().join(path));
        let handed_over = match self.links.earlier_name(found, stands).filter(|_| wanted) {
            Some(existing) => self.tree.hard_link(&found.path, existing),
            None if file_type.is_dir() => self.tree.folder(&found.path, metadata),
            None if file_type.is_file() => self.tree.file_with(&found.path, Content::copy_of(&found.source), metadata),
            None if file_type.is_symlink() => match fs::read_link(&found.source) {
                Ok(target) => self.tree.symlink(&found.path, target, metadata),
                Err(error) => {
                    self.tree.fail(Error::new(Operation::Read, &found.source, error));
                    Ok(())
                }
            },
            None => match node {
                Some(node) => self.tree.node(&found.path, node, metadata),
                None => {
                    self.tree.fail(unwanted(found));
                    Ok(())
                }
            },
        };
        drop(handed_over); // an error of these calls is in the report
    }

    fn metadata(&self, of: &Stat) -> Metadata {
        let bits = if self.options.set_id { 0o7777 } else { 0o1777 };
        let mut metadata = Metadata::default().mode(sys::mode(of) & bits);
        if let Ok(modified) = of.modified() {
            metadata = metadata.modified(modified);
        }
        if self.options.same_owner
            && let Some((user, group)) = sys::owner(of)
        {
            metadata = metadata.owner(user, group);
        }
        metadata
    }
}

fn is_taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The refusal of something that is neither file, folder nor link.
pub fn unwanted(found: &Found) -> Error {
    Error::refused(Operation::CreateNode, &found.source, Refusal::UnwantedKind)
}
