//! The differences are made good: new and changed entries first; then, if nothing failed, what is to go is removed, and
//! what had to wait for that is written; folders get their times last.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Difference, Differences, Mirror, Mirrored, NotMirrored, What};
use crate::error::Cancelled;
use crate::sys::{self, Dir, EntryKind, Identity};
use crate::tree::engine::folded;
use crate::tree::removal::{self, Removal};
use crate::tree::{Canceller, Content, Metadata, OnConflict, Report, TreeWriter};
use crate::{Error, Errors, Operation, Result};

pub(super) fn apply(found: Differences) -> Result<Mirrored, NotMirrored> {
    if let Some(refusal) = refusal(&found) {
        return Err(NotMirrored::before_anything(Errors::check(vec![refusal]).unwrap_err()));
    }
    let mut mirrored = Mirrored { unchanged: found.unchanged, left_out: found.left_out.clone(), ..Mirrored::default() };
    let mut failures = Vec::new();
    let mut applying = match Applying::begin(found) {
        Ok(applying) => applying,
        Err(error) => return Err(NotMirrored::before_anything(Errors::check(vec![error]).unwrap_err())),
    };
    applying.write(&mut mirrored.written);
    applying.tell_what_became_one(&mut mirrored.written);
    let extra = applying.removals();
    if applying.how.is_cancelled() {
        mirrored.cancelled = true;
        let why = io::Error::other(Cancelled);
        failures.push(Error::new(Operation::Write, applying.target.as_path(), why));
    } else if mirrored.written.is_complete() {
        applying.remove(&mut mirrored);
        applying.write_what_waited(&mut mirrored.written);
        applying.tell_what_became_one(&mut mirrored.written);
    }
    if !mirrored.written.is_complete() || mirrored.cancelled {
        mirrored.kept = extra - (mirrored.removed.files + mirrored.removed.folders).min(extra);
    }
    applying.finish_folders(&mut mirrored.written);
    mirrored.left_out.append(&mut applying.left_out);
    mirrored.check(failures)
}

/// Why nobody can mean that.
fn refusal(found: &Differences) -> Option<Error> {
    let names = found.removals;
    let why = match found.how.max_delete {
        Some(most) if names > most => {
            format!("{names} names in it would be removed, and {most} at most are allowed; nothing was touched")
        }
        None if found.source_is_empty && names > 0 => format!(
            "{} has nothing in it, and the target has; is it mounted? Nothing was touched. If that is meant, say how \
             many names may be removed",
            found.source.display()
        ),
        _ => return None,
    };
    Some(Error::new(Operation::Remove, found.target.as_path(), io::Error::other(why)))
}

struct Applying {
    how: Mirror,
    source: PathBuf,
    absolute: PathBuf,
    target: PathBuf,
    from: Arc<Dir>,
    /// The folder that was needed last.
    last: RefCell<Option<(PathBuf, Arc<Dir>)>>,
    all: Vec<Difference>,
    /// A path of each file that has several, of which those that come later become links.
    links: HashMap<Identity, PathBuf>,
    removals: u64,
    /// The lock of the target, where its file system has locks.
    _alone: Option<File>,
    /// Names that become links, each with the name that is written before.
    to_link: Vec<(PathBuf, PathBuf)>,
    /// Devices, FIFOs and sockets that were met in new folders and are left out.
    left_out: Vec<PathBuf>,
    /// Where the target's file system may hold several names as one: a path for each that is written, and pairs that
    /// may have become one.
    written: Option<HashMap<OsString, PathBuf>>,
    pairs: Vec<(PathBuf, PathBuf)>,
    /// Folders that were there and in which something changes.
    touched: BTreeSet<PathBuf>,
}

impl Applying {
    fn begin(found: Differences) -> Result<Applying> {
        let Differences { how, source, target, all, links, removals, .. } = found;
        let absolute =
            std::path::absolute(&source).map_err(|cause| Error::new(Operation::Open, source.as_path(), cause))?;
        let from = Dir::open_root(&source).map_err(|cause| Error::new(Operation::Open, source.as_path(), cause))?;
        let alone = match all.is_empty() {
            true => None,
            false => hold(&target).map_err(|cause| Error::new(Operation::Open, target.as_path(), cause))?,
        };
        let folds = Dir::open_root(&target).is_ok_and(|root| root.folds());
        let mut touched = BTreeSet::new();
        for difference in &all {
            let is_own = difference.kind == EntryKind::Folder && difference.what == What::Metadata;
            touched.insert(match is_own {
                true => difference.path.clone(),
                false => difference.path.parent().unwrap_or(Path::new("")).to_owned(),
            });
        }
        Ok(Applying {
            how,
            source,
            absolute,
            target,
            from: Arc::new(from),
            last: RefCell::default(),
            all,
            links: links.into_iter().collect(),
            removals,
            _alone: alone,
            to_link: Vec::new(),
            left_out: Vec::new(),
            written: folds.then(HashMap::new),
            pairs: Vec::new(),
            touched,
        })
    }

