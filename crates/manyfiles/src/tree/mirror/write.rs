//! Entries are handed over to a tree, by several threads where looking at the source takes time.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::Mirror;
use super::compare::{above, was_replaced};
use super::crew::{Crew, Hand, NAMES, Task, work};
use super::name::is_the_other;
use crate::error::explained;
use crate::sys::{self, Dir, Entering, EntryKind, Identity, Stat};
use crate::tree::engine::folded;
use crate::tree::{Content, Metadata, Report, TreeWriter};
use crate::{Error, Operation, temporary};

/// What all writing of one run knows.
pub(super) struct Writing {
    pub(super) how: Mirror,
    pub(super) source: PathBuf,
    pub(super) from: Arc<Dir>,
    pub(super) from_is: Identity,
    pub(super) target_is: Identity,
    pub(super) keeps_permissions: bool,
    /// Paths that have got their files by a rename.
    pub(super) renamed: HashSet<PathBuf>,
    /// Paths that are taken by something of another kind, each with the path at which its entry is written.
    pub(super) beside: HashMap<PathBuf, PathBuf>,
    pub(super) met: Mutex<Met>,
    /// Whether a handle was waited for in vain.
    pub(super) starved: AtomicBool,
}

/// While all handles of the process are in use, one is waited for this often, a millisecond each time.
const MOST_WAITS: u32 = 2000;

/// What was met on the way.
#[derive(Default)]
pub(super) struct Met {
    /// A path of each file that has several, of which those that come later become links.
    pub(super) links: HashMap<Identity, PathBuf>,
    /// Names that become links, each with the name that is written before.
    pub(super) to_link: Vec<(PathBuf, PathBuf)>,
    /// Those that were handed over.
    pub(super) linked: Vec<(PathBuf, PathBuf)>,
    /// Devices, FIFOs and sockets in new folders.
    pub(super) left_out: Vec<PathBuf>,
    /// Where the target's file system may hold several names as one: a path for each that is written, and pairs that
    /// may have become one.
    pub(super) written: Option<HashMap<OsString, PathBuf>>,
    pub(super) pairs: Vec<(PathBuf, PathBuf)>,
}

/// Entries on their way to one tree.
struct HandOver {
    writing: Arc<Writing>,
    tree: TreeWriter,
}

/// Paths, each with what is in it if it is a folder.
pub(super) enum Job {
    Whole(Vec<PathBuf>),
    /// Without what is in it.
    Alone(Vec<PathBuf>),
    /// Folders, as far as they are in the source.
    Finish(Vec<PathBuf>),
}

/// Hands over all of them, and then the links that were noted. Returns the tree, to be finished.
pub(super) fn hand_over(writing: &Arc<Writing>, tree: TreeWriter, jobs: Vec<Job>) -> TreeWriter {
    let task = HandOver { writing: writing.clone(), tree };
    let tree = work(task, jobs, &writing.how, &writing.from).tree;
    let links = std::mem::take(&mut writing.met().to_link);
    for (path, first) in links {
        if !writing.how.is_cancelled() {
            writing.link(&tree, &path, first.clone());
            writing.met().linked.push((path, first));
        }
    }
    tree
}

fn identity(root: &Arc<Dir>, path: &Path) -> Option<Identity> {
    let (dir, name) = above(root, path).ok()?;
    Some(dir.stat(&name).ok()?.identity)
}

/// The path with the part that has moved replaced.
fn moved(path: &Path, found: impl Fn(&Path) -> Option<PathBuf>) -> Option<PathBuf> {
    path.ancestors().find_map(|above| {
        let other = found(above)?;
        Some(if above == path { other } else { other.join(path.strip_prefix(above).ok()?) })
    })
}

impl Task for HandOver {
    type Job = Job;

