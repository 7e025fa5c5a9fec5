//! From the entries of an archive, in its order, to the index.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::SystemTime;

use hashbrown::HashTable;
use manyfiles::tree::{self, Node as Special};

use super::index::{Child, Index, Node, Piece, ROOT, Type};
use crate::entry::{Attribute, Entry, Kind};
use crate::error::{ErrorKind, Result};
use crate::limit::Limit;
use crate::zip;

/// Where the content of an entry is.
pub(crate) enum Place<'a> {
    /// At this position of a tar.
    Tar(u64),
    /// From this position of a tar on, these pieces (offset, length) of a sparse file.
    Sparse(u64, &'a mut dyn Iterator<Item = (u64, u64)>),
    /// In the record of this number in a zip's directory.
    Zip(u32),
}

/// More extended attributes than this, each different set of them counted once, are not kept in memory.
const MOST_ATTRIBUTES: usize = 256 << 20;

pub(crate) struct Builder {
    index: Index,
    /// The zip, if it is one.
    pub zip: Option<zip::Opened>,
    /// The numbers of the sets of extended attributes, and how many bytes they have.
    attributes: HashMap<Vec<Attribute>, u32>,
    attributes_len: usize,
    /// The children by folder and name.
    found: HashTable<u32>,
    keys: RandomState,
    /// The folder of the entry before, which most entries share.
    last: (Vec<u8>, u32),
    /// The most nodes: a path may have thousands of folders that nobody names.
    most: u64,
}

impl Builder {
    pub(crate) fn new(most: u64) -> Builder {
        let index = Index { nodes: vec![Node::folder()], attributes: vec![Vec::new()], ..Index::default() };
        let most = most.saturating_add(1).min(u64::from(u32::MAX));
        Builder {
            index,
            zip: None,
            attributes: HashMap::new(),
            attributes_len: 0,
            found: HashTable::new(),
            keys: RandomState::new(),
            last: (Vec::new(), ROOT),
            most,
        }
    }

    /// Takes the next entry. What a tree would refuse is counted only.
    pub(crate) fn add(&mut self, entry: &Entry<'_>, place: Place<'_>) -> Result<(), ErrorKind> {
        if !self.take(entry, place)? {
            self.index.refused += 1;
        }
        Ok(())
    }

