//! The folders of a tree. Each is a parent and a name: a path is put together only where one is needed, so that a tree
//! of deep folders takes memory for each name once.

use std::collections::hash_map::HashMap;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use super::access::Newborn;
use super::name::Keys;
use crate::sys::Dir;
use crate::tree::Metadata;

/// Number of a folder, in the order in which they were first named.
pub(in crate::tree) type FolderId = u32;

/// The root, or a folder below it that is part of an entry's path.
#[derive(Debug)]
pub(in crate::tree) struct Folder {
    pub(in crate::tree) id: FolderId,
    pub(in crate::tree) parent: Option<Arc<Folder>>,
    /// Empty for the root.
    pub(super) name: Box<OsStr>,
    /// Key of the path, made of the parent's and of the name.
    key: u64,
    /// Whether the folder is known to exist.
    pub(super) made: AtomicBool,
    /// Whether an entry is to be written in it or below: links only name the folder that their source is in.
    pub(super) needed: AtomicBool,
    /// Whether the folder was there before this run. Means something once `made` is set.
    pub(super) was_there: AtomicBool,
    /// The permissions to make the folder with.
    pub(super) mode: AtomicU32,
    /// The permissions that this run made the folder with, if it did.
    pub(super) made_with: AtomicU32,
    /// Whether the folder is on another file system than the root, as far as that matters: see
    /// [`Durable`](super::durable::Durable).
    pub(super) elsewhere: AtomicBool,
    /// Whether the folder holds names as one that differ in case or in how their characters are composed.
    pub(super) folds: AtomicBool,
    /// Whether new files in the folder get their permissions by a list of the folder's, once that is asked.
    pub(super) default_permissions: OnceLock<bool>,
    /// What a new file in it has before anything is set, once a file was asked.
    pub(super) newborn: OnceLock<Newborn>,
    /// Whether no other user may change names in it, once that is asked.
    pub(super) private: OnceLock<bool>,
    /// Number of its file system, once that is asked.
    pub(super) volume: OnceLock<u64>,
}

impl Folder {
    /// The path relative to the root; empty for the root itself.
    pub(in crate::tree) fn path(&self) -> PathBuf {
        self.join(OsStr::new(""))
    }

    /// The path of what has this name in the folder, relative to the root. With an empty name, the folder's own.
    pub(in crate::tree) fn join(&self, name: &OsStr) -> PathBuf {
        let above = std::iter::successors(Some(self), |folder| folder.parent.as_deref());
        let names: Vec<&OsStr> = std::iter::once(name).chain(above.map(|folder| &*folder.name)).collect();
        let mut path = OsString::with_capacity(names.iter().map(|name| name.len() + 1).sum());
        for name in names.into_iter().rev().filter(|name| !name.is_empty()) {
            if !path.is_empty() {
                path.push(std::path::MAIN_SEPARATOR_STR);
            }
            path.push(name);
        }
        path.into()
    }

    /// The path for messages: `.` for the root.
    pub(super) fn shown(&self) -> PathBuf {
        if self.parent.is_none() { PathBuf::from(".") } else { self.path() }
    }

    /// Key of what has this name in the folder.
    pub(super) fn key_of(&self, keys: &Keys, name: &OsStr) -> u64 {
        keys.below(self.key, name)
    }

    fn has_path<'a>(&self, names: impl DoubleEndedIterator<Item = &'a OsStr>) -> bool {
        let mut at = self;
        for name in names.rev() {
            let Some(parent) = at.parent.as_deref().filter(|_| &*at.name == name) else { return false };
            at = parent;
        }
        at.parent.is_none()
    }
}

/// A folder and a handle of it.
#[derive(Clone)]
pub(in crate::tree) struct OpenFolder {
    pub(super) folder: Arc<Folder>,
    pub(super) dir: Arc<Dir>,
}

/// All folders that were named so far.
#[derive(Debug)]
pub(super) struct Folders {
    all: Vec<Arc<Folder>>,
    /// By the key of the path. A path whose key is another's takes the next number.
    by_key: HashMap<u64, FolderId, BuildHasherDefault<Identity>>,
    /// The metadata that entries for folders asked for.
    metadata: HashMap<FolderId, Metadata>,
    /// The folder that was asked for last, and its path: files come folder by folder.
    last: (OsString, FolderId),
    keys: Keys,
}

