//! [`World`]: a folder in memory, to be put on a disk or compared with what is there.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use manyfiles_testkit::{Entry as Found, Kind, Random, Tree, make_fifo, set_link_time};

/// Seconds and nanoseconds since 1970.
pub(crate) type Time = (i64, i64);

/// A file's content. The number makes the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub len: usize,
    pub number: u64,
    /// Where there is data, if there are holes: offset and length.
    pub pieces: Option<&'static [(usize, usize)]>,
}

/// Layouts of files with holes, and their lengths.
pub(crate) const SPARSE: [(usize, &[(usize, usize)]); 4] = [
    (1 << 20, &[(0, 4096)]),
    ((1 << 20) + 4096, &[(1 << 20, 4096)]),
    (1 << 20, &[(1 << 16, 8192), (1 << 19, 4096)]),
    (1 << 19, &[]),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Folder,
    File(Content),
    Symlink(String),
    Fifo,
}

/// A file or link, which may have several names.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub what: What,
    pub mode: u32,
    /// Permission bits that are not promised.
    pub open_bits: u32,
    /// `None`: not promised.
    pub time: Option<Time>,
}

/// Names and what they are names of.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub names: BTreeMap<String, usize>,
    pub nodes: Vec<Node>,
}

impl Content {
    /// The data of each piece; of all of it, where there are no holes.
    pub(crate) fn data(&self) -> Vec<(usize, Vec<u8>)> {
        let whole = [(0, self.len)];
        let mut random = Random::new(self.number);
        let mut piece = |&(offset, len): &(usize, usize)| {
            let mut bytes = Vec::with_capacity(len + 8);
            while bytes.len() < len {
                bytes.extend_from_slice(&random.next().to_le_bytes());
            }
            bytes.truncate(len);
            (offset, bytes)
        };
        self.pieces.unwrap_or(&whole).iter().map(&mut piece).collect()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        for (offset, piece) in self.data() {
            bytes[offset..offset + piece.len()].copy_from_slice(&piece);
        }
        bytes
    }

    pub(crate) fn data_len(&self) -> usize {
        self.pieces.map_or(self.len, |pieces| pieces.iter().map(|(_, len)| len).sum())
    }
}

impl World {
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.names.get(name).map(|&id| &self.nodes[id])
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.names.get(name).map(|&id| &mut self.nodes[id])
    }

    pub(crate) fn put(&mut self, name: &str, node: Node) {
        self.nodes.push(node);
        self.names.insert(name.to_owned(), self.nodes.len() - 1);
    }

    /// The other names of the file of this name.
    pub(crate) fn other_names(&self, name: &str) -> Vec<String> {
        let Some(id) = self.names.get(name) else { return Vec::new() };
        self.names.iter().filter(|&(other, of)| of == id && other != name).map(|(other, _)| other.clone()).collect()
    }

    /// Makes all of it below `root`, which is made too.
    pub(crate) fn plant(&self, root: &Path, owner: Option<u32>) {
        fs::create_dir(root).unwrap();
        let mut first_name: HashMap<usize, &str> = HashMap::new();
        for (name, &id) in &self.names {
            let path = root.join(name);
            if let Some(first) = first_name.get(&id) {
                fs::hard_link(root.join(first), &path).unwrap();
                continue;
            }
            first_name.insert(id, name);
            match &self.nodes[id].what {
                What::Folder => fs::create_dir(&path).unwrap(),
                What::Symlink(target) => symlink(target, &path).unwrap(),
                What::Fifo => make_fifo(&path).unwrap(),
                What::File(content) => {
                    let file = fs::File::create(&path).unwrap();
                    file.set_len(content.len as u64).unwrap();
                    for (offset, bytes) in content.data() {
                        file.write_all_at(&bytes, offset as u64).unwrap();
                    }
                }
            }
        }
        // The entries of a folder before the folder itself: later entries would change its time.
        for (name, &id) in self.names.iter().rev() {
            let (path, node) = (root.join(name), &self.nodes[id]);
            if let Some(owner) = owner {
                lchown(&path, Some(owner), Some(owner)).unwrap();
            }
            if !matches!(node.what, What::Symlink(_)) {
                fs::set_permissions(&path, fs::Permissions::from_mode(node.mode)).unwrap();
            }
            if let Some(time) = node.time {
                set_link_time(&path, time).unwrap();
            }
        }
        if let Some(owner) = owner {
            lchown(root, Some(owner), Some(owner)).unwrap();
        }
    }

    /// The tree that a look at the folder should show. `allocated` is the room of the data.
    pub(crate) fn tree(&self) -> Tree {
        let mut first_name: HashMap<usize, &str> = HashMap::new();
        let mut tree = Tree::default();
        for (name, &id) in &self.names {
            let node = &self.nodes[id];
            let mut found = match &node.what {
                What::File(content) => Found { allocated: content.data_len() as u64, ..Found::file(&content.bytes()) },
                What::Folder => Found::folder(),
                What::Symlink(target) => Found { kind: Kind::Symlink(target.into()), ..Found::folder() },
                What::Fifo => Found { kind: Kind::Fifo, ..Found::folder() },
            };
            found.mode = node.mode;
            found.modified = node.time.unwrap_or_default();
            found.link_to = first_name.get(&id).map(PathBuf::from);
            first_name.entry(id).or_insert(name);
            tree.entries.insert(name.into(), found);
        }
        tree
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Folder => f.write_str("folder"),
            What::Fifo => f.write_str("FIFO"),
            What::Symlink(target) => write!(f, "symlink to {target:?}"),
            What::File(Content { len, number, pieces }) => {
                let sparse = if pieces.is_some() { " with holes" } else { "" };
                write!(f, "file of {len} bytes{sparse}, number {number:x}")
            }
        }
    }
}
