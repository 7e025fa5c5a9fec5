//! Both trees are looked through, folder by folder, by many threads.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::crew::{Crew, Hand, NAMES, Task, work};
use super::found::Found;
use super::{Difference, Differences, Mirror, What, moved};
use crate::error::Cancelled;
use crate::sys::{Dir, Entering, EntryKind, Identity, Listing, Stat};
use crate::tree::engine::{RESUME_FROM, folded, looks_partial, partial_name};
use crate::{Error, Errors, Operation, Result};

/// No rights are taken, and what is mounted there is not entered.
const HERE: Entering = Entering { take_rights: false, across_mounts: false };

pub(super) fn compare(how: &Mirror, source: &Path, target: &Path) -> Result<Differences, Errors> {
    let begin = || -> Result<_> {
        let cannot = |operation, path: &Path| {
            let path = path.to_owned();
            move |cause| Error::new(operation, path, cause)
        };
        let root = Dir::open_root(source).map_err(cannot(Operation::Open, source))?;
        let own = root.stat(OsStr::new(".")).map_err(cannot(Operation::Metadata, source))?;
        let there = match Dir::open_root(target) {
            Ok(dir) => Some(dir),
            Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(target).is_err() => None,
            Err(error) => return Err(cannot(Operation::Open, target)(error)),
        };
        refuse_one_in_the_other(source, target, &own)?;
        let identity = there.as_ref().map(Dir::identity).transpose().map_err(cannot(Operation::Metadata, target))?;
        Ok((root, own, there, identity))
    };
    let (root, own, there, identity) = begin().map_err(|error| Errors::check(vec![error]).unwrap_err())?;
    let root = Root { dir: Arc::new(root), path: source.to_owned(), identity: own.identity, has_mounts: true };
    let (Some(there), Some(identity)) = (there, identity) else {
        let new = Difference { path: PathBuf::new(), kind: EntryKind::Folder, what: What::New, len: 0 };
        let mut found = Found { all: vec![new], ..Found::default() };
        if let Some(above) = nearest_identity(target) {
            moved::look_for_the_other(how, &root, above, &mut found);
        }
        found.refuse_overlap(source)?;
        return Ok(differences(how, root, target, None, found, 0));
    };
    let there = Root { dir: Arc::new(there), path: target.to_owned(), identity, has_mounts: false };
    let near = there.dir.clone();
    let comparison = Comparison {
        how: how.clone(),
        keeps_coarse_times: there.dir.keeps_coarse_times(),
        keeps_permissions: there.dir.keeps_permissions(),
        source: root,
        target: there,
        found: Mutex::new(Found { source_is_empty: true, ..Found::default() }),
        unchanged: AtomicU64::new(0),
    };
    let comparison = work(comparison, vec![Job::Folder(PathBuf::new())], how, &near);
    let Comparison { source: from, target: to, found, unchanged, .. } = comparison;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    moved::survey(how, &from, &to, &mut found);
    found.refuse_overlap(source)?;
    if how.is_cancelled() {
        let cancelled = Error::new(Operation::List, source, io::Error::other(Cancelled));
        return Err(Errors::check(vec![cancelled]).unwrap_err());
    }
    Ok(differences(how, from, target, Some(identity), found, unchanged.into_inner()))
}

fn differences(
    how: &Mirror,
    source: Root,
    target: &Path,
    target_is: Option<Identity>,
    mut found: Found,
    unchanged: u64,
) -> Differences {
    // Files that count as unchanged, but are to be linked, or no longer to be.
    let so_far = found.all.len();
    found.part_names();
    let links = found.settle_links();
    let unchanged = unchanged.saturating_sub((found.all.len() - so_far) as u64);
    found.all.extend(std::mem::take(&mut found.moved_into_new));
    found.all.sort_by(|one, other| one.path.cmp(&other.path));
    found.left_out.sort();
    Differences {
        how: how.clone(),
        from: source.dir,
        source: source.path,
        target: target.to_owned(),
        target_is,
        all: found.all,
        links,
        unchanged,
        left_out: found.left_out,
        removals: found.removals,
        source_is_empty: found.source_is_empty,
        failures: found.failures,
    }
}

