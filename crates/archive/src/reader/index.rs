//! The index of an archive: its folders, their names, and where the content of each file is.

use std::io;
use std::ops::Range;
use std::path::{Component, Path};

use manyfiles::tree::Node as Special;

use crate::entry::{Attribute, Entry, Kind, time};
use crate::sys;

/// The number of the root.
pub(super) const ROOT: u32 = 0;
/// How many symbolic links a path may lead through: Linux's number.
const MOST_LINKS: u32 = 40;

/// What can have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Type {
    File,
    Folder,
    Symlink,
    Fifo,
    CharDevice,
    BlockDevice,
}

impl Type {
    pub(super) const ALL: [Type; 6] =
        [Type::File, Type::Folder, Type::Symlink, Type::Fifo, Type::CharDevice, Type::BlockDevice];
}

/// A file, a folder or a link, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub is: Type,
    pub mode: Option<u16>,
    pub owner: Option<(u32, u32)>,
    /// Seconds and nanoseconds after 1970.
    pub modified: Option<(i64, u32)>,
    /// How many bytes of content, holes included.
    pub size: u64,
    /// Of a file: the position of its content in the tar, or the number of its record in the zip. Of a sparse file, the
    /// number of its first [`Piece`]. Of a symbolic link: where its target is in [`texts`](Index::texts). Of a device:
    /// its numbers.
    pub place: u64,
    /// How many pieces a sparse file has; how long a link's target is.
    pub count: u32,
    pub is_sparse: bool,
    /// How many names it has.
    pub names: u32,
    /// The number of its extended attributes in [`attributes`](Index::attributes), which begins with none.
    pub attributes: u32,
}

impl Node {
    pub(super) const fn folder() -> Node {
        Node {
            is: Type::Folder,
            mode: None,
            owner: None,
            modified: None,
            size: 0,
            place: 0,
            count: 0,
            is_sparse: false,
            names: 1,
            attributes: 0,
        }
    }
}

/// A name in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    pub folder: u32,
    pub node: u32,
    /// Where the name is in [`texts`](Index::texts), and how long it is.
    pub name_at: u32,
    pub name_len: u16,
}

/// A piece of a sparse file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub offset: u64,
    pub len: u64,
    /// Where it is in the tar.
    pub position: u64,
}

/// All that is known of an archive's entries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// [`ROOT`] is the first.
    pub nodes: Vec<Node>,
    /// In the order of their folders, then of their names.
    pub children: Vec<Child>,
    pub texts: Vec<u8>,
    pub pieces: Vec<Piece>,
    /// The extended attributes that a node has. Most nodes that have any have the same.
    pub attributes: Vec<Vec<Attribute>>,
    /// Entries that cannot be reached, because they would not be unpacked.
    pub refused: u64,
}

impl Index {
    pub(crate) fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    pub(crate) fn name(&self, child: &Child) -> &[u8] {
        &self.texts[child.name_at as usize..][..usize::from(child.name_len)]
    }

    /// What a symbolic link says.
    pub(crate) fn target(&self, link: &Node) -> &[u8] {
        &self.texts[link.place as usize..][..link.count as usize]
    }

    pub(crate) fn pieces(&self, file: &Node) -> &[Piece] {
        &self.pieces[file.place as usize..][..file.count as usize]
    }

    pub(crate) fn attributes(&self, node: &Node) -> &[Attribute] {
        &self.attributes[node.attributes as usize]
    }

    /// The names in a folder, sorted.
    pub(crate) fn children(&self, folder: u32) -> &[Child] {
        &self.children[self.range(folder)]
    }

    fn range(&self, folder: u32) -> Range<usize> {
        let start = self.children.partition_point(|child| child.folder < folder);
        start..start + self.children[start..].partition_point(|child| child.folder == folder)
    }

    /// What has a name in a folder.
    pub(crate) fn child(&self, folder: u32, name: &[u8]) -> Option<u32> {
        let place =
            self.children.binary_search_by(|child| (child.folder, self.name(child)).cmp(&(folder, name))).ok()?;
        Some(self.children[place].node)
    }

    /// The number of what a path leads to. `follow`: also where its last name is a symbolic link.
    pub(super) fn resolve(&self, path: &Path, follow: bool) -> io::Result<u32> {
        let mut above: Vec<u32> = Vec::new();
        let mut at = ROOT;
        // What is to be followed yet, the last part first. A link puts its target there.
        let mut parts = vec![path.components()];
        let mut links = 0;
        while let Some(part) = parts.last_mut() {
            let Some(component) = part.next() else {
                parts.pop();
                continue;
            };
            let name = match component {
                Component::CurDir => continue,
                Component::Normal(name) => name.as_encoded_bytes(),
                Component::ParentDir => {
                    self.is_folder(at)?;
                    at = above.pop().ok_or_else(leads_outside)?;
                    continue;
                }
                Component::RootDir | Component::Prefix(_) => return Err(leads_outside()),
            };
            self.is_folder(at)?;
            let found = self.child(at, name).ok_or_else(not_there)?;
            let is_last = parts.iter().all(|part| part.clone().next().is_none());
            if self.node(found).is == Type::Symlink && (follow || !is_last) {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::other("too many symbolic links one behind the other"));
                }
                parts.push(sys::path(self.target(self.node(found))).components());
            } else {
                above.push(at);
                at = found;
            }
        }
        // `a/` and `a/.` are folders.
        let ends_as_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if ends_as_folder && self.node(at).is != Type::Symlink {
            self.is_folder(at)?;
        }
        Ok(at)
    }

    fn is_folder(&self, number: u32) -> io::Result<()> {
        match self.node(number).is {
            Type::Folder => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::NotADirectory, "what is before it in the archive is no folder")),
        }
    }

    /// The node as an entry, whose path is `path`.
    pub(super) fn entry<'a>(&'a self, path: &'a Path, number: u32) -> Entry<'a> {
        let node = self.node(number);
        let device = |node: &Node| ((node.place >> 32) as u32, node.place as u32);
        Entry {
            path,
            kind: match node.is {
                Type::File => Kind::File,
                Type::Folder => Kind::Folder,
                Type::Symlink => Kind::Symlink(sys::path(self.target(node))),
                Type::Fifo => Kind::Node(Special::Fifo),
                Type::CharDevice => Kind::Node(Special::CharDevice(device(node).0, device(node).1)),
                Type::BlockDevice => Kind::Node(Special::BlockDevice(device(node).0, device(node).1)),
            },
            size: node.size,
            mode: node.mode.map(u32::from),
            modified: node.modified.and_then(|(seconds, nanos)| time(seconds, nanos)),
            owner: node.owner,
            user_name: None,
            group_name: None,
            attributes: self.attributes(node),
            is_encrypted: false,
            acl: None,
            default_acl: None,
            refusal: None,
        }
    }
}

fn not_there() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the archive has no such entry")
}

fn leads_outside() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it leads out of the archive")
}
