//! [`Record`]: all changes and syncs of a mount, from which follows what a power cut at any of them leaves.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::content::Content;
use super::names::with_those_before;
use super::random::Random;

const FOLDER: u64 = 0o040_000;
const LINK: u64 = 0o120_000;
const EXCHANGE: u64 = 2;

/// What a power cut has left at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A folder.
    Folder,
    /// A file, with its bytes.
    File(Vec<u8>),
    /// A symbolic link, with its target.
    Link(PathBuf),
}

/// What a power cut has left, by paths from the mount's root. Permissions, times and owners are not part of it.
#[derive(Clone, Debug, Default)]
pub struct Remnant(pub BTreeMap<PathBuf, Node>);

impl Remnant {
    /// A file's bytes.
    pub fn file(&self, path: impl AsRef<Path>) -> Option<&[u8]> {
        match self.0.get(path.as_ref()) {
            Some(Node::File(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Makes all of it below `folder`, which is there.
    #[cfg(unix)]
    pub fn make_in(&self, folder: &Path) -> io::Result<()> {
        for (path, node) in &self.0 {
            let path = folder.join(path);
            match node {
                Node::Folder => std::fs::create_dir(path)?,
                Node::File(bytes) => std::fs::write(path, bytes)?,
                Node::Link(target) => std::os::unix::fs::symlink(target, path)?,
            }
        }
        Ok(())
    }
}

/// A name: the folder's number, and the name in it.
type Name = (u64, OsString);

#[derive(Clone, Debug)]
enum Change {
    Made {
        file: u64,
        kind: u64,
        target: PathBuf,
    },
    /// What these names lead to from then on: one change, however many names.
    Names(Vec<(Name, Option<u64>)>),
    Exchanged(Name, Name),
    Wrote {
        file: u64,
        at: usize,
        bytes: Vec<u8>,
    },
    Length {
        file: u64,
        len: usize,
    },
    Synced(u64),
    SyncFailed(u64),
}

/// Every change and every sync of a [`SlowMount`](crate::SlowMount), in order.
///
/// Bytes are durable by a sync of their file, names by a sync of their folder, and not otherwise, which is all that
/// POSIX promises. (LazyFS and the model beside have it so, too.) What a power cut leaves of the rest is chance: each
/// sector of 512 bytes in any of its versions, any length, each name, changes of one name in their order. A rename is
/// there as a whole or not at all.
#[derive(Debug)]
pub struct Record {
    steps: Vec<Change>,
    root: u64,
}

impl Record {
    /// Reads what `slowfs.c` has written; `root` is the number of the mount's root.
    pub(crate) fn new(mut bytes: &[u8], root: u64) -> io::Result<Record> {
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "the record of the mount ends in the middle");
        let mut steps = Vec::new();
        while !bytes.is_empty() {
            let (head, rest) = bytes.split_at_checked(48).ok_or_else(broken)?;
            let mut fields = head.chunks(8).map(|field| u64::from_ne_bytes(field.try_into().expect("8 bytes")));
            let [kind, file, folder, folder_to, at, size] = std::array::from_fn(|_| fields.next().expect("6 of them"));
            let (payload, rest) = rest.split_at_checked(size as usize).ok_or_else(broken)?;
            bytes = rest;
            match kind {
                4 => steps.push(Change::Wrote { file, at: at as usize, bytes: payload.to_vec() }),
                5 => steps.push(Change::Length { file, len: at as usize }),
                6 => steps.push(Change::Synced(file)),
                7 => steps.push(Change::SyncFailed(file)),
                _ => {
                    let mut names = payload.splitn(2, |&byte| byte == 0).map(text);
                    let (first, second) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
                    match kind {
                        0 => {
                            steps.push(Change::Made { file, kind: at, target: second.into() });
                            steps.push(Change::Names(vec![((folder, first), Some(file))]));
                        }
                        1 => steps.push(Change::Names(vec![((folder, first), Some(file))])),
                        2 if at & EXCHANGE != 0 => {
                            steps.push(Change::Exchanged((folder, first), (folder_to, second)));
                        }
                        2 => {
                            steps.push(Change::Names(vec![((folder, first), None), ((folder_to, second), Some(file))]))
                        }
                        3 => steps.push(Change::Names(vec![((folder, first), None)])),
                        _ => {
                            return Err(io::Error::new(io::ErrorKind::InvalidData, "a kind of change that is unknown"));
                        }
                    }
                }
            }
        }
        Ok(Record { steps, root })
    }

    /// How many steps there are: the power can be cut before each of them, and after the last.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many steps were syncs that failed.
    pub fn failed_syncs(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Change::SyncFailed(_))).count()
    }

    /// What programs saw after the first `steps` steps.
    pub fn seen(&self, steps: usize) -> Remnant {
        let state = self.replay(steps);
        state.remnant(&state.names, |content| content.now.clone(), self.root)
    }

    /// What is left if the power is cut after the first `steps` steps. Without chance: exactly what was synced.
    pub fn cut(&self, steps: usize, random: Option<Random>) -> Remnant {
        let state = self.replay(steps);
        let Some(mut random) = random else {
            return state.remnant(&state.durable_names, |content| content.durable.clone(), self.root);
        };
        let mut names = state.durable_names.clone();
        let chosen = state.pending.iter().map(|_| !random.one_in(2)).collect();
        for (change, is_made) in state.pending.iter().zip(with_those_before(&state.pending, names_of, chosen)) {
            if is_made {
                make(change, &mut names);
            }
        }
        state.remnant(&names, |content| content.after_a_cut(&mut random), self.root)
    }

    fn replay(&self, steps: usize) -> State {
        let mut state = State::default();
        for step in &self.steps[..steps] {
            state.take(step);
        }
        state
    }
}

type NameChange = Vec<(Name, Option<u64>)>;

fn names_of(change: &NameChange) -> Vec<&Name> {
    change.iter().map(|(name, _)| name).collect()
}

fn make(change: &NameChange, names: &mut BTreeMap<Name, u64>) {
    for (name, file) in change {
        match file {
            Some(file) => drop(names.insert(name.clone(), *file)),
            None => drop(names.remove(name)),
        }
    }
}

fn text(bytes: &[u8]) -> OsString {
    // SAFETY: these bytes were a name on this machine.
    unsafe { OsString::from_encoded_bytes_unchecked(bytes.to_vec()) }
}

#[derive(Default)]
struct State {
    files: BTreeMap<u64, Content>,
    /// Those that are no files, with the targets of links.
    kinds: BTreeMap<u64, (u64, PathBuf)>,
    names: BTreeMap<Name, u64>,
    durable_names: BTreeMap<Name, u64>,
    pending: Vec<NameChange>,
}

impl State {
    fn take(&mut self, step: &Change) {
        match step {
            Change::Made { file, kind, target } => {
                self.kinds.remove(file);
                self.files.remove(file);
                if matches!(*kind, FOLDER | LINK) {
                    self.kinds.insert(*file, (*kind, target.clone()));
                } else {
                    self.files.insert(*file, Content::default());
                }
            }
            Change::Names(change) => self.rename(change.clone()),
            Change::Exchanged(one, other) => {
                let at = |name| self.names.get(name).copied();
                let (first, second) = (at(one), at(other));
                self.rename(vec![(one.clone(), second), (other.clone(), first)]);
            }
            Change::Wrote { file, at, bytes } => self.files.entry(*file).or_default().write(bytes, *at),
            Change::Length { file, len } => self.files.entry(*file).or_default().set_len(*len),
            // The mount has put the old bytes back before it recorded the failure: the disk has what it shows then.
            Change::Synced(file) | Change::SyncFailed(file) => match self.files.get_mut(file) {
                Some(content) => {
                    (content.durable, content.since) = (content.now.clone(), Default::default());
                }
                None => self.sync_folder(*file),
            },
        }
    }

