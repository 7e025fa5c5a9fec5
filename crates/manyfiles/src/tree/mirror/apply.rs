//! The differences are made good: what moved gets its path, then come new and changed entries, those beside it that have
//! something of another kind in their way. If nothing failed, these get their names, and what is to go is removed;
//! folders get their times last.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::compare::Root;
use super::crew::{NAMES, for_each};
use super::write::{Job, Met, Writing, hand_over};
use super::{Difference, Differences, Mirror, Mirrored, NotMirrored, What, in_the_way, moved, rename, settle};
use crate::error::Cancelled;
use crate::sys::{self, Dir, EntryKind};
use crate::tree::removal::{self, Removal};
use crate::tree::{Canceller, OnConflict, Report, TreeWriter};
use crate::{Error, Errors, Operation, Result};

pub(super) fn apply(mut found: Differences) -> Result<Mirrored, NotMirrored> {
    if let Some(refusal) = refusal(&found) {
        return Err(NotMirrored::before_anything(Errors::check(vec![refusal]).unwrap_err()));
    }
    let mut mirrored = Mirrored { unchanged: found.unchanged, left_out: found.left_out.clone(), ..Mirrored::default() };
    mirrored.written.failures = std::mem::take(&mut found.failures);
    if found.all.is_empty() {
        return mirrored.check(Vec::new());
    }
    let extra = found.removals;
    let mut applying = match Applying::begin(found) {
        Ok(applying) => applying,
        Err(error) => return Err(NotMirrored::before_anything(Errors::check(vec![error]).unwrap_err())),
    };
    mirrored.begun = true;
    mirrored.moved = applying.writing.renamed.len() as u64;
    mirrored.written.failures.append(&mut applying.settled.failures);
    let mut failures = Vec::new();
    applying.write(&mut mirrored.written);
    applying.look_again(&mut mirrored.written);
    applying.count_again(&mut mirrored.written);
    applying.replace(&mut mirrored.written);
    applying.tell_what_became_one(&mut mirrored.written);
    if applying.how.is_cancelled() {
        mirrored.cancelled = true;
        let why = io::Error::other(Cancelled);
        failures.push(Error::new(Operation::Write, applying.target.as_path(), why));
    } else if mirrored.written.is_complete() {
        applying.remove(&mut mirrored);
    }
    if !mirrored.written.is_complete() || mirrored.cancelled {
        mirrored.kept = extra - (mirrored.removed.files + mirrored.removed.folders).min(extra);
    }
    mirrored.not_linked = applying.writing.not_linked(&applying.to);
    applying.finish_folders(&mut mirrored.written);
    mirrored.left_out.append(&mut applying.writing.met().left_out);
    mirrored.check(failures)
}

/// Why nobody can mean that.
fn refusal(found: &Differences) -> Option<Error> {
    let names = found.removals;
    let why = match found.how.max_delete {
        Some(most) if names > most => {
            format!("{names} names in it would be removed, and {most} at most are allowed; nothing was touched")
        }
        // Where something could not be looked at nothing is removed, and that is what is to be told.
        None if found.source_is_empty && found.failures.is_empty() && names > 0 => format!(
            "{} has nothing in it that is to be copied, and the target has; is it mounted? Nothing was touched. If \
             that is meant, say how many names may be removed",
            found.source.display()
        ),
        _ => return None,
    };
    Some(Error::new(Operation::Remove, found.target.as_path(), io::Error::other(why)))
}

struct Applying {
    how: Mirror,
    target: PathBuf,
    to: Arc<Dir>,
    all: Vec<Difference>,
    settled: settle::Settled,
    writing: Arc<Writing>,
    /// The lock of the target, where its file system has locks.
    _alone: Option<File>,
    /// Folders that were there and in which something changes.
    touched: BTreeSet<PathBuf>,
}