    fn run(&self, job: Job, crew: &Arc<Crew<HandOver>>, hand: &mut Hand) {
        let is_whole = matches!(job, Job::Whole(_));
        let only_folders = matches!(job, Job::Finish(_));
        let (Job::Whole(paths) | Job::Alone(paths) | Job::Finish(paths)) = job;
        let mut last = None;
        hand.begin();
        for path in paths {
            if self.is_cancelled() {
                return;
            }
            if only_folders && !self.writing.may_be_folder(&path, &mut last) {
                continue;
            }
            if self.writing.entry(&self.tree, &path, &mut last) && is_whole {
                match self.writing.names_in(&path) {
                    Ok(names) => crew.push(names.chunks(4 * NAMES).map(|names| Job::Whole(names.to_vec())).collect()),
                    Err(cause) => {
                        self.tree.fail(Error::new(Operation::List, self.writing.source.join(&path), cause));
                    }
                }
            }
            crew.note(hand);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.writing.how.is_cancelled()
    }
}

/// The folder that was needed last. Paths come sorted.
type Last = Option<(PathBuf, Arc<Dir>)>;

impl Writing {
    /// The path in the target at which the entry of this path is written.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        if self.beside.is_empty() {
            return path.to_owned();
        }
        let found = |above: &Path| self.beside.get(above).cloned();
        moved(path, found).unwrap_or_else(|| path.to_owned())
    }

    /// The path that belongs to a place in the target.
    pub(super) fn path_at(&self, place: &Path) -> PathBuf {
        let found =
            |above: &Path| self.beside.iter().find_map(|(path, beside)| (beside == above).then(|| path.clone()));
        let may_be = |above: &Path| above.file_name().is_some_and(temporary::looks_temporary);
        moved(place, |above| may_be(above).then(|| found(above)).flatten()).unwrap_or_else(|| place.to_owned())
    }

    pub(super) fn met(&self) -> MutexGuard<'_, Met> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the call again while the process is out of handles: the tree's threads close theirs soon. After one call
    /// has waited in vain, no other one waits.
    fn with_handles<T>(&self, mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let mut waits = 0;
        loop {
            match call() {
                Err(error) if sys::is_out_of_handles(&error) => {
                    if waits == MOST_WAITS || self.starved.load(Relaxed) || self.how.is_cancelled() {
                        self.starved.store(true, Relaxed);
                        return Err(explained(error, "close some, or raise the limit (`ulimit -n`)"));
                    }
                    thread::sleep(Duration::from_millis(1));
                    waits += 1;
                }
                done => return done,
            }
        }
    }

    fn names_in(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.with_handles(|| self.look_in(path))
    }

    fn look_in(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let how = Entering { take_rights: false, across_mounts: true };
        let (dir, name) = above(&self.from, path)?;
        let mut listing = dir.enter(&name, how)?;
        let listed = listing.dir()?.identity()?;
        let mut names = Vec::new();
        while let Some(entry) = listing.next() {
            let below = path.join(entry?.name());
            if !self.how.excludes(&below)? {
                names.push(below);
            }
        }
        // A folder that was removed after it was opened is listed as if it were empty.
        if dir.stat(&name)?.identity == listed { Ok(names) } else { Err(was_replaced()) }
    }

    fn folder_of(&self, path: &Path, last: &mut Last) -> io::Result<(Arc<Dir>, OsString)> {
        if let (Some((above, dir)), Some(name)) = (&*last, path.file_name())
            && path.parent() == Some(above)
        {
            return Ok((dir.clone(), name.to_owned()));
        }
        let (dir, name) = above(&self.from, path)?;
        *last = path.parent().map(|above| (above.to_owned(), dir.clone()));
        Ok((dir, name))
    }

    /// Whether it is a folder of the source, or whether that has to be told to be unknown.
    fn may_be_folder(&self, path: &Path, last: &mut Last) -> bool {
        match self.with_handles(|| self.folder_of(path, last)).and_then(|(dir, name)| dir.stat(&name)) {
            Ok(stat) => stat.kind == EntryKind::Folder,
            Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }

    /// One entry of the source. True: it is a folder to be looked into.
    fn entry(&self, tree: &TreeWriter, path: &Path, last: &mut Last) -> bool {
        let found = self.with_handles(|| self.folder_of(path, last));
        let found = found.and_then(|(dir, name)| Ok((dir.stat(&name)?, dir, name)));
        let (stat, dir, name) = match found {
            Ok(found) => found,
            Err(cause) => {
                tree.fail(Error::new(Operation::Metadata, self.source.join(path), cause));
                return false;
            }
        };
        if self.renamed.contains(path)
            || self.how.one_file_system && stat.identity.volume != self.from_is.volume
            || self.is_link(path, &stat)
        {
            return false;
        }
        if stat.identity == self.target_is {
            tree.fail(Error::new(Operation::Open, self.source.join(path), is_the_other("target")));
            return false;
        }
        let metadata = match self.with_attributes(self.metadata(&dir, &name, &stat), &dir, path, &stat) {
            Ok(metadata) => metadata,
            Err(cause) => {
                tree.fail(Error::new(Operation::Metadata, self.source.join(path), cause));
                return false;
            }
        };
        self.note_name(path);
        let place = self.place(path);
        let done = match stat.kind {
            EntryKind::Folder => {
                let shown = if path.as_os_str().is_empty() { Path::new(".") } else { &place };
                drop(tree.folder(shown, metadata));
                return true;
            }
            EntryKind::File => tree.file_with(&place, self.content(path), metadata),
            EntryKind::Symlink => match dir.read_link(&name) {
                Ok(says) => tree.symlink(&place, says, metadata),
                Err(cause) => {
                    tree.fail(Error::new(Operation::Read, self.source.join(path), cause));
                    Ok(())
                }
            },
            EntryKind::Other => match dir.node(&name) {
                Ok(Some(node)) if self.how.special_files => tree.node(&place, node, metadata),
                Ok(_) => {
                    self.met().left_out.push(path.to_owned());
                    Ok(())
                }
                Err(cause) => {
                    tree.fail(Error::new(Operation::Metadata, self.source.join(path), cause));
                    Ok(())
                }
            },
        };
        drop(done); // An error of these calls is in the report.
        false
    }

    /// The file is opened below the source's own folder: whoever may change names there cannot lead elsewhere.
    fn content(&self, path: &Path) -> Content {
        Content::copy_below(self.from.clone(), path, self.source.join(path))
    }

    /// Whether it is a further name of a file: then that is noted.
    fn is_link(&self, path: &Path, stat: &Stat) -> bool {
        if stat.links < 2 || stat.kind == EntryKind::Folder {
            return false;
        }
        let mut met = self.met();
        match met.links.get(&stat.identity) {
            Some(first) if first != path => {
                let first = first.clone();
                met.to_link.push((path.to_owned(), first));
                true
            }
            Some(_) => false,
            None => {
                met.links.insert(stat.identity, path.to_owned());
                false
            }
        }
    }

    /// Notes what is written, and what may have the same name.
    fn note_name(&self, path: &Path) {
        let mut met = self.met();
        let Some(written) = &mut met.written else { return };
        if let Some(other) = written.insert(folded(path.as_os_str()), path.to_owned())
            && other != path
        {
            met.pairs.push((other, path.to_owned()));
        }
    }

    /// A failure for each pair of names of which only one arrived.
    pub(super) fn tell_what_became_one(&self, to: &Arc<Dir>, target: &Path, report: &mut Report) {
        let pairs = std::mem::take(&mut self.met().pairs);
        for (one, other) in pairs {
            if identity(to, &one).is_some_and(|is| Some(is) == identity(to, &other)) {
                let why = format!(
                    "the target's file system holds it and {} as one name: only one of them arrived",
                    one.display()
                );
                let why = io::Error::new(io::ErrorKind::AlreadyExists, why);
                report.failures.push(Error::new(Operation::Create, target.join(other), why));
            }
        }
    }

    /// How many names became files of their own, because the target's file system did not link them.
    pub(super) fn not_linked(&self, to: &Arc<Dir>) -> u64 {
        let linked = std::mem::take(&mut self.met().linked);
        let are_two = |(path, first): &(PathBuf, PathBuf)| {
            let (one, other) = (identity(to, path), identity(to, first));
            one.is_some() && other.is_some() && one != other
        };
        linked.iter().filter(|pair| are_two(pair)).count() as u64
    }

    fn link(&self, tree: &TreeWriter, path: &Path, first: PathBuf) {
        let found = above(&self.from, path).and_then(|(dir, name)| {
            let stat = dir.stat(&name)?;
            Ok((self.metadata(&dir, &name, &stat), stat))
        });
        let (place, first) = (self.place(path), self.place(&first));
        match found {
            Ok((metadata, stat)) if stat.kind == EntryKind::File => {
                drop(tree.hard_link_or(&place, first, self.content(path), metadata));
            }
            Ok(_) => drop(tree.hard_link(&place, first)),
            Err(cause) => tree.fail(Error::new(Operation::Metadata, self.source.join(path), cause)),
        }
    }

    fn metadata(&self, dir: &Dir, name: &OsStr, stat: &Stat) -> Metadata {
        let mut metadata = Metadata::default().modified(stat.modified);
        if stat.kind != EntryKind::Symlink && self.keeps_permissions {
            metadata = metadata.mode(self.how.mode_of(dir, name, stat));
        }
        if self.how.compares_owners() { metadata.owner(stat.owner.0, stat.owner.1) } else { metadata }
    }

    /// With what else is kept. What a file has is read where it is opened for its bytes.
    fn with_attributes(&self, metadata: Metadata, dir: &Dir, path: &Path, stat: &Stat) -> io::Result<Metadata> {
        if stat.kind == EntryKind::File || !self.how.compares_attributes() {
            return Ok(metadata);
        }
        let name = path.file_name().unwrap_or(OsStr::new("."));
        let shown = || self.source.join(path.parent().unwrap_or(Path::new("")));
        let found = dir.attributes_of_name(name, stat.kind, shown, &self.how.keep)?;
        Ok(metadata.with(found, self.how.keep))
    }
}