    fn removals(&self) -> u64 {
        self.removals
    }

    fn open(&self, on_conflict: OnConflict) -> Result<TreeWriter> {
        let mut options =
            TreeWriter::options().on_conflict(on_conflict).exact_permissions(true).durability(self.how.durability);
        if let Some(threads) = self.how.threads {
            options = options.threads(threads);
        }
        options.open(&self.target)
    }

    /// What is new, and what has changed.
    fn write(&mut self, report: &mut Report) {
        let all = std::mem::take(&mut self.all);
        self.with_tree(OnConflict::Replace, report, |this, tree| {
            this.make_writable();
            for difference in &all {
                if this.how.is_cancelled() {
                    break;
                }
                match difference.what {
                    What::New => this.hand_over(tree, &difference.path),
                    What::Content => drop(this.entry(tree, &difference.path)),
                    What::Link(ref first) => this.to_link.push((difference.path.clone(), first.clone())),
                    What::Metadata if difference.kind != EntryKind::File && difference.kind != EntryKind::Folder => {
                        this.entry(tree, &difference.path);
                    }
                    _ => {}
                }
            }
        });
        let is_file = |it: &&Difference| it.what == What::Metadata && it.kind == EntryKind::File;
        if all.iter().any(|it| is_file(&it)) && !self.how.is_cancelled() {
            // What has the bytes stays, and gets the permissions.
            self.with_tree(OnConflict::SkipIdentical, report, |this, tree| {
                for difference in all.iter().filter(is_file) {
                    this.entry(tree, &difference.path);
                }
            });
        }
        self.all = all;
    }

    fn with_tree(
        &mut self,
        on_conflict: OnConflict,
        report: &mut Report,
        hand_over: impl FnOnce(&mut Applying, &TreeWriter),
    ) {
        let tree = match self.open(on_conflict) {
            Ok(tree) => tree,
            Err(error) => return report.failures.push(error),
        };
        self.how.progress.begin_writing(tree.observer());
        let _watch = self.how.cancel.as_ref().map(|cancel| Watch::begin(cancel.clone(), tree.canceller()));
        hand_over(self, &tree);
        for (path, first) in std::mem::take(&mut self.to_link) {
            if !self.how.is_cancelled() {
                self.link(&tree, &path, first);
            }
        }
        let done = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
        self.how.progress.end_writing(&done);
        add(report, done);
    }

    /// Folders that were there get the rights that changes in them need; their own permissions come back at the end.
    fn make_writable(&self) {
        let Ok(root) = Dir::open_root(&self.target) else { return };
        for path in &self.touched {
            match (path.parent(), path.file_name()) {
                (Some(above), Some(name)) if above.as_os_str().is_empty() => drop(root.allow_changes(name)),
                (Some(above), Some(name)) => drop(root.folder(above).map(|dir| dir.allow_changes(name))),
                _ => drop(root.allow_changes(OsStr::new("."))),
            }
        }
    }

    /// An entry of the source, with all that is in it.
    fn hand_over(&mut self, tree: &TreeWriter, path: &Path) {
        let mut paths = vec![path.to_owned()];
        while let Some(path) = paths.pop() {
            if self.how.is_cancelled() {
                return;
            }
            if !self.entry(tree, &path) {
                continue;
            }
            match self.names_in(&path) {
                Ok(names) => paths.extend(names),
                Err(cause) => tree.fail(Error::new(Operation::List, self.source.join(&path), cause)),
            }
        }
    }

    fn names_in(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let how = crate::sys::Entering { take_rights: false, across_mounts: true };
        let (dir, name) = self.folder_of(path)?;
        let mut listing = dir.enter(&name, how)?;
        let mut names = Vec::new();
        while let Some(entry) = listing.next() {
            let below = path.join(entry?.name());
            if !self.how.exclude.as_ref().is_some_and(|exclude| exclude(&below)) {
                names.push(below);
            }
        }
        Ok(names)
    }