/// An error if one is in the other, or both are one.
fn refuse_one_in_the_other(source: &Path, target: &Path, own: &Stat) -> Result<()> {
    let refuse = |why: String| Err(Error::new(Operation::Open, target, io::Error::other(why)));
    let real = |path: &Path| fs::canonicalize(path).map_err(|cause| Error::new(Operation::Open, path, cause));
    // The part of the target that is there.
    let there = std::path::absolute(target).map_err(|cause| Error::new(Operation::Open, target, cause))?;
    let there = there.ancestors().find_map(|above| fs::canonicalize(above).ok());
    let is = |path: &Path, identity: Identity| {
        Dir::open_root(path).and_then(|dir| dir.identity()).is_ok_and(|it| it == identity)
    };
    if let Some(there) = there {
        for above in there.ancestors() {
            if is(above, own.identity) {
                return refuse(format!("the target is in the source, {}, or is it", source.display()));
            }
        }
    }
    let Some(target_is) = Dir::open_root(target).and_then(|dir| dir.identity()).ok() else { return Ok(()) };
    for above in real(source)?.ancestors() {
        if is(above, target_is) {
            return refuse(format!("the source, {}, is in the target: it would be removed", source.display()));
        }
    }
    Ok(())
}

/// The folder in which the first folder of `target` will be made.
fn nearest_identity(target: &Path) -> Option<Identity> {
    let target = std::path::absolute(target).ok()?;
    target.ancestors().find_map(|above| Dir::open_root(above).ok()?.identity().ok())
}

/// One comparison, shared by its threads.
pub(super) struct Comparison {
    pub(super) how: Mirror,
    pub(super) source: Root,
    pub(super) target: Root,
    /// Whether the file system of the target is of a kind that keeps times badly.
    pub(super) keeps_coarse_times: bool,
    pub(super) keeps_permissions: bool,
    pub(super) found: Mutex<Found>,
    pub(super) unchanged: AtomicU64,
}

/// The folder that one of the trees is in.
#[derive(Clone)]
pub(super) struct Root {
    pub(super) dir: Arc<Dir>,
    pub(super) path: PathBuf,
    pub(super) identity: Identity,
    /// Whether what is mounted in it is part of the tree. It is in the source, but for
    /// [`one_file_system`](Mirror::one_file_system). In the target it never is: it may be anything, the source included.
    pub(super) has_mounts: bool,
}

pub(super) enum Job {
    /// A folder that is in both.
    Folder(PathBuf),
    /// Names that are in both, or in the source alone.
    Names(Arc<Pair>, Vec<(OsString, bool)>),
}

/// A folder that is in both, open.
pub(super) struct Pair {
    pub(super) path: PathBuf,
    pub(super) source: Dir,
    pub(super) target: Dir,
}

impl Task for Comparison {
    type Job = Job;

    fn run(&self, job: Job, crew: &Arc<Crew<Comparison>>, hand: &mut Hand) {
        match job {
            Job::Folder(path) => self.folder(path, crew, hand),
            Job::Names(pair, names) => self.names(&pair, &names, crew, hand),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.how.is_cancelled()
    }
}

impl Comparison {
    /// Looks at what is in a folder that is in both.
    fn folder(&self, path: PathBuf, crew: &Arc<Crew<Comparison>>, hand: &mut Hand) {
        hand.begin();
        let listed = self.source.list(&path).and_then(|(listing, is_mount)| Ok((names(listing)?, is_mount)));
        let (source, is_mount) = match listed {
            Ok(source) => source,
            Err(cause) => return self.fail(Operation::List, self.source.path.join(&path), cause),
        };
        let target = match self.target.list(&path).and_then(|(listing, _)| names(listing)) {
            Ok(target) => target,
            Err(cause) => return self.fail(Operation::List, self.target.path.join(&path), cause),
        };
        let pair = Arc::new(Pair { path, source: source.0, target: target.0 });
        self.own_metadata(&pair, is_mount);
        let mut there: HashMap<_, _> = target.1.into_iter().collect();
        let folded = self.fold(&pair, &source.1, &there);
        let mut to_look_at = Vec::with_capacity(source.1.len());
        for (name, _) in source.1 {
            let is_there = match folded.get(&name) {
                Some(Some(spelled)) => there.remove(spelled).is_some(),
                Some(None) => continue,
                None => there.remove(&name).is_some(),
            };
            if !self.excludes(&pair.path, &name) {
                to_look_at.push((name, is_there));
            }
        }
        if !there.is_empty()
            && let Err(cause) = self.is_still_there(&pair)
        {
            return self.fail(Operation::List, self.source.path.join(&pair.path), cause);
        }
        let to_resume = self.to_resume(&pair, &there, &to_look_at);
        for (name, kind) in there {
            if !to_resume.contains(&name) && !self.excludes(&pair.path, &name) {
                self.extra(&pair, &name, kind);
            }
        }
        if !crew.is_slow() {
            return self.names(&pair, &to_look_at, crew, hand);
        }
        crew.push(to_look_at.chunks(NAMES).map(|names| Job::Names(pair.clone(), names.to_vec())).collect());
    }

