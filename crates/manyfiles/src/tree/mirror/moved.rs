//! What is only in the target is counted, and files in it are found that have another path in the source by now.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::compare::{Root, names};
use super::crew::{Crew, Hand, NAMES, Task, for_each, work};
use super::found::{Found, Overlap};
use super::same::{is_same_content, is_same_time, kept_as, nanoseconds};
use super::{Difference, Mirror, What};
use crate::sys::{Dir, EntryKind, Identity, Stat};
use crate::{Error, Operation};

/// Whether a file can be told from all others by its length and time. One with several names is no single file.
pub(super) fn may_be(stat: &Stat) -> bool {
    stat.kind == EntryKind::File && stat.len > 0 && stat.links == 1
}

/// Counts what is to be removed, and notes which files have moved: those that nothing else in either tree can be taken
/// for, and which have the same bytes.
pub(super) fn survey(how: &Mirror, source: &Root, target: &Root, found: &mut Found) {
    let (extra, new) = found.extra_and_new();
    if how.is_cancelled() {
        return;
    }
    let may_move = how.finds_moved && !extra.is_empty() && (!new.is_empty() || !found.new_files.is_empty());
    let there = look(how, target, extra, may_move, Other { identity: source.identity, is_source: true });
    found.failures.extend(there.failures);
    found.overlap.extend(there.overlap);
    found.removals = there.names;
    let may_move = may_move && !there.files.is_empty();
    // Also if none can have moved: the target may be in there. What cannot be read is told when it is written.
    let here = look(how, source, new, may_move, Other { identity: target.identity, is_source: false });
    found.overlap.extend(here.overlap);
    if !may_move || how.is_cancelled() {
        return;
    }
    let mut new_files = std::mem::take(&mut found.new_files);
    new_files.extend(here.files);
    let coarse = target.dir.keeps_coarse_times();
    let pairs = pairs(there.files, new_files, coarse);
    let same = Arc::new(Mutex::new(Vec::new()));
    let (ours, theirs, choices, equal) = (source.dir.clone(), target.dir.clone(), how.clone(), same.clone());
    for_each(pairs, how, &target.dir, move |pair: Pair, hand| {
        if is_same(&ours, &theirs, &pair, &choices, hand).unwrap_or(false) {
            lock(&equal).push(pair); // Else it is copied, and that tells what is wrong.
        }
    });
    found.note_moved(std::mem::take(&mut *lock(&same)));
}

/// Counts again what is to be removed. What cannot be counted is an error.
pub(super) fn count(how: &Mirror, target: &Root, paths: Vec<Alone>, source: Identity) -> Result<u64, Vec<Error>> {
    let looked = look(how, target, paths, false, Other { identity: source, is_source: true });
    if looked.failures.is_empty() { Ok(looked.names) } else { Err(looked.failures) }
}

/// Looks for the folder `other` in all of the source, where the target is not there yet.
pub(super) fn look_for_the_other(how: &Mirror, source: &Root, other: Identity, found: &mut Found) {
    let all = vec![(PathBuf::new(), Some(EntryKind::Folder), false)];
    let looked = look(how, source, all, false, Other { identity: other, is_source: false });
    found.overlap.extend(looked.overlap);
}

/// A file of the target and what it has become in the source.
struct Pair {
    from: PathBuf,
    to: PathBuf,
    len: u64,
}

fn is_same(source: &Arc<Dir>, target: &Arc<Dir>, pair: &Pair, how: &Mirror, hand: &mut Hand) -> io::Result<bool> {
    let (ours, name) = super::compare::above(source, &pair.to)?;
    let (theirs, other_name) = super::compare::above(target, &pair.from)?;
    is_same_content((&ours, &name), (&theirs, &other_name), how, &mut hand.buffer).map_err(|(_, cause)| cause)
}