    fn rename(&mut self, change: NameChange) {
        make(&change, &mut self.names);
        self.pending.push(change);
    }

    fn sync_folder(&mut self, folder: u64) {
        let is_there = |change: &NameChange| change.iter().any(|((at, _), _)| *at == folder);
        let chosen = self.pending.iter().map(is_there).collect();
        let is_durable = with_those_before(&self.pending, names_of, chosen);
        for (change, is_durable) in std::mem::take(&mut self.pending).into_iter().zip(is_durable) {
            if is_durable {
                make(&change, &mut self.durable_names);
            } else {
                self.pending.push(change);
            }
        }
    }

    fn remnant(&self, names: &BTreeMap<Name, u64>, mut bytes: impl FnMut(&Content) -> Vec<u8>, root: u64) -> Remnant {
        let mut remnant = Remnant::default();
        // A file with two names has the same bytes by both.
        let mut known: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        let mut folders = vec![(root, PathBuf::new())];
        while let Some((folder, path)) = folders.pop() {
            let inside = names.range((folder, OsString::new())..).take_while(|((at, _), _)| *at == folder);
            for ((_, name), file) in inside {
                let path = path.join(name);
                let node = match self.kinds.get(file) {
                    Some((FOLDER, _)) => {
                        folders.push((*file, path.clone()));
                        Node::Folder
                    }
                    Some((_, target)) => Node::Link(target.clone()),
                    None => Node::File(known.entry(*file).or_insert_with(|| bytes(&self.files[file])).clone()),
                };
                remnant.0.insert(path, node);
            }
        }
        remnant
    }
}
