//! `mem://`: files that are gone with their `Vfs`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Output;
use super::backend::{Backend, Choices, Identity, Metadata};

/// A tree that answers as a local file system would.
#[derive(Default)]
pub(super) struct Memory {
    tree: Arc<Tree>,
}

type Bytes = Arc<Mutex<Vec<u8>>>;

#[derive(Clone)]
enum Node {
    Folder,
    File(Bytes),
}

/// The root is there without an entry.
#[derive(Default)]
struct Tree {
    nodes: Mutex<BTreeMap<PathBuf, Node>>,
}

/// No code of a user runs under these locks, and each change is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Nodes = BTreeMap<PathBuf, Node>;

fn is_root(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

/// What is at `path`; the error of a path that leads through a file is another one than that of nothing.
fn find(nodes: &Nodes, path: &Path) -> io::Result<Node> {
    if is_root(path) {
        return Ok(Node::Folder);
    }
    match nodes.get(path) {
        Some(node) => Ok(node.clone()),
        None => {
            let through_file = path.ancestors().skip(1).any(|above| matches!(nodes.get(above), Some(Node::File(_))));
            Err(if through_file { ErrorKind::NotADirectory } else { ErrorKind::NotFound }.into())
        }
    }
}

fn find_file(nodes: &Nodes, path: &Path) -> io::Result<Bytes> {
    match find(nodes, path)? {
        Node::File(bytes) => Ok(bytes),
        Node::Folder => Err(ErrorKind::IsADirectory.into()),
    }
}

/// Whether the folder that is to hold `path` is there.
fn check_parent(nodes: &Nodes, path: &Path) -> io::Result<()> {
    match path.parent().map(|parent| find(nodes, parent)) {
        Some(Ok(Node::Folder)) => Ok(()),
        Some(Ok(Node::File(_))) => Err(ErrorKind::NotADirectory.into()),
        Some(Err(error)) => Err(error),
        None => Err(ErrorKind::IsADirectory.into()),
    }
}

fn is_empty_folder(nodes: &Nodes, path: &Path) -> bool {
    !nodes.range(path.to_owned()..).take_while(|(other, _)| other.starts_with(path)).any(|(other, _)| other != path)
}

struct OpenFile {
    bytes: Bytes,
    tree: Arc<Tree>,
}

/// What a file is: where its bytes are, which no other file's are while anybody has them.
fn identity(bytes: &Bytes) -> Identity {
    Identity::new(0, Arc::as_ptr(bytes).addr() as u128)
}

impl Output for OpenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut file = lock(&self.bytes);
        // Out of memory is an error here like a full disk, not the end of the program.
        file.try_reserve(bytes.len()).map_err(|_| io::Error::from(ErrorKind::StorageFull))?;
        file.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn identity(&self) -> Option<Identity> {
        Some(identity(&self.bytes))
    }

    fn names(&self) -> Option<u64> {
        let nodes = lock(&self.tree.nodes);
        let is_this = |node: &&Node| matches!(node, Node::File(bytes) if Arc::ptr_eq(bytes, &self.bytes));
        Some(nodes.values().filter(is_this).count() as u64)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        lock(&self.tree.nodes)
    }
}