/// Each file that is only in the target with the one new file that it can be.
fn pairs(extra: Vec<(PathBuf, Stat)>, new: Vec<(PathBuf, Stat)>, coarse: bool) -> Vec<Pair> {
    let mut by_time: HashMap<(u64, i128), Option<(PathBuf, Stat)>> = HashMap::new();
    for (path, stat) in extra {
        let key = (stat.len, nanoseconds(stat.modified));
        by_time.entry(key).and_modify(|other| *other = None).or_insert(Some((path, stat)));
    }
    // `None`: several new files may be it.
    let mut wanted: HashMap<(u64, i128), Option<PathBuf>> = HashMap::new();
    for (path, stat) in new {
        let key = kept_as(stat.modified).map(|time| (stat.len, time)).find(|key| by_time.contains_key(key));
        if let Some(key) = key {
            let is_it = by_time[&key].as_ref().is_some_and(|(_, there)| is_same_time(stat.modified, there, coarse));
            if is_it {
                wanted.entry(key).and_modify(|other| *other = None).or_insert(Some(path));
            }
        }
    }
    let mut pairs: Vec<_> = wanted
        .into_iter()
        .filter_map(|(key, to)| Some(Pair { from: by_time.remove(&key)??.0, to: to?, len: key.0 }))
        .collect();
    pairs.sort_by(|one, other| one.from.cmp(&other.from));
    pairs
}

impl Found {
    /// Paths that are only in the target or in the way there, and whether files among them may have moved; and folders
    /// that are new.
    fn extra_and_new(&self) -> (Vec<Alone>, Vec<Alone>) {
        let (mut extra, mut new) = (Vec::new(), Vec::new());
        for difference in &self.all {
            let Difference { path, kind, .. } = difference;
            match difference.what {
                What::Extra => extra.push((path.clone(), Some(*kind), true)),
                // The kind of what is there is not the one that is known.
                What::Kind => extra.push((path.clone(), None, false)),
                What::New if *kind == EntryKind::Folder => new.push((path.clone(), Some(*kind), true)),
                _ => {}
            }
        }
        (extra, new)
    }

    fn note_moved(&mut self, pairs: Vec<Pair>) {
        self.removals = self.removals.saturating_sub(pairs.len() as u64);
        let mut to: HashMap<_, _> = pairs.iter().map(|pair| (pair.to.clone(), pair.from.clone())).collect();
        let from: std::collections::HashSet<_> = pairs.iter().map(|pair| &pair.from).collect();
        self.all.retain(|difference| difference.what != What::Extra || !from.contains(&difference.path));
        for difference in &mut self.all {
            if difference.what == What::New
                && let Some(from) = to.remove(&difference.path)
            {
                difference.what = What::Moved(from);
            }
        }
        let inside = pairs.into_iter().filter_map(|pair| {
            let from = to.remove(&pair.to)?;
            Some(Difference { path: pair.to, kind: EntryKind::File, what: What::Moved(from), len: pair.len })
        });
        self.moved_into_new = inside.collect();
    }
}

/// A path that is in one tree alone, what it is if that is known, and whether files in it may have moved.
pub(super) type Alone = (PathBuf, Option<EntryKind>, bool);

/// One look through what is in one tree alone.
struct Look {
    how: Mirror,
    root: Root,
    other: Other,
    wants_files: bool,
    seen: Mutex<Seen>,
}

/// The root of the other tree, which must not be met.
#[derive(Clone, Copy)]
struct Other {
    identity: Identity,
    is_source: bool,
}

#[derive(Default)]
struct Seen {
    overlap: Overlap,
    names: u64,
    files: Vec<(PathBuf, Stat)>,
    failures: Vec<Error>,
}

enum Job {
    Paths(Vec<Alone>),
    /// Names in a folder, which is not kept open for them: many may wait.
    Names(PathBuf, Vec<(OsString, Option<EntryKind>)>, bool),
}