    /// The folder that the path is in, and the last name. Paths come sorted, so the last folder is remembered.
    fn folder_of(&self, path: &Path) -> io::Result<(Arc<Dir>, OsString)> {
        let (above, name) = match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => (above, name.to_owned()),
            _ => return Ok((self.from.clone(), ".".into())),
        };
        if above.as_os_str().is_empty() {
            return Ok((self.from.clone(), name));
        }
        let mut last = self.last.borrow_mut();
        match &*last {
            Some((path, dir)) if path == above => Ok((dir.clone(), name)),
            _ => {
                let dir = Arc::new(self.from.folder(above)?);
                *last = Some((above.to_owned(), dir.clone()));
                Ok((dir, name))
            }
        }
    }

    /// One entry of the source. True: it is a folder to be looked into.
    fn entry(&mut self, tree: &TreeWriter, path: &Path) -> bool {
        let (dir, name) = match self.folder_of(path) {
            Ok(found) => found,
            Err(cause) => {
                tree.fail(Error::new(Operation::Open, self.source.join(path), cause));
                return false;
            }
        };
        let stat = match dir.stat(&name) {
            Ok(stat) => stat,
            Err(cause) => {
                tree.fail(Error::new(Operation::Metadata, self.source.join(path), cause));
                return false;
            }
        };
        let metadata = self.metadata(&dir, &name, &stat);
        if stat.links > 1 && stat.kind != EntryKind::Folder {
            match self.links.get(&stat.identity) {
                Some(first) if first != path => {
                    self.to_link.push((path.to_owned(), first.clone()));
                    return false;
                }
                Some(_) => {}
                None => drop(self.links.insert(stat.identity, path.to_owned())),
            }
        }
        self.note_name(path);
        let done = match stat.kind {
            EntryKind::Folder if self.how.one_file_system && !self.is_on_the_volume(&stat.identity) => Ok(()),
            EntryKind::Folder => {
                let shown = if path.as_os_str().is_empty() { Path::new(".") } else { path };
                drop(tree.folder(shown, metadata));
                return true;
            }
            EntryKind::File => tree.file_with(path, Content::copy_of(self.absolute.join(path)), metadata),
            EntryKind::Symlink => match dir.read_link(&name) {
                Ok(says) => tree.symlink(path, says, metadata),
                Err(cause) => {
                    tree.fail(Error::new(Operation::Read, self.source.join(path), cause));
                    Ok(())
                }
            },
            EntryKind::Other => match dir.node(&name) {
                Ok(Some(node)) if self.how.special_files => tree.node(path, node, metadata),
                Ok(_) => {
                    self.left_out.push(path.to_owned());
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

    /// Notes what is written, and what may have the same name.
    fn note_name(&mut self, path: &Path) {
        let Some(written) = &mut self.written else { return };
        if let Some(other) = written.insert(folded(path.as_os_str()), path.to_owned())
            && other != path
        {
            self.pairs.push((other, path.to_owned()));
        }
    }

    /// A failure for each pair of names of which only one arrived.
    fn tell_what_became_one(&mut self, report: &mut Report) {
        let pairs = std::mem::take(&mut self.pairs);
        let Ok(root) = Dir::open_root(&self.target) else { return };
        let identity = |path: &Path| {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            let dir = above.map_or_else(|| root.try_clone(), |above| root.folder(above));
            Some(dir.ok()?.stat(path.file_name()?).ok()?.identity)
        };
        for (one, other) in pairs {
            if identity(&one).is_some_and(|is| Some(is) == identity(&other)) {
                let why = format!(
                    "the target's file system holds it and {} as one name: only one of them arrived",
                    one.display()
                );
                let why = io::Error::new(io::ErrorKind::AlreadyExists, why);
                report.failures.push(Error::new(Operation::Create, self.target.join(other), why));
            }
        }
    }

    fn is_on_the_volume(&self, identity: &Identity) -> bool {
        self.from.identity().is_ok_and(|own| own.volume == identity.volume)
    }

    fn link(&self, tree: &TreeWriter, path: &Path, first: PathBuf) {
        let found = self.folder_of(path).and_then(|(dir, name)| {
            let stat = dir.stat(&name)?;
            Ok((self.metadata(&dir, &name, &stat), stat))
        });
        match found {
            Ok((metadata, stat)) if stat.kind == EntryKind::File => {
                let content = Content::copy_of(self.absolute.join(path));
                drop(tree.hard_link_or(path, first, content, metadata));
            }
            Ok(_) => drop(tree.hard_link(path, first)),
            Err(cause) => tree.fail(Error::new(Operation::Metadata, self.source.join(path), cause)),
        }
    }

    fn metadata(&self, dir: &Dir, name: &OsStr, stat: &crate::sys::Stat) -> Metadata {
        let bits = if self.how.set_id { 0o7777 } else { 0o1777 };
        let mut metadata = Metadata::default().modified(stat.modified);
        if stat.kind != EntryKind::Symlink {
            metadata = metadata.mode(dir.own_mode(name, stat) & bits);
        }
        if self.how.owners { metadata.owner(stat.owner.0, stat.owner.1) } else { metadata }
    }

    /// Removes what is only in the target, and what is in the way.
    fn remove(&mut self, mirrored: &mut Mirrored) {
        let root = match Dir::open_root(&self.target) {
            Ok(root) => root,
            Err(cause) => {
                let error = Error::new(Operation::Open, self.target.as_path(), cause);
                return mirrored.written.failures.push(error);
            }
        };
        for difference in &self.all {
            if !matches!(difference.what, What::Extra | What::Kind) || self.how.is_cancelled() {
                continue;
            }
            let mut removal = Removal::new().progress(self.how.progress.of_removal());
            if let Some(threads) = self.how.threads {
                removal = removal.threads(threads);
            }
            if let Some(cancel) = &self.how.cancel {
                removal = removal.cancel(cancel.clone());
            }
            if let Some(exclude) = self.how.exclude.clone() {
                let folder = difference.path.clone();
                removal = removal.keep(move |path| exclude(&folder.join(path)));
            }
            let removed = removal::remove_below(&removal, &root, &self.target, &difference.path);
            mirrored.removed.files += removed.files;
            mirrored.removed.folders += removed.folders;
            mirrored.removed.kept += removed.kept;
            mirrored.removed.cancelled |= removed.cancelled;
            mirrored.removed.failures.extend(removed.failures);
        }
    }

    /// What had something of another kind in its way.
    fn write_what_waited(&mut self, report: &mut Report) {
        let waited: Vec<_> = self.all.iter().filter(|it| it.what == What::Kind).map(|it| it.path.clone()).collect();
        if waited.is_empty() {
            return;
        }
        self.with_tree(OnConflict::Error, report, |this, tree| {
            waited.iter().for_each(|path| this.hand_over(tree, path));
        });
    }

    /// Folders that were there get the source's permissions and times: whatever changed in them is done.
    fn finish_folders(&mut self, report: &mut Report) {
        let touched = std::mem::take(&mut self.touched);
        let mut own = Report::default();
        self.with_tree(OnConflict::Error, &mut own, |this, tree| {
            for path in &touched {
                let is_there = this.folder_of(path).and_then(|(dir, name)| dir.stat(&name));
                if is_there.is_ok_and(|stat| stat.kind == EntryKind::Folder) {
                    this.entry(tree, path);
                }
            }
        });
        // They were there, and are not written.
        own.folders = 0;
        add(report, own);
    }
}

/// Makes the target, and takes its lock. Two runs at once would each remove what the other writes.
fn hold(target: &Path) -> io::Result<Option<File>> {
    fs::create_dir_all(target)?;
    Dir::open_root(target)?.hold(OsStr::new(".")).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => {
            let why = "another mirror is at work there; nothing was touched: wait until it is done";
            io::Error::new(io::ErrorKind::ResourceBusy, why)
        }
        _ => error,
    })
}

/// Cancels a tree when the program says so, also while it finishes.
struct Watch {
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// How often it looks.
    const EVERY: Duration = Duration::from_millis(50);

    fn begin(cancel: Arc<AtomicBool>, tree: Canceller) -> Watch {
        let (ended, is_ended) = mpsc::channel();
        let watch = move || {
            loop {
                if cancel.load(Relaxed) {
                    return tree.cancel();
                }
                if is_ended.recv_timeout(Watch::EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        // Without a thread the tree is finished first.
        let builder = thread::Builder::new().name("manyfiles mirror".into());
        Watch { ended: Some(ended), thread: sys::spawn_quiet(builder, watch).ok() }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.take();
        self.thread.take().map(JoinHandle::join); // It calls nothing that could panic.
    }
}

/// Adds what a further writing did.
fn add(report: &mut Report, done: Report) {
    report.files += done.files;
    report.folders += done.folders;
    report.symlinks += done.symlinks;
    report.hard_links += done.hard_links;
    report.nodes += done.nodes;
    report.bytes += done.bytes;
    report.skipped += done.skipped;
    report.not_written += done.not_written;
    report.failures.extend(done.failures);
    report.cancelled |= done.cancelled;
    report.peak_threads = report.peak_threads.max(done.peak_threads);
    let (all, more) = (&mut report.times, done.times);
    for (all, more) in [
        (&mut all.folders, more.folders),
        (&mut all.open, more.open),
        (&mut all.write, more.write),
        (&mut all.metadata, more.metadata),
        (&mut all.sync, more.sync),
        (&mut all.close, more.close),
    ] {
        *all += more;
    }
}