impl Folders {
    pub(super) fn new(keys: Keys, root_folds: bool) -> Folders {
        let mut folders = Folders {
            all: Vec::new(),
            by_key: HashMap::default(),
            metadata: HashMap::new(),
            last: (OsString::new(), 0),
            keys,
        };
        folders.add(None, OsStr::new(""), 0);
        let root = &folders.all[0];
        root.made.store(true, Relaxed);
        root.was_there.store(true, Relaxed);
        root.folds.store(root_folds, Relaxed);
        folders
    }

    pub(super) fn get(&self, id: FolderId) -> &Arc<Folder> {
        &self.all[id as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The folder with this path, which is checked and in normal form.
    pub(super) fn of(&mut self, path: &OsStr) -> FolderId {
        if self.last.0 == path {
            return self.last.1;
        }
        let id = self.find(path).unwrap_or_else(|| self.name_all(path));
        self.last.0.clear();
        self.last.0.push(path);
        self.last.1 = id;
        id
    }

    /// The folder with this path, if an entry has named it.
    fn find(&self, path: &OsStr) -> Option<FolderId> {
        let mut key = self.key_of(path);
        while let Some(&id) = self.by_key.get(&key) {
            if self.get(id).has_path(names(path)) {
                return Some(id);
            }
            key = key.wrapping_add(1);
        }
        None
    }

    /// Adds those folders on the way to this path that no entry has named before.
    fn name_all(&mut self, path: &OsStr) -> FolderId {
        let mut at = 0;
        for name in names(path) {
            let mut key = self.keys.below(self.get(at).key, name);
            at = loop {
                match self.by_key.get(&key) {
                    Some(&id) if self.is(id, at, name) => break id,
                    Some(_) => key = key.wrapping_add(1),
                    None => break self.add(Some(at), name, key),
                }
            };
        }
        at
    }

    fn is(&self, id: FolderId, parent: FolderId, name: &OsStr) -> bool {
        let folder = self.get(id);
        folder.parent.as_ref().is_some_and(|it| it.id == parent) && &*folder.name == name
    }

    fn add(&mut self, parent: Option<FolderId>, name: &OsStr, slot: u64) -> FolderId {
        let id = FolderId::try_from(self.all.len()).expect("fewer than 2^32 folders fit in memory");
        let parent = parent.map(|parent| self.get(parent).clone());
        let key = parent.as_ref().map_or(0, |parent| self.keys.below(parent.key, name));
        // A new folder is made as the one above it is.
        let folds = parent.as_ref().is_some_and(|parent| parent.folds.load(Relaxed));
        self.all.push(Arc::new(Folder {
            id,
            parent,
            name: name.into(),
            key,
            made: AtomicBool::new(false),
            needed: AtomicBool::new(false),
            was_there: AtomicBool::new(false),
            mode: AtomicU32::new(0o777),
            made_with: AtomicU32::new(0),
            elsewhere: AtomicBool::new(false),
            folds: AtomicBool::new(folds),
            default_permissions: OnceLock::new(),
            newborn: OnceLock::new(),
            private: OnceLock::new(),
            volume: OnceLock::new(),
        }));
        self.by_key.insert(slot, id);
        id
    }

    /// Whether an entry has named the folder of this name in `folder`, or one below it.
    pub(super) fn has_folder(&self, folder: FolderId, name: &OsStr) -> bool {
        let mut key = self.keys.below(self.get(folder).key, name);
        while let Some(&id) = self.by_key.get(&key) {
            if self.is(id, folder, name) {
                return true;
            }
            key = key.wrapping_add(1);
        }
        false
    }

    /// Keeps the metadata that the folder is to get at the end, and the permissions to make it with.
    pub(super) fn set_metadata(&mut self, id: FolderId, metadata: Metadata) {
        let all = self.metadata.entry(id).or_default();
        // What an entry does not give stays as the one before left it.
        all.mode = metadata.mode.or(all.mode);
        all.modified = metadata.modified.or(all.modified);
        all.owner = metadata.owner.or(all.owner);
        all.accessed = metadata.accessed.or(all.accessed);
        all.flags = metadata.flags.or(all.flags);
        (all.exact, all.lost) = (all.exact.with(metadata.exact), all.lost.with(metadata.lost));
        all.xattrs.add(&metadata.xattrs);
        let mode = all.mode.unwrap_or(0o777);
        self.get(id).mode.store(mode, Relaxed);
    }

    /// The metadata that entries asked for the root.
    pub(super) fn given_to_root(&self) -> Metadata {
        self.metadata.get(&0).cloned().unwrap_or_default()
    }

    /// Whether any folder is to get metadata at the end.
    pub(super) fn have_metadata(&self) -> bool {
        !self.metadata.is_empty()
    }

    /// Takes the metadata that folders are to get at the end, deepest first.
    pub(super) fn take_metadata(&mut self) -> Vec<(Arc<Folder>, Metadata)> {
        let taken = std::mem::take(&mut self.metadata);
        let mut all: Vec<_> = taken.into_iter().map(|(id, metadata)| (self.get(id).clone(), metadata)).collect();
        let depth =
            |folder: &Folder| std::iter::successors(folder.parent.as_deref(), |it| it.parent.as_deref()).count();
        all.sort_by_cached_key(|(folder, _)| (std::cmp::Reverse(depth(folder)), folder.id));
        all
    }

    /// Every folder that is known to be there.
    pub(super) fn made(&self) -> impl Iterator<Item = &Arc<Folder>> {
        self.all.iter().filter(|folder| folder.made.load(Relaxed))
    }

    fn key_of(&self, path: &OsStr) -> u64 {
        names(path).fold(0, |key, name| self.keys.below(key, name))
    }
}

/// The names in a path of normal form.
fn names(path: &OsStr) -> impl DoubleEndedIterator<Item = &OsStr> {
    Path::new(path).iter()
}

/// The keys are hashes already.
#[derive(Debug, Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> Folders {
        Folders::new(Keys::new(), false)
    }