    /// An error if the folder of the source is not the one that was listed. A folder that is removed after it was opened
    /// is listed as if it were empty.
    fn is_still_there(&self, pair: &Pair) -> io::Result<()> {
        let is = if pair.path.as_os_str().is_empty() {
            Dir::open_root(&self.source.path)?.identity()?
        } else {
            let (above, name) = above(&self.source.dir, &pair.path)?;
            above.stat(&name)?.identity
        };
        if is == pair.source.identity()? { Ok(()) } else { Err(was_replaced()) }
    }

    /// Names that the target has in another spelling, where its file system holds that as the same name. `None`: the
    /// source has that spelling too, so that only one of them can be in the target.
    fn fold(
        &self,
        pair: &Pair,
        names: &Names,
        there: &HashMap<OsString, Option<EntryKind>>,
    ) -> HashMap<OsString, Option<OsString>> {
        let mut found = HashMap::new();
        let mut unlisted = names.iter().map(|(name, _)| name).filter(|name| !there.contains_key(*name)).peekable();
        if unlisted.peek().is_none() || !pair.target.folds() {
            return found;
        }
        let spelled: HashMap<_, _> = there.keys().map(|name| (folded(name), name)).collect();
        let mut taken: HashMap<_, _> = names.iter().map(|(name, _)| name).map(|name| (name.clone(), name)).collect();
        for name in unlisted {
            let Some(spelled) = spelled.get(&folded(name)) else { continue };
            if pair.target.stat(name).is_err() || self.excludes(&pair.path, name) {
                continue; // It may fold, and does not.
            }
            match taken.insert((*spelled).clone(), name) {
                None => drop(found.insert(name.clone(), Some((*spelled).clone()))),
                Some(other) => {
                    let why = format!(
                        "the target's file system holds it and {} as one name; leave one of them out",
                        other.display()
                    );
                    let why = io::Error::new(io::ErrorKind::AlreadyExists, why);
                    self.fail(Operation::Create, self.target.path.join(&pair.path).join(name), why);
                    found.insert(name.clone(), None);
                }
            }
        }
        found
    }

    fn own_metadata(&self, pair: &Pair, is_mount: bool) {
        let own = OsStr::new(".");
        let fail = |root: &Root, cause| self.fail(Operation::Metadata, root.path.join(&pair.path), cause);
        match (pair.source.stat(own), pair.target.stat(own)) {
            (Ok(source), Ok(target)) => {
                self.found().overlap.note(is_mount.then_some((source.identity, &pair.path)), Some(target.identity));
                let differs = self.metadata_differs(&pair.source, own, (&source, &target))
                    || !self.is_same_time(&source, &target);
                match if differs { Ok(true) } else { self.attributes_differ(pair, own, EntryKind::Folder) } {
                    Ok(true) => self.differs(pair.path.clone(), &source, What::Metadata),
                    Ok(false) => {}
                    Err((of_ours, cause)) => fail(if of_ours { &self.source } else { &self.target }, cause),
                }
            }
            (Err(cause), _) => fail(&self.source, cause),
            (_, Err(cause)) => fail(&self.target, cause),
        }
    }

    /// What earlier runs have begun of files that are still to be written.
    fn to_resume(
        &self,
        pair: &Pair,
        there: &HashMap<OsString, Option<EntryKind>>,
        names: &[(OsString, bool)],
    ) -> HashSet<OsString> {
        let mut found = HashSet::new();
        if !self.how.resume || !there.keys().any(|name| looks_partial(name)) {
            return found;
        }
        let Ok(folder) = pair.target.identity() else { return found };
        for (name, _) in names {
            let partial = partial_name(folder, name);
            if there.contains_key(&partial)
                && let Ok(source) = pair.source.stat(name)
                && source.kind == EntryKind::File
                && source.len >= RESUME_FROM
                && !pair.target.stat(name).is_ok_and(|it| it.len == source.len && self.is_same_time(&source, &it))
            {
                found.insert(partial);
            }
        }
        found
    }