fn look(how: &Mirror, root: &Root, paths: Vec<Alone>, wants_files: bool, other: Other) -> Seen {
    let look = Look { how: how.clone(), root: root.clone(), other, wants_files, seen: Mutex::default() };
    let jobs = paths.chunks(NAMES).map(|paths| Job::Paths(paths.to_vec())).collect();
    let look = work(look, jobs, how, &root.dir);
    look.seen.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The folder that was asked last.
type Last = Option<(PathBuf, Arc<Dir>)>;

impl Task for Look {
    type Job = Job;

    fn run(&self, job: Job, crew: &Arc<Crew<Look>>, hand: &mut Hand) {
        hand.begin();
        let paths = match job {
            Job::Paths(paths) => paths,
            Job::Names(folder, names, may_move) => {
                names.into_iter().map(|(name, kind)| (folder.join(name), kind, may_move)).collect()
            }
        };
        let mut last = None;
        for (path, kind, may_move) in paths {
            if self.is_cancelled() {
                return;
            }
            self.one(&path, kind, may_move, &mut last, crew);
            crew.note(hand);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.how.is_cancelled()
    }
}

impl Look {
    /// Notes what is at `path`.
    fn one(&self, path: &Path, kind: Option<EntryKind>, may_move: bool, last: &mut Last, crew: &Arc<Crew<Look>>) {
        let needs_stat = match kind {
            None => true,
            Some(EntryKind::File) => self.wants_files && may_move,
            Some(EntryKind::Folder) => self.leaves_mounts_out(),
            Some(_) => false,
        };
        let stat = match needs_stat.then(|| self.stat(path, last)).transpose() {
            Ok(stat) => stat,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(cause) => return self.fail(Operation::Metadata, path, cause),
        };
        let kind = stat.map(|stat| stat.kind).or(kind);
        let volume = self.root.identity.volume;
        if self.leaves_mounts_out() && stat.is_some_and(|stat| stat.identity.volume != volume) {
            return;
        }
        {
            let mut seen = self.seen();
            seen.names += 1;
            if let Some(stat) = stat.filter(|stat| self.wants_files && may_move && may_be(stat)) {
                seen.files.push((path.to_owned(), stat));
            }
        }
        if kind == Some(EntryKind::Folder) {
            self.folder(path, may_move, crew);
        }
    }

    fn leaves_mounts_out(&self) -> bool {
        !self.other.is_source && self.how.one_file_system
    }

    fn stat(&self, path: &Path, last: &mut Last) -> io::Result<Stat> {
        let (above, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
        if let Some((folder, dir)) = last
            && folder == above
        {
            return dir.stat(name);
        }
        let (dir, _) = super::compare::above(&self.root.dir, path)?;
        let stat = dir.stat(name);
        *last = Some((above.to_owned(), dir));
        stat
    }

    fn folder(&self, path: &Path, may_move: bool, crew: &Arc<Crew<Look>>) {
        let listed = self.root.list(path).and_then(|(listing, is_mount)| {
            let (dir, names) = names(listing)?;
            Ok((dir.identity()?, is_mount, names))
        });
        let names = match listed {
            Ok((identity, _, _)) if identity == self.other.identity => {
                let which = if self.other.is_source { "source" } else { "target" };
                return self.seen().overlap.is_the_other(self.root.path.join(path), which);
            }
            Ok((identity, is_mount, names)) => {
                let is_target = self.other.is_source;
                self.seen().overlap.note(is_mount.then_some((identity, path)), is_target.then_some(identity));
                names
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(cause) => return self.fail(Operation::List, path, cause),
        };
        // A panic is told where the path is written or removed.
        let (left_out, names): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|(name, _)| self.how.excludes(&path.join(name)).unwrap_or(true));
        if self.other.is_source && !may_move {
            for (name, _) in left_out {
                let why = "it is left out, and in a folder that is in the way of something of another kind";
                self.fail(Operation::Remove, &path.join(name), io::Error::other(why));
            }
        }
        let jobs = names.chunks(4 * NAMES).map(|names| Job::Names(path.to_owned(), names.to_vec(), may_move));
        crew.push(jobs.collect());
    }

    fn fail(&self, operation: Operation, path: &Path, cause: io::Error) {
        self.seen().failures.push(Error::new(operation, self.root.path.join(path), cause));
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