    #[test]
    fn a_path_is_one_folder_however_often_and_in_whatever_order_it_is_named() {
        let mut folders = folders();
        let deep = folders.of(OsStr::new("a/b/c"));
        let other = folders.of(OsStr::new("x"));
        assert_eq!(folders.of(OsStr::new("a/b/c")), deep);
        assert_eq!(folders.of(OsStr::new("")), 0);
        assert_eq!(folders.of(OsStr::new("x")), other);
        let above = folders.of(OsStr::new("a/b"));
        assert_eq!(folders.get(deep).parent.as_ref().unwrap().id, above);
        assert_eq!(folders.len(), 5, "the root, a, a/b, a/b/c, x");
        assert_eq!(folders.get(deep).path(), Path::new("a/b/c"));
        assert_eq!(folders.get(deep).join(OsStr::new("f")), Path::new("a/b/c/f"));
        assert_eq!(folders.get(0).join(OsStr::new("f")), Path::new("f"));
        assert_eq!((folders.get(0).path(), folders.get(0).shown()), ("".into(), ".".into()));
    }

    /// The archive of the findings: 12 paths of 990 names took 2.96 GB when each folder held its whole path twice.
    #[test]
    fn deep_paths_take_memory_for_each_name_once() {
        let mut folders = folders();
        for path in 0..12 {
            let name = format!("{path:0>255}/");
            folders.of(OsStr::new(name.repeat(990).trim_end_matches('/')));
        }
        assert_eq!(folders.len(), 1 + 12 * 990);
        let names: usize = folders.all.iter().map(|folder| folder.name.len()).sum();
        assert_eq!(names, 12 * 990 * 255);
        assert!(size_of::<Folder>() <= 112, "{}", size_of::<Folder>());
    }

    #[test]
    fn a_folder_is_known_by_its_name_from_when_it_is_named() {
        let mut folders = folders();
        let a = folders.of(OsStr::new("a"));
        assert!(folders.has_folder(0, OsStr::new("a")));
        assert!(!folders.has_folder(a, OsStr::new("b")));
        folders.of(OsStr::new("a/b/c"));
        assert!(folders.has_folder(a, OsStr::new("b")));
        assert!(!folders.has_folder(0, OsStr::new("b")));
    }
}