    fn extra(&self, pair: &Pair, name: &OsStr, kind: Option<EntryKind>) {
        match kind.map_or_else(|| pair.target.stat(name).map(|stat| stat.kind), Ok) {
            Ok(kind) => {
                let path = pair.path.join(name);
                self.found().all.push(Difference { path, kind, what: What::Extra, len: 0 });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => self.fail(Operation::Metadata, self.target.path.join(&pair.path).join(name), cause),
        }
    }

    fn names(&self, pair: &Arc<Pair>, names: &[(OsString, bool)], crew: &Arc<Crew<Comparison>>, hand: &mut Hand) {
        let mut folders = Vec::new();
        hand.begin();
        for (at, (name, is_there)) in names.iter().enumerate() {
            if self.how.is_cancelled() {
                return;
            }
            if let Err((operation, root, cause)) = self.name(pair, name, *is_there, &mut folders, hand) {
                self.fail(operation, root.path.join(&pair.path).join(name), cause);
            }
            self.how.progress.add_compared();
            crew.note(hand);
            // It has turned out to be slow: others take the rest.
            if names.len() - at > 2 * NAMES && crew.is_slow() {
                let rest = names[at + 1..].chunks(NAMES).map(|names| Job::Names(pair.clone(), names.to_vec()));
                folders.extend(rest);
                break;
            }
        }
        crew.push(folders);
    }

    pub(super) fn differs(&self, path: PathBuf, stat: &Stat, what: What) {
        let len = if stat.kind == EntryKind::File { stat.len } else { 0 };
        let mut found = self.found();
        if what == What::New && self.how.finds_moved && moved::may_be(stat) {
            found.new_files.push((path.clone(), *stat));
        }
        found.all.push(Difference { path, kind: stat.kind, what, len });
    }

    fn excludes(&self, folder: &Path, name: &OsStr) -> bool {
        if self.how.exclude.is_none() {
            return false; // No path is put together for nothing.
        }
        let path = folder.join(name);
        self.how.excludes(&path).unwrap_or_else(|cause| {
            self.fail(Operation::Metadata, self.source.path.join(&path), cause);
            true
        })
    }

    pub(super) fn fail(&self, operation: Operation, path: PathBuf, cause: io::Error) {
        self.found().failures.push(Error::new(operation, path, cause));
    }

    pub(super) fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mirror {
    /// Whether the program wants to leave the path out. An error is its panic.
    pub(super) fn excludes(&self, path: &Path) -> io::Result<bool> {
        let Some(exclude) = &self.exclude else { return Ok(false) };
        catch_unwind(AssertUnwindSafe(|| exclude(path)))
            .map_err(|_| io::Error::other("the program's `exclude` panicked when it was asked for this path"))
    }
}

impl Root {
    /// The folder at `path`, to be listed, and whether something is mounted there: that is an error where it is not part
    /// of the tree. No link is followed on the way.
    pub(super) fn list(&self, path: &Path) -> io::Result<(Listing, bool)> {
        let (dir, name) = above(&self.dir, path)?;
        match dir.enter(&name, HERE) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => match self.has_mounts {
                true => Ok((dir.enter(&name, Entering { across_mounts: true, ..HERE })?, true)),
                false => Err(something_is_mounted()),
            },
            listing => Ok((listing?, false)),
        }
    }
}

/// Its names may be those of another folder.
pub(super) fn was_replaced() -> io::Error {
    io::Error::other("another folder has its name since it was looked at; run it again")
}

/// What is mounted in the target may be anything. So it is neither looked into nor removed, and nothing is written there.
fn something_is_mounted() -> io::Error {
    let why = "something is mounted there, which is neither compared nor removed: exclude it, or unmount it";
    io::Error::new(io::ErrorKind::CrossesDevices, why)
}

/// The folder below `root` that `path` is in, and its last name.
pub(super) fn above(root: &Arc<Dir>, path: &Path) -> io::Result<(Arc<Dir>, OsString)> {
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) if above.as_os_str().is_empty() => Ok((root.clone(), name.to_owned())),
        (Some(above), Some(name)) => Ok((Arc::new(root.folder(above)?), name.to_owned())),
        _ => Ok((root.clone(), ".".into())),
    }
}

type Names = Vec<(OsString, Option<EntryKind>)>;

/// All that is in a folder, and its handle.
pub(super) fn names(mut listing: Listing) -> io::Result<(Dir, Names)> {
    let mut names = Vec::new();
    while let Some(entry) = listing.next() {
        let entry = entry?;
        names.push((entry.name().to_owned(), entry.kind()));
    }
    Ok((listing.dir()?, names))
}
