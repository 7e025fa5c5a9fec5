//! Both trees are looked through, folder by folder, by many threads.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Difference, Differences, Mirror, What};
use crate::error::Cancelled;
use crate::sys::{self, Dir, Entering, EntryKind, Identity, Listing, Sleeps, Stat};
use crate::tree::engine::folded;
use crate::tree::jobs::{Jobs, Who};
use crate::tree::pace::{MOST_THREADS, Pace, SLOW, threads_for};
use crate::{Error, Errors, Operation, Result};

/// How many names of a folder a thread takes at once where each waits.
const NAMES: usize = 16;

/// Bytes of two files that are compared at a time.
const PIECE: usize = 128 << 10;

/// No rights are taken; what is mounted in either tree is part of it, but for
/// [`one_file_system`](Mirror::one_file_system).
const HOW: Entering = Entering { take_rights: false, across_mounts: true };

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
        Ok((root, own, there))
    };
    let (root, own, there) = begin().map_err(|error| Errors::check(vec![error]).unwrap_err())?;
    let mut found = Found::default();
    let Some(there) = there else {
        let new = Difference { path: PathBuf::new(), kind: EntryKind::Folder, what: What::New, len: 0 };
        return Ok(differences(how, source, target, Found { all: vec![new], ..found }, 0, 0));
    };
    found.source_is_empty = true;
    let free = sys::free_handles(&root);
    let cores = how.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, |it| it.get().max(2)));
    // A thread has at most four open, and folders whose names others look at.
    let most_threads = (free / 16).clamp(1, MOST_THREADS.max(cores));
    let cores = cores.min(most_threads);
    let comparison = Arc::new(Comparison {
        how: how.clone(),
        volume: own.identity.volume,
        source: Root { dir: root, path: source.to_owned() },
        target: Root { dir: there, path: target.to_owned() },
        jobs: Jobs::new(Job::Folder(PathBuf::new()), cores),
        left: AtomicUsize::new(1),
        found: Mutex::new(found),
        unchanged: AtomicU64::new(0),
        threads: Mutex::default(),
        cores,
        most_threads,
        threads_wanted: AtomicUsize::new(cores),
    });
    comparison.do_jobs(Who::Caller);
    let threads = std::mem::take(&mut *lock(&comparison.threads));
    for thread in threads {
        drop(thread.join()); // A callback that panics is caught where it is called.
    }
    let mut found = std::mem::take(&mut *lock(&comparison.found));
    if how.is_cancelled() {
        found.failures.push(Error::new(Operation::List, source, io::Error::other(Cancelled)));
    }
    Errors::check(std::mem::take(&mut found.failures))?;
    let removals = comparison.count_removals(&found.all).map_err(|error| Errors::check(vec![error]).unwrap_err())?;
    Ok(differences(how, source, target, found, comparison.unchanged.load(Relaxed), removals))
}

