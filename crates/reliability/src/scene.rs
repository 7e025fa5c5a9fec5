//! What is on the disk before an operation, and what is to be there after it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use manyfiles_testkit::Random;

/// Something that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    File(Vec<u8>),
    Link(&'static str),
    Folder,
    /// A whole tar of all files below `src`.
    Tar,
}

/// What may have the name after an operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Anything: the operation writes in place, as its documentation says.
    Anything,
    /// All of it, or nothing.
    WholeOrNothing,
    /// All of the new or all of the old content.
    NewOrOld,
    /// A tar that is whole but may lack entries that were told, what was there before, or nothing.
    WholeTar,
}

/// A name that the operation is to make or change.
#[derive(Clone, Debug)]
pub struct Expected {
    pub path: &'static str,
    /// `None`: it is to be gone.
    pub new: Option<Node>,
    pub on_failure: OnFailure,
    /// What it is made of: an error may name one of these paths instead.
    pub sources: Vec<&'static str>,
}

/// The folder that an operation works in: `src` is read, `dst` is written to.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    pub before: Vec<(&'static str, Node)>,
    pub after: Vec<Expected>,
    /// Its error is that of all files: a batch, a published tree.
    pub fails_as_one: bool,
    /// It syncs before it closes: what the close says then is no news.
    pub is_synced_first: bool,
    /// Records that are to be in the log at `dst/log`.
    pub records: Vec<Vec<u8>>,
    /// A name that may be there after a failure.
    pub may_stay: Option<&'static str>,
    /// What the program is to print: for those that read.
    pub prints: Option<Vec<u8>>,
    /// Files below `src` have an extended attribute, where the file system has any, and their copies are to have it.
    pub has_attributes: bool,
}

const ATTRIBUTE: &str = "user.manyfiles";

/// The attribute of what is at `path`.
pub fn attribute_at(path: &Path) -> Option<Vec<u8>> {
    let mut value = vec![0; 256];
    let len = rustix::fs::lgetxattr(path, ATTRIBUTE, &mut value[..]).ok()?;
    Some(value[..len].to_vec())
}

/// Bytes that no other part of a scene has.
pub fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = vec![0; len];
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
    }
    bytes
}

pub const SMALL: usize = 1500;
/// More than a stream keeps in memory, and than the command hands over whole.
pub const LARGE: usize = 300_000;

pub fn small() -> Vec<u8> {
    bytes(1, SMALL)
}

pub fn large() -> Vec<u8> {
    bytes(2, LARGE)
}

pub fn old() -> Vec<u8> {
    bytes(3, 4000)
}

impl Scene {
    pub fn before(mut self, path: &'static str, node: Node) -> Scene {
        self.before.push((path, node));
        self
    }

    pub fn file_before(self, path: &'static str, bytes: Vec<u8>) -> Scene {
        self.before(path, Node::File(bytes))
    }

    pub fn then(mut self, path: &'static str, new: Option<Node>, on_failure: OnFailure) -> Scene {
        self.after.push(Expected { path, new, on_failure, sources: Vec::new() });
        self
    }

    pub fn file(self, path: &'static str, bytes: Vec<u8>, on_failure: OnFailure) -> Scene {
        self.then(path, Some(Node::File(bytes)), on_failure)
    }

    /// What was expected last is made of this.
    pub fn from(mut self, source: &'static str) -> Scene {
        self.after.last_mut().expect("something is expected").sources.push(source);
        self
    }

    pub fn failing_as_one(mut self) -> Scene {
        self.fails_as_one = true;
        self
    }

    /// All that is expected is made of this, too.
    pub fn all_from(mut self, source: &'static str) -> Scene {
        self.after.iter_mut().for_each(|expected| expected.sources.push(source));
        self
    }

    /// Puts what is there before into `folder`.
    pub fn prepare(&self, folder: &Path) -> io::Result<()> {
        for part in ["src", "dst"] {
            fs::create_dir_all(folder.join(part))?;
        }
        for (path, node) in &self.before {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("it is below the folder"))?;
            match node {
                Node::File(bytes) => {
                    fs::write(&path, bytes)?;
                    if self.has_attributes {
                        // Not every mount has any.
                        let none = rustix::fs::XattrFlags::empty();
                        rustix::fs::setxattr(&path, ATTRIBUTE, b"kept", none).unwrap_or(());
                    }
                }
                Node::Link(target) => symlink(target, path)?,
                Node::Folder => fs::create_dir_all(path)?,
                Node::Tar => fs::write(path, b"")?, // none is there before
            }
        }
        Ok(())
    }

    /// What has this name before.
    pub fn old(&self, path: &str) -> Option<&Node> {
        self.before.iter().find(|(there, _)| *there == path).map(|(_, node)| node)
    }
}

/// What has the name now.
pub fn node_at(path: &Path) -> io::Result<Option<Node>> {
    let kind = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if kind.is_dir() {
        return Ok(Some(Node::Folder));
    }
    if kind.is_symlink() {
        let target = fs::read_link(path)?.to_string_lossy().into_owned();
        // There are only a few links in a scene.
        return Ok(Some(Node::Link(Box::leak(target.into_boxed_str()))));
    }
    Ok(Some(Node::File(fs::read(path)?)))
}

/// All that is below `folder` but folders, links not followed, sorted.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(below(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found.sort();
    found
}