impl Applying {
    /// Holds the target, and does what needs no copying.
    fn begin(found: Differences) -> Result<Applying> {
        let Differences { how, from, source, target, target_is, all, links, .. } = found;
        let from_is = from.identity().map_err(|cause| Error::new(Operation::Metadata, source.as_path(), cause))?;
        let held = || -> io::Result<_> {
            let (to, alone) = hold(&target, target_is.is_none())?;
            let is = to.identity()?;
            if target_is.is_some_and(|it| it != is) {
                let why = "another folder has its name since it was compared; nothing was touched";
                return Err(io::Error::other(why));
            }
            Ok((Arc::new(to), alone, is))
        };
        let (to, alone, target_is) = held().map_err(|cause| Error::new(Operation::Open, target.as_path(), cause))?;
        let touched = touched(&all);
        make_writable(&touched, &to, &how);
        let mut renamed = rename::rename(&all, &from, &to, &how);
        let settled = settle::settle(&all, &renamed, &from, (&to, &target), &how);
        // They have their paths, and are written all the same.
        renamed.retain(|path| !settled.to_renew.contains(path));
        let met =
            Met { links: links.into_iter().collect(), written: to.folds().then(Default::default), ..Met::default() };
        let beside = in_the_way::names_beside(&all);
        let writing = Arc::new(Writing {
            how: how.clone(),
            source,
            from,
            from_is,
            target_is,
            keeps_permissions: to.keeps_permissions(),
            renamed,
            beside,
            met: Mutex::new(met),
            starved: AtomicBool::new(false),
        });
        Ok(Applying { how, target, to, all, settled, writing, _alone: alone, touched })
    }

    fn open(&self, on_conflict: OnConflict) -> Result<TreeWriter> {
        let mut options = TreeWriter::options()
            .on_conflict(on_conflict)
            .exact_permissions(true)
            .keep(self.how.keep)
            .resume(self.how.resume)
            .durability(self.how.durability);
        if let Some(threads) = self.how.threads {
            options = options.threads(threads);
        }
        let tree = options.open(&self.target)?;
        let failed = |cause| Error::new(Operation::Open, self.target.as_path(), cause);
        if let Some(root) = tree.shared.root_dir()
            && root.identity().map_err(failed)? != self.writing.target_is
        {
            return Err(failed(io::Error::other("another folder has its name by now: nothing is written there")));
        }
        Ok(tree)
    }

    /// What is new, and what has changed.
    fn write(&self, report: &mut Report) {
        let is_file_s = |it: &Difference| matches!(it.kind, EntryKind::File | EntryKind::Folder);
        let (mut whole, mut alone) = (Vec::new(), Vec::new());
        for difference in &self.all {
            let path = difference.path.clone();
            match &difference.what {
                What::New => whole.push(path),
                What::Content => alone.push(path),
                // In a folder that is new, it comes with that; if not, it comes once more, which is the same.
                What::Moved(_) if !self.writing.renamed.contains(&path) => alone.push(path),
                What::Link(first) => self.writing.met().to_link.push((path, first.clone())),
                What::Metadata if !is_file_s(difference) || self.settled.to_renew.contains(&path) => alone.push(path),
                _ => {}
            }
        }
        let to_do = jobs(whole, Job::Whole).into_iter().chain(jobs(alone, Job::Alone)).collect();
        self.with_tree(OnConflict::Replace, report, to_do);
    }

    fn with_tree(&self, on_conflict: OnConflict, report: &mut Report, jobs: Vec<Job>) {
        if jobs.is_empty() && self.writing.met().to_link.is_empty() {
            return;
        }
        let tree = match self.open(on_conflict) {
            Ok(tree) => tree,
            Err(error) => return report.failures.push(error),
        };
        self.how.progress.begin_writing(tree.observer());
        let _watch = self.how.cancel.as_ref().map(|cancel| Watch::begin(cancel.clone(), tree.canceller()));
        let tree = hand_over(&self.writing, tree, jobs);
        let done = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
        self.how.progress.end_writing(&done);
        add(report, done);
    }

    fn tell_what_became_one(&self, report: &mut Report) {
        self.writing.tell_what_became_one(&self.to, &self.target, report);
    }