fn differences(
    how: &Mirror,
    source: &Path,
    target: &Path,
    mut found: Found,
    unchanged: u64,
    removals: u64,
) -> Differences {
    // Files that count as unchanged, but are to be linked, or no longer to be.
    let so_far = found.all.len();
    found.part_names();
    let links = found.settle_links();
    let unchanged = unchanged.saturating_sub((found.all.len() - so_far) as u64);
    found.all.sort_by(|one, other| one.path.cmp(&other.path));
    found.left_out.sort();
    Differences {
        how: how.clone(),
        source: source.to_owned(),
        target: target.to_owned(),
        all: found.all,
        links,
        unchanged,
        left_out: found.left_out,
        removals,
        source_is_empty: found.source_is_empty,
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

/// One comparison, shared by its threads.
struct Comparison {
    how: Mirror,
    /// That of the source.
    volume: u64,
    source: Root,
    target: Root,
    jobs: Jobs<Job>,
    /// Jobs that are not done yet.
    left: AtomicUsize,
    found: Mutex<Found>,
    unchanged: AtomicU64,
    threads: Mutex<Vec<JoinHandle<()>>>,
    cores: usize,
    most_threads: usize,
    /// How many threads there should be.
    threads_wanted: AtomicUsize,
}

struct Root {
    dir: Dir,
    path: PathBuf,
}

enum Job {
    /// A folder that is in both.
    Folder(PathBuf),
    /// Names that are in both, or in the source alone.
    Names(Arc<Pair>, Vec<(OsString, bool)>),
}

/// A folder that is in both, open.
struct Pair {
    path: PathBuf,
    source: Dir,
    target: Dir,
}

#[derive(Default)]
struct Found {
    all: Vec<Difference>,
    links: HashMap<Identity, Vec<Name>>,
    /// Files of the target that have several names: these, and what each is in the source.
    shared: HashMap<Identity, Vec<(PathBuf, Identity, u64)>>,
    left_out: Vec<PathBuf>,
    failures: Vec<Error>,
    source_is_empty: bool,
}

/// A name of a file that has others.
struct Name {
    path: PathBuf,
    /// What has the name in the target.
    there: Option<Identity>,
    len: u64,
}

/// What one thread knows.
struct Thread {
    pace: Pace,
    sleeps: Sleeps,
    last: Instant,
    buffers: Vec<u8>,
}

impl Comparison {
    fn do_jobs(self: &Arc<Comparison>, who: Who) {
        let mut sleeps = Sleeps::default();
        sleeps.since_last();
        let mut thread = Thread { pace: Pace::default(), sleeps, last: Instant::now(), buffers: Vec::new() };
        while let Some(job) = self.jobs.next(who, || self.how.is_cancelled()) {
            if !self.how.is_cancelled() {
                match job {
                    Job::Folder(path) => self.folder(path, &mut thread),
                    Job::Names(pair, names) => self.names(&pair, &names, &mut thread),
                }
            }
            if self.left.fetch_sub(1, AcqRel) == 1 {
                self.jobs.end();
            }
        }
    }

    fn push(self: &Arc<Comparison>, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        self.left.fetch_add(jobs.len(), Relaxed);
        let start = self.jobs.push(jobs);
        self.start_threads(start);
    }

    fn start_threads(self: &Arc<Comparison>, count: usize) {
        const STACK: usize = 256 << 10;
        for started in 0..count {
            let comparison = self.clone();
            let builder = std::thread::Builder::new().name("manyfiles".into()).stack_size(STACK);
            match sys::spawn_quiet(builder, move || comparison.do_jobs(Who::Helper)) {
                Ok(handle) => lock(&self.threads).push(handle),
                Err(_) => return self.jobs.not_started(count - started),
            }
        }
    }

    /// Notes how long it took to look at a name.
    fn note_time(self: &Arc<Comparison>, thread: &mut Thread) {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut thread.last, now);
        let waited = if took >= SLOW && thread.sleeps.since_last() { took } else { Duration::ZERO };
        thread.pace.note(waited);
        let (latency, wanted) = (thread.pace.latency(), self.threads_wanted.load(Relaxed));
        if latency < SLOW && wanted == self.cores {
            return;
        }
        let target = threads_for(latency, self.cores, wanted).min(self.most_threads);
        if target != wanted {
            self.threads_wanted.store(target, Relaxed);
            let start = self.jobs.set_target(target);
            self.start_threads(start);
        }
    }

    fn is_slow(&self) -> bool {
        self.threads_wanted.load(Relaxed) > self.cores
    }

    /// Looks at what is in a folder that is in both.
    fn folder(self: &Arc<Comparison>, path: PathBuf, thread: &mut Thread) {
        thread.last = Instant::now();
        let source = match open(&self.source, &path).and_then(|listing| Ok((names(listing)?, ()))) {
            Ok(((dir, names), ())) => (dir, names),
            Err(cause) => return self.fail(Operation::List, self.source.path.join(&path), cause),
        };
        let target = match open(&self.target, &path).and_then(names) {
            Ok(target) => target,
            Err(cause) => return self.fail(Operation::List, self.target.path.join(&path), cause),
        };
        let pair = Arc::new(Pair { path, source: source.0, target: target.0 });
        if pair.path.as_os_str().is_empty() {
            self.found().source_is_empty = source.1.is_empty();
        }
        self.own_metadata(&pair);
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
        for (name, kind) in there {
            if !self.excludes(&pair.path, &name) {
                self.extra(&pair, &name, kind);
            }
        }
        if !self.is_slow() {
            return self.names(&pair, &to_look_at, thread);
        }
        let mut jobs = Vec::new();
        while !to_look_at.is_empty() {
            let rest = to_look_at.split_off(to_look_at.len().min(NAMES));
            jobs.push(Job::Names(pair.clone(), std::mem::replace(&mut to_look_at, rest)));
        }
        self.push(jobs);
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

    fn own_metadata(&self, pair: &Pair) {
        let own = OsStr::new(".");
        let both = pair.source.stat(own).and_then(|source| Ok((source, pair.target.stat(own)?)));
        match both {
            Ok((source, target)) => {
                if self.metadata_differs(&pair.source, own, (&source, &target)) || source.modified != target.modified {
                    self.differs(pair.path.clone(), &source, What::Metadata);
                }
            }
            Err(cause) => self.fail(Operation::Metadata, self.source.path.join(&pair.path), cause),
        }
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

    fn names(self: &Arc<Comparison>, pair: &Arc<Pair>, names: &[(OsString, bool)], thread: &mut Thread) {
        let mut folders = Vec::new();
        thread.last = Instant::now();
        for (at, (name, is_there)) in names.iter().enumerate() {
            if self.how.is_cancelled() {
                return;
            }
            if let Err((operation, root, cause)) = self.name(pair, name, *is_there, &mut folders, thread) {
                self.fail(operation, root.path.join(&pair.path).join(name), cause);
            }
            self.how.progress.add_compared();
            self.note_time(thread);
            // It has turned out to be slow: others take the rest.
            if names.len() - at > 2 * NAMES && self.is_slow() {
                let rest = names[at + 1..].chunks(NAMES).map(|names| Job::Names(pair.clone(), names.to_vec()));
                folders.extend(rest);
                break;
            }
        }
        self.push(folders);
    }

    /// Compares one name. An error says what could not be done, and in which tree.
    fn name(
        &self,
        pair: &Pair,
        name: &OsStr,
        is_there: bool,
        folders: &mut Vec<Job>,
        thread: &mut Thread,
    ) -> Result<(), (Operation, &Root, io::Error)> {
        let of_source = |operation| move |cause| (operation, &self.source, cause);
        let of_target = |operation| move |cause| (operation, &self.target, cause);
        let stat = match pair.source.stat(name) {
            // It is gone meanwhile. What is in the target stays until the next time.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            stat => stat.map_err(of_source(Operation::Metadata))?,
        };
        let path = pair.path.join(name);
        if self.how.one_file_system && stat.identity.volume != self.volume {
            return Ok(());
        }
        if stat.kind == EntryKind::Other
            && !(self.how.special_files && pair.source.node(name).map_err(of_source(Operation::Metadata))?.is_some())
        {
            self.found().left_out.push(path);
            return Ok(());
        }
        let there = match is_there.then(|| pair.target.stat(name)).transpose() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            there => there.map_err(of_target(Operation::Metadata))?,
        };
        if stat.links > 1 && stat.kind != EntryKind::Folder {
            let there = there.map(|there| there.identity);
            let name = Name { path: path.clone(), there, len: stat.len };
            self.found().links.entry(stat.identity).or_default().push(name);
        }
        let Some(there) = there else {
            self.differs(path, &stat, What::New);
            return Ok(());
        };
        if there.links > 1 && there.kind == EntryKind::File && stat.kind == EntryKind::File {
            let name = (path.clone(), stat.identity, stat.len);
            self.found().shared.entry(there.identity).or_default().push(name);
        }
        if there.kind != stat.kind {
            self.differs(path, &stat, What::Kind);
            return Ok(());
        }
        let differs = match stat.kind {
            EntryKind::Folder => {
                folders.push(Job::Folder(path));
                return Ok(());
            }
            EntryKind::File if stat.len != there.len => Some(What::Content),
            EntryKind::File if self.how.by_content => {
                let same = self.same_content(pair, name, thread).map_err(of_source(Operation::Read))?;
                let time = stat.modified != there.modified;
                (!same).then_some(What::Content).or(time.then_some(What::Metadata))
            }
            EntryKind::File => (stat.modified != there.modified).then_some(What::Content),
            EntryKind::Symlink => {
                let says = pair.source.read_link(name).map_err(of_source(Operation::Read))?;
                let same = says == pair.target.read_link(name).map_err(of_target(Operation::Read))?;
                let time = stat.modified != there.modified;
                (!same).then_some(What::Content).or(time.then_some(What::Metadata))
            }
            EntryKind::Other => {
                let node = |dir: &Dir| dir.node(name);
                let same = node(&pair.source).map_err(of_source(Operation::Metadata))?
                    == node(&pair.target).map_err(of_target(Operation::Metadata))?;
                let time = stat.modified != there.modified;
                (!same).then_some(What::Content).or(time.then_some(What::Metadata))
            }
        };
        let differs =
            differs.or_else(|| self.metadata_differs(&pair.source, name, (&stat, &there)).then_some(What::Metadata));
        match differs {
            Some(what) => self.differs(path, &stat, what),
            None => drop(self.unchanged.fetch_add(1, Relaxed)),
        }
        Ok(())
    }

    fn same_content(&self, pair: &Pair, name: &OsStr, thread: &mut Thread) -> io::Result<bool> {
        let (source, target) = (pair.source.open_regular(name)?, pair.target.open_regular(name)?);
        thread.buffers.resize(2 * PIECE, 0);
        let (ours, theirs) = thread.buffers.split_at_mut(PIECE);
        loop {
            let (read, other) = (read_full(&source, ours)?, read_full(&target, theirs)?);
            if ours[..read] != theirs[..other] {
                return Ok(false);
            }
            if read < PIECE {
                return Ok(true);
            }
            if self.how.is_cancelled() {
                return Err(io::Error::other(Cancelled));
            }
        }
    }

    /// Permissions and owner.
    fn metadata_differs(&self, source: &Dir, name: &OsStr, (stat, there): (&Stat, &Stat)) -> bool {
        if self.how.owners && stat.owner != there.owner {
            return true;
        }
        let bits = if self.how.set_id { 0o7777 } else { 0o1777 };
        stat.kind != EntryKind::Symlink && source.own_mode(name, stat) & bits != there.mode & bits
    }

    fn differs(&self, path: PathBuf, stat: &Stat, what: What) {
        let len = if stat.kind == EntryKind::File { stat.len } else { 0 };
        self.found().all.push(Difference { path, kind: stat.kind, what, len });
    }

    fn excludes(&self, folder: &Path, name: &OsStr) -> bool {
        let Some(exclude) = &self.how.exclude else { return false };
        let path = folder.join(name);
        catch_unwind(AssertUnwindSafe(|| exclude(&path))).unwrap_or_else(|_| {
            let why = io::Error::other("the program's `exclude` panicked when it was asked for this path");
            self.fail(Operation::Metadata, self.source.path.join(&path), why);
            true
        })
    }

    /// How many names the extra ones are, with all that is in them.
    fn count_removals(&self, all: &[Difference]) -> Result<u64> {
        let mut names = 0;
        for difference in all {
            let is_folder = match difference.what {
                What::Extra => difference.kind == EntryKind::Folder,
                What::Kind => {
                    let there = self.target.path.join(&difference.path);
                    fs::symlink_metadata(there).is_ok_and(|there| there.is_dir())
                }
                _ => continue,
            };
            names += 1;
            let mut folders = if is_folder { vec![difference.path.clone()] } else { Vec::new() };
            while let Some(folder) = folders.pop() {
                let failed = |cause| Error::new(Operation::List, self.target.path.join(&folder), cause);
                let mut listing = open(&self.target, &folder).map_err(failed)?;
                while let Some(entry) = listing.next() {
                    let entry = entry.map_err(failed)?;
                    names += 1;
                    if entry.kind().map_or_else(|| listing.kind_of(entry.name()), Ok).map_err(failed)?
                        == EntryKind::Folder
                    {
                        folders.push(folder.join(entry.name()));
                    }
                }
            }
        }
        Ok(names)
    }

    fn fail(&self, operation: Operation, path: PathBuf, cause: io::Error) {
        self.found().failures.push(Error::new(operation, path, cause));
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        lock(&self.found)
    }
}

impl Found {
    /// Names of one file in the target that are of several in the source become files of their own.
    fn part_names(&mut self) {
        let mut to_part = HashMap::new();
        for mut names in std::mem::take(&mut self.shared).into_values() {
            names.sort();
            let Some((_, first, _)) = names.first().cloned() else { continue };
            to_part.extend(names.into_iter().filter(|name| name.1 != first).map(|(path, _, len)| (path, len)));
        }
        for difference in &mut self.all {
            if to_part.remove(&difference.path).is_some() && difference.what == What::Metadata {
                difference.what = What::Content;
            }
        }
        let file = |(path, len)| Difference { path, kind: EntryKind::File, what: What::Content, len };
        self.all.extend(to_part.into_iter().map(file));
    }

    /// Finds which names are to become links, and returns a name for each file that has several.
    fn settle_links(&mut self) -> Vec<(Identity, PathBuf)> {
        let (mut firsts, mut links) = (Vec::new(), HashMap::new());
        let metadata: HashMap<_, _> = self
            .all
            .iter()
            .enumerate()
            .filter(|(_, difference)| difference.what == What::Metadata)
            .map(|(at, difference)| (difference.path.clone(), at))
            .collect();
        let mut renewed: HashSet<_> = self
            .all
            .iter()
            .filter(|difference| !matches!(difference.what, What::Metadata | What::Extra))
            .map(|difference| difference.path.clone())
            .collect();
        // What has something of another kind in its way comes last.
        let waiting: HashSet<_> =
            self.all.iter().filter(|it| it.what == What::Kind).map(|it| it.path.clone()).collect();
        for (identity, mut names) in std::mem::take(&mut self.links) {
            names.sort_by_cached_key(|name| (waiting.contains(&name.path), name.path.clone()));
            let mut names = names.into_iter();
            let Some(first) = names.next() else { continue };
            // Its other names would stay with the file that it was: it is written anew, and they are linked to it.
            if names.len() > 0
                && let Some(at) = metadata.get(&first.path)
            {
                self.all[*at].what = What::Content;
                renewed.insert(first.path.clone());
            }
            for name in names {
                if renewed.contains(&first.path) || name.there.is_none() || name.there != first.there {
                    links.insert(name.path, (first.path.clone(), name.len));
                }
            }
            firsts.push((identity, first.path));
        }
        for difference in &mut self.all {
            if let Some((first, _)) = links.remove(&difference.path)
                && difference.what != What::Kind
            {
                difference.what = What::Link(first);
            }
        }
        // Those that were equal but for that.
        self.all.extend(links.into_iter().map(|(path, (first, len))| Difference {
            path,
            kind: EntryKind::File,
            what: What::Link(first),
            len,
        }));
        firsts
    }
}

/// The folder at `path`, to be listed. No link is followed on the way.
fn open(root: &Root, path: &Path) -> io::Result<Listing> {
    if path.as_os_str().is_empty() {
        return root.dir.enter(OsStr::new("."), HOW);
    }
    root.dir.folder(path)?.enter(OsStr::new("."), HOW)
}

type Names = Vec<(OsString, Option<EntryKind>)>;

/// All that is in a folder, and its handle.
fn names(mut listing: Listing) -> io::Result<(Dir, Names)> {
    let mut names = Vec::new();
    while let Some(entry) = listing.next() {
        let entry = entry?;
        names.push((entry.name().to_owned(), entry.kind()));
    }
    Ok((listing.dir()?, names))
}

fn read_full(file: &sys::Handle, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match sys::read(file, &mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