impl Backend for Memory {
    /// Slashes at the ends and double ones don't matter; there is no `.` and no `..`.
    fn locate(&self, name: &str) -> io::Result<PathBuf> {
        let names: Vec<&str> = name.split('/').filter(|name| !name.is_empty()).collect();
        let path = PathBuf::from(names.join("/"));
        let plain = path.components().filter(|component| matches!(component, Component::Normal(_))).count();
        // On Windows a path is taken apart at more than slashes.
        if plain == names.len() && path.components().count() == plain {
            return Ok(path);
        }
        Err(io::Error::new(ErrorKind::InvalidInput, "names between slashes, and none of them . or .."))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        let mut nodes = self.nodes();
        let bytes = match find_file(&nodes, path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                check_parent(&nodes, path)?;
                let bytes = Bytes::default();
                nodes.insert(path.to_owned(), Node::File(Arc::clone(&bytes)));
                bytes
            }
            other => other?,
        };
        Ok(Box::new(OpenFile { bytes, tree: Arc::clone(&self.tree) }))
    }

    fn create(&self, path: &Path, choices: &Choices<'_>) -> io::Result<Box<dyn Output>> {
        let create_new = choices.parse("create_new", "true or false", |value| value.parse().ok())?.unwrap_or(false);
        if create_new && find(&self.nodes(), path).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let output = self.append(path)?;
        let bytes = find_file(&self.nodes(), path)?;
        lock(&bytes).clear();
        Ok(output)
    }

    fn option_names(&self) -> &'static [&'static str] {
        &["create_new"]
    }

    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        match find(&self.nodes(), path)? {
            Node::Folder => Ok(None),
            Node::File(bytes) => Ok(Some(identity(&bytes))),
        }
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut content = Vec::new();
        content.try_reserve_exact(bytes.len()).map_err(|_| io::Error::from(ErrorKind::StorageFull))?;
        content.extend_from_slice(bytes);
        let mut nodes = self.nodes();
        match find_file(&nodes, path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => check_parent(&nodes, path)?,
        }
        nodes.insert(path.to_owned(), Node::File(Arc::new(Mutex::new(content))));
        Ok(())
    }

    fn read_at(&self, path: &Path, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = find_file(&self.nodes(), path)?;
        let bytes = lock(&bytes);
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let len = buffer.len().min(bytes.len() - from);
        buffer[..len].copy_from_slice(&bytes[from..from + len]);
        Ok(len)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        find(&self.nodes(), path).map(|node| known(&node))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Metadata)>> {
        let nodes = self.nodes();
        match find(&nodes, path)? {
            Node::File(_) => Err(ErrorKind::NotADirectory.into()),
            Node::Folder => {
                let children = nodes.iter().filter(|(other, _)| other.parent() == Some(path));
                Ok(children.filter_map(|(path, node)| Some((path.file_name()?.to_owned(), known(node)))).collect())
            }
        }
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut nodes = self.nodes();
        let mut missing = Vec::new();
        for above in path.ancestors() {
            match find(&nodes, above) {
                Ok(Node::Folder) => break,
                Ok(Node::File(_)) if above == path => return Err(ErrorKind::AlreadyExists.into()),
                Ok(Node::File(_)) => return Err(ErrorKind::NotADirectory.into()),
                Err(error) if error.kind() == ErrorKind::NotFound => missing.push(above.to_owned()),
                Err(error) => return Err(error),
            }
        }
        nodes.extend(missing.into_iter().map(|path| (path, Node::Folder)));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut nodes = self.nodes();
        match find(&nodes, path)? {
            Node::Folder if is_root(path) => Err(ErrorKind::PermissionDenied.into()),
            Node::Folder if !is_empty_folder(&nodes, path) => Err(ErrorKind::DirectoryNotEmpty.into()),
            _ => {
                nodes.remove(path);
                Ok(())
            }
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut nodes = self.nodes();
        // In the order in which Linux looks.
        check_parent(&nodes, from)?;
        check_parent(&nodes, to)?;
        let moved = find(&nodes, from)?;
        if is_root(from) || is_root(to) || (to != from && to.starts_with(from)) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a folder cannot be moved into itself"));
        }
        match (&moved, find(&nodes, to)) {
            _ if from == to => return Ok(()),
            _ if from.starts_with(to) => return Err(ErrorKind::DirectoryNotEmpty.into()),
            (Node::File(_), Ok(Node::Folder)) => return Err(ErrorKind::IsADirectory.into()),
            (Node::Folder, Ok(Node::File(_))) => return Err(ErrorKind::NotADirectory.into()),
            (Node::Folder, Ok(Node::Folder)) if !is_empty_folder(&nodes, to) => {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            _ => {}
        }
        let (moving, staying): (Nodes, Nodes) =
            std::mem::take(&mut *nodes).into_iter().partition(|(path, _)| path.starts_with(from));
        *nodes = staying;
        for (path, node) in moving {
            let below = path.strip_prefix(from).expect("it was chosen for beginning with it");
            // `join` with nothing would add a slash.
            let path = if is_root(below) { to.to_owned() } else { to.join(below) };
            nodes.insert(path, node);
        }
        Ok(())
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        find(&self.nodes(), path).map(drop)
    }
}

fn known(node: &Node) -> Metadata {
    match node {
        Node::Folder => Metadata::folder(),
        Node::File(bytes) => Metadata::file(lock(bytes).len() as u64),
    }
}