    fn take(&mut self, entry: &Entry<'_>, place: Place<'_>) -> Result<bool, ErrorKind> {
        if entry.refusal.is_some() {
            return Ok(false);
        }
        let Ok(path) = tree::check(entry.path) else { return Ok(false) };
        let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
            // The root itself.
            if entry.kind == Kind::Folder {
                self.describe(ROOT, entry)?;
            }
            return Ok(entry.kind == Kind::Folder);
        };
        // A link to nothing leaves nothing.
        let linked = match entry.kind {
            Kind::HardLink(existing) => match self.existing(existing) {
                Some(node) => Some(node),
                None => return Ok(false),
            },
            Kind::Other => return Ok(false),
            _ => None,
        };
        let Some(folder) = self.folder(folder)? else { return Ok(false) };
        // Only files have several names.
        if linked.is_some_and(|node| self.index.node(node).is == Type::Folder) {
            return Ok(false);
        }
        let name = name.as_encoded_bytes();
        let old = self.child(folder, name);
        let old_type = old.map(|child| self.index.node(self.index.children[child as usize].node).is);
        match (entry.kind, old_type) {
            (Kind::Folder, Some(Type::Folder)) => {
                let node = self.index.children[old.expect("it has a type") as usize].node;
                self.describe(node, entry)?;
                return Ok(true);
            }
            // A folder is never replaced by something else, and takes the place of nothing.
            (_, Some(Type::Folder)) | (Kind::Folder, Some(_)) => return Ok(false),
            _ => {}
        }
        let node = match linked {
            Some(node) => node,
            None => self.new_node(entry, place)?,
        };
        self.name(folder, name, old, node)?;
        Ok(true)
    }

    /// What a hard link names. A tree follows no link there.
    fn existing(&self, path: &Path) -> Option<u32> {
        let path = tree::check(path).ok()?;
        let mut at = ROOT;
        for name in &path {
            let child = self.child(at, name.as_encoded_bytes())?;
            at = self.index.children[child as usize].node;
        }
        Some(at)
    }

    /// The folder of this path, which is made if nothing is there. `None`: something else is there.
    fn folder(&mut self, path: &Path) -> Result<Option<u32>, ErrorKind> {
        let whole = path.as_os_str().as_encoded_bytes();
        if whole == self.last.0 {
            return Ok(Some(self.last.1));
        }
        let mut at = ROOT;
        for name in path {
            let name = name.as_encoded_bytes();
            at = match self.child(at, name) {
                Some(child) => self.index.children[child as usize].node,
                None => {
                    let new = self.push(Node::folder())?;
                    self.name(at, name, None, new)?;
                    new
                }
            };
            if self.index.node(at).is != Type::Folder {
                return Ok(None);
            }
        }
        self.last = (whole.to_vec(), at);
        Ok(Some(at))
    }

    fn new_node(&mut self, entry: &Entry<'_>, place: Place<'_>) -> Result<u32, ErrorKind> {
        let mut node = Node { size: entry.size, ..Node::folder() };
        let numbers = |major: u32, minor: u32| u64::from(major) << 32 | u64::from(minor);
        match entry.kind {
            Kind::Folder => node.is = Type::Folder,
            Kind::Symlink(target) => {
                let target = target.as_os_str().as_encoded_bytes();
                node.is = Type::Symlink;
                (node.place, node.count) = (u64::from(self.text(target)?), target.len() as u32);
            }
            Kind::Node(Special::Fifo) => node.is = Type::Fifo,
            Kind::Node(Special::CharDevice(major, minor)) => {
                (node.is, node.place) = (Type::CharDevice, numbers(major, minor));
            }
            Kind::Node(Special::BlockDevice(major, minor)) => {
                (node.is, node.place) = (Type::BlockDevice, numbers(major, minor));
            }
            _ => {
                node.is = Type::File;
                match place {
                    Place::Tar(position) => node.place = position,
                    Place::Zip(record) => node.place = record.into(),
                    Place::Sparse(mut position, pieces) => {
                        node.is_sparse = true;
                        node.place = self.index.pieces.len() as u64;
                        for (offset, len) in pieces {
                            self.index.pieces.push(Piece { offset, len, position });
                            // The sum was checked by what read the entry.
                            position += len;
                        }
                        node.count = (self.index.pieces.len() as u64 - node.place) as u32;
                    }
                }
            }
        }
        let number = self.push(node)?;
        self.describe(number, entry)?;
        Ok(number)
    }

    fn push(&mut self, node: Node) -> Result<u32, ErrorKind> {
        if self.index.nodes.len() as u64 > self.most {
            let value = self.most - 1;
            return Err(ErrorKind::Limit { limit: Limit::Entries, value, entries: self.index.nodes.len() as u64 });
        }
        self.index.nodes.push(node);
        Ok(self.index.nodes.len() as u32 - 1)
    }

    fn describe(&mut self, number: u32, entry: &Entry<'_>) -> Result<(), ErrorKind> {
        let attributes = self.attributes(entry.attributes)?;
        let node = &mut self.index.nodes[number as usize];
        node.mode = entry.mode.map(|mode| mode as u16);
        node.owner = entry.owner;
        node.modified = entry.modified.map(since_1970);
        node.attributes = attributes;
        Ok(())
    }

    /// The number of these extended attributes.
    fn attributes(&mut self, attributes: &[Attribute]) -> Result<u32, ErrorKind> {
        if attributes.is_empty() {
            return Ok(0);
        }
        if let Some(&number) = self.attributes.get(attributes) {
            return Ok(number);
        }
        let len = |attribute: &Attribute| size_of::<Attribute>() + attribute.name.len() + attribute.value.len();
        self.attributes_len += attributes.iter().map(len).sum::<usize>();
        if self.attributes_len > MOST_ATTRIBUTES {
            let cause = "the extended attributes of its entries take more than 256 MiB";
            return Err(ErrorKind::Unsupported(cause.into()));
        }
        let number = self.index.attributes.len() as u32;
        self.index.attributes.push(attributes.to_vec());
        self.attributes.insert(attributes.to_vec(), number);
        Ok(number)
    }

    /// Gives a node a name, in place of the child that has it.
    fn name(&mut self, folder: u32, name: &[u8], old: Option<u32>, node: u32) -> Result<(), ErrorKind> {
        // What was there was no folder, so nothing below it is the folder of the entry before.
        if let Some(old) = old {
            self.index.children[old as usize].node = node;
            return Ok(());
        }
        let name_at = self.text(name)?;
        let child = self.index.children.len() as u32;
        self.index.children.push(Child { folder, node, name_at, name_len: name.len() as u16 });
        let Builder { index, found, keys, .. } = self;
        let hash = |folder: u32, name: &[u8]| keys.hash_one((folder, name));
        found.insert_unique(hash(folder, name), child, |&child| {
            let child = &index.children[child as usize];
            hash(child.folder, index.name(child))
        });
        Ok(())
    }

    fn child(&self, folder: u32, name: &[u8]) -> Option<u32> {
        let is = |&child: &u32| {
            let child = &self.index.children[child as usize];
            child.folder == folder && self.index.name(child) == name
        };
        self.found.find(self.keys.hash_one((folder, name)), is).copied()
    }

    fn text(&mut self, text: &[u8]) -> Result<u32, ErrorKind> {
        let at = u32::try_from(self.index.texts.len())
            .map_err(|_| ErrorKind::Unsupported("the names of its entries take more than 4 GiB".into()))?;
        self.index.texts.extend_from_slice(text);
        Ok(at)
    }

    pub(super) fn finish(self) -> Index {
        let Index { mut nodes, mut children, mut texts, mut pieces, attributes, refused } = self.index;
        children.sort_unstable_by(|one, other| {
            let key = |child: &Child| (child.folder, &texts[child.name_at as usize..][..usize::from(child.name_len)]);
            key(one).cmp(&key(other))
        });
        for node in &mut nodes[1..] {
            node.names = 0;
        }
        for child in &children {
            nodes[child.node as usize].names += 1;
        }
        nodes.shrink_to_fit();
        children.shrink_to_fit();
        texts.shrink_to_fit();
        pieces.shrink_to_fit();
        Index { nodes, children, texts, pieces, attributes, refused }
    }
}

/// Seconds, and nanoseconds after them.
fn since_1970(time: SystemTime) -> (i64, u32) {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let nanos = before.subsec_nanos();
            let seconds = -(before.as_secs() as i64);
            if nanos == 0 { (seconds, 0) } else { (seconds - 1, 1_000_000_000 - nanos) }
        }
    }
}