    /// A failure for each name that is to be removed and is a folder by now: what is in it was never looked at.
    fn look_again(&self, report: &mut Report) {
        if !report.is_complete() {
            return;
        }
        let extra = self.all.iter().filter(|it| it.what == What::Extra && it.kind != EntryKind::Folder);
        let extra = extra.map(|it| it.path.clone()).collect();
        let failures = Arc::new(Mutex::new(Vec::new()));
        let (to, target, found) = (self.to.clone(), self.target.clone(), failures.clone());
        for_each(extra, &self.how, &self.to, move |path: PathBuf, _| {
            let is = super::compare::above(&to, &path).and_then(|(dir, name)| dir.stat(&name));
            if is.is_ok_and(|is| is.kind == EntryKind::Folder) {
                let why = io::Error::other("it is a folder by now, and was none when it was compared; run it again");
                let error = Error::new(Operation::Remove, target.join(path), why);
                found.lock().unwrap_or_else(PoisonError::into_inner).push(error);
            }
        });
        report.failures.append(&mut failures.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A failure if more is to be removed by now than is allowed: it may have grown while the rest was written.
    fn count_again(&self, report: &mut Report) {
        let Some(most) = self.how.max_delete.filter(|_| report.is_complete()) else { return };
        let paths = self.all.iter().filter_map(|it| match &it.what {
            What::Extra => Some((it.path.clone(), Some(it.kind), true)),
            What::Kind => Some((it.path.clone(), None, false)),
            What::Moved(old) if !self.writing.renamed.contains(&it.path) => {
                Some((old.clone(), Some(EntryKind::File), true))
            }
            _ => None,
        });
        let identity = self.writing.target_is;
        let root = Root { dir: self.to.clone(), path: self.target.clone(), identity, has_mounts: false };
        match moved::count(&self.how, &root, paths.collect(), self.writing.from_is) {
            Ok(names) if names > most => {
                let why = format!(
                    "{names} names in it would be removed by now, and {most} at most are allowed; none was removed"
                );
                report.failures.push(Error::new(Operation::Remove, self.target.as_path(), io::Error::other(why)));
            }
            Ok(_) => {}
            Err(failures) => report.failures.extend(failures),
        }
    }

    /// Removes what is only in the target, and what is in the way.
    fn remove(&self, mirrored: &mut Mirrored) {
        let paths = self.all.iter().filter_map(|difference| match &difference.what {
            What::Extra => Some((difference.path.clone(), difference.kind == EntryKind::Folder)),
            What::Kind => {
                let beside = self.writing.place(&difference.path);
                let is_folder = self.is_folder(&beside);
                Some((beside, is_folder))
            }
            // It was copied, and not renamed.
            What::Moved(old) if !self.writing.renamed.contains(&difference.path) => Some((old.clone(), false)),
            _ => None,
        });
        let mut removal = Removal::new().force(true).progress(self.how.progress.of_removal());
        if let Some(threads) = self.how.threads {
            removal = removal.threads(threads);
        }
        if let Some(cancel) = &self.how.cancel {
            removal = removal.cancel(cancel.clone());
        }
        if let Some(exclude) = self.how.exclude.clone() {
            let writing = self.writing.clone();
            removal = removal.keep(move |path| exclude(&writing.path_at(path)));
        }
        let removed = removal::remove_below(&removal, &self.to, &self.target, paths.collect());
        mirrored.removed = removed;
    }

    fn is_folder(&self, path: &Path) -> bool {
        let found = super::compare::above(&self.to, path).and_then(|(dir, name)| dir.stat(&name));
        found.is_ok_and(|stat| stat.kind == EntryKind::Folder)
    }

    /// Writes what has something of another kind in its way: beside that, and if all has arrived, both change names. If
    /// not, all is as it was.
    fn replace(&self, report: &mut Report) {
        let waits: Vec<_> = self.all.iter().filter(|it| it.what == What::Kind).map(|it| it.path.clone()).collect();
        if waits.is_empty() || !report.is_complete() || self.how.is_cancelled() {
            return;
        }
        let mut written = Report::default();
        self.with_tree(OnConflict::Error, &mut written, jobs(waits.clone(), Job::Whole));
        if written.is_complete() && !self.how.is_cancelled() {
            match in_the_way::exchange(&self.to, &self.writing, &waits, self.how.durability) {
                Ok(()) => return add(report, written),
                Err((path, cause)) => {
                    written.failures.push(Error::new(Operation::Rename, self.target.join(path), cause));
                }
            }
        }
        let beside = waits.iter().map(|path| self.writing.place(path));
        let beside = beside.map(|path| (path.clone(), self.is_folder(&path))).collect();
        let removed = removal::remove_below(&Removal::new().force(true), &self.to, &self.target, beside);
        report.failures.extend(written.failures.into_iter().map(|error| self.named_as_meant(error)));
        // Whatever was not written has no name there.
        let is_missing = |error: &Error| error.kind() == io::ErrorKind::NotFound;
        report.failures.extend(removed.failures.into_iter().filter(|error| !is_missing(error)));
    }

    /// A failure at a place beside something, with the path that the entry is to have.
    fn named_as_meant(&self, error: Error) -> Error {
        // A tree tells paths below its root.
        let place = error.path().map(|path| path.strip_prefix(&self.target).unwrap_or(path));
        match place.map(|place| (self.writing.path_at(place), place)) {
            Some((path, place)) if path != place => error.on(path),
            _ => error,
        }
    }

    /// Folders that were there get the source's permissions and times: whatever changed in them is done.
    fn finish_folders(&self, report: &mut Report) {
        let mut own = Report::default();
        let folders = self.touched.iter().cloned().collect();
        self.with_tree(OnConflict::Error, &mut own, jobs(folders, Job::Finish));
        // They were there, and are not written.
        own.folders = 0;
        add(report, own);
    }
}

/// A few paths to a job, the first to be done first.
fn jobs(paths: Vec<PathBuf>, job: impl Fn(Vec<PathBuf>) -> Job) -> Vec<Job> {
    paths.chunks(4 * NAMES).rev().map(|paths| job(paths.to_vec())).collect()
}

/// Folders that were there and in which something changes.
fn touched(all: &[Difference]) -> BTreeSet<PathBuf> {
    let mut touched = BTreeSet::new();
    let above = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
    for difference in all {
        let is_own = difference.kind == EntryKind::Folder && difference.what == What::Metadata;
        touched.insert(if is_own { difference.path.clone() } else { above(&difference.path) });
        if let What::Moved(old) = &difference.what {
            touched.insert(above(old));
        }
    }
    touched
}

/// Folders that were there get the rights that changes in them need; their own permissions come back at the end.
fn make_writable(touched: &BTreeSet<PathBuf>, to: &Arc<Dir>, how: &Mirror) {
    if sys::is_privileged() {
        return;
    }
    let root = to.clone();
    for_each(touched.iter().cloned().collect(), how, to, move |path: PathBuf, _| {
        if let Ok((dir, name)) = super::compare::above(&root, &path) {
            dir.allow_changes(&name);
        }
    });
}

/// Makes the target if it was not there, and takes its lock. Two runs at once would each remove what the other writes.
fn hold(target: &Path, is_new: bool) -> io::Result<(Dir, Option<File>)> {
    if is_new {
        fs::create_dir_all(target)?;
    }
    let root = Dir::open_root(target)?;
    let alone = root.hold(OsStr::new(".")).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => {
            let why = "another mirror is at work there; nothing was touched: wait until it is done";
            io::Error::new(io::ErrorKind::ResourceBusy, why)
        }
        _ => error,
    })?;
    Ok((root, alone))
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
    report.resumed += done.resumed;
    report.resumed_bytes += done.resumed_bytes;
    report.partial += done.partial;
    report.not_written += done.not_written;
    report.not_kept.entries += done.not_kept.entries;
    report.not_kept.xattrs += done.not_kept.xattrs;
    report.not_kept.acls += done.not_kept.acls;
    report.not_kept.owners += done.not_kept.owners;
    report.not_kept.flags += done.not_kept.flags;
    report.not_kept.space += done.not_kept.space;
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
