//! One entry, in one step or in two halves: what came of each is told.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::fill::Unfilled;
use super::folders::{Folder, OpenFolder};
use super::job::{Job, Work};
use super::lane::Lane;
use super::name::Name;
use super::outcome::Astray;
use super::placement::Opened;
use super::stopwatch::Stopwatch;
use crate::tree::{EntryStat, Outcome};
use crate::{Error, Operation};

/// Of so many files in a row one is measured operation by operation.
pub(super) const SPLIT_EVERY: usize = 8;

/// Runs one step of one entry. A panic in it would be a bug of this crate; it is reported like any failure, because a
/// thread that is gone would leave the caller waiting for ever.
fn contain<T>(lane: &mut Lane, path: impl FnOnce() -> PathBuf, step: impl FnOnce(&mut Lane) -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(|| step(lane))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
        let why = format!("a thread of manyfiles panicked, which is a bug: {}", message.unwrap_or("no message"));
        let (path, why) = (path(), io::Error::other(why));
        let error = Error::new(Operation::Write, &*path, why);
        lane.shared.tell(&path, Outcome::Failed(&error));
        lane.shared.fail(error);
        None
    })
}

/// The folder of a batch, opened when the first of its entries needs it, or why it cannot be.
pub(super) type OpenOnce = OnceCell<crate::Result<OpenFolder>>;

/// Both halves of one entry.
pub(super) fn write_job(lane: &mut Lane, folder: &Arc<Folder>, at: &OpenOnce, job: Job, watch: &mut Stopwatch) {
    let name = Name::from(&*job.name);
    contain(
        lane,
        || folder.join(&name),
        |lane| {
            let (own, opened) = try_open(lane, folder, at, job, watch)?;
            match &own {
                Some(own) => try_fill(lane, own, opened, watch),
                None => try_fill(lane, at.get()?.as_ref().ok()?, opened, watch),
            }
            Some(())
        },
    );
}

/// The first half. `None` if that was all, or it failed, which is reported.
pub(super) fn open_job(
    lane: &mut Lane,
    folder: &Arc<Folder>,
    at: &OpenOnce,
    job: Job,
    watch: &mut Stopwatch,
) -> Option<Opened> {
    let name = Name::from(&*job.name);
    contain(
        lane,
        || folder.join(&name),
        |lane| {
            match try_open(lane, folder, at, job, watch)? {
                (None, opened) => Some(opened),
                // The file is in another folder than the chunk's.
                (Some(own), opened) => {
                    try_fill(lane, &own, opened, watch);
                    None
                }
            }
        },
    )
}

/// Opens the file of an entry, and its folder, if that is another than the batch's.
fn try_open(
    lane: &mut Lane,
    folder: &Arc<Folder>,
    at: &OpenOnce,
    mut job: Job,
    watch: &mut Stopwatch,
) -> Option<(Option<OpenFolder>, Opened)> {
    if lane.shared.is_cancelled() {
        if !job.is_entry() {
            return None;
        }
        let path = if let Work::Link(link) = &job.work { link.to.join(&link.name) } else { folder.join(&job.name) };
        not_written(lane, &path);
        return None;
    }
    if let Work::Stray = job.work {
        lane.shared.go_astray(folder, &job.name);
        return None;
    }
    if let Work::Reach(below) = &job.work {
        if below.needed.load(Relaxed) {
            drop(lane.folder(below)); // If the folder cannot be made, its own entries fail, and say so.
        }
        return None;
    }
    if let Work::Link(link) = &job.work {
        let skipped = lane.counts.skipped;
        let made = lane.make_link(link);
        lane.counts.times.open += watch.lap();
        return match made {
            Ok(opened) => {
                if opened.is_none() {
                    made_or_skipped(lane, &link.to, &link.name, &link.name, skipped, None);
                }
                opened.map(|(at, opened)| (Some(at), opened))
            }
            Err(error) => {
                failed_to_open(lane, &link.to, &link.name, error);
                None
            }
        };
    }
    let at = match at.get_or_init(|| {
        let at = lane.folder(folder);
        lane.counts.times.folders += watch.lap();
        at
    }) {
        Ok(at) => at,
        Err(cause) => {
            let path = if job.name.is_empty() { folder.shown() } else { folder.join(&job.name) };
            let error = match cause.clone() {
                cause if cause.path() == Some(&path) => cause,
                cause if job.name.is_empty() => cause.of(Operation::CreateFolder, path),
                cause => cause.of(Operation::Create, path),
            };
            lane.shared.fail_entry(folder, &job.name, error);
            return None;
        }
    };
    let asked = Name::from(&*job.name);
    if job.is_entry()
        && let Some(other) = lane.shared.outcome.renamed_before(folder, &job.name)
    {
        job.name = Name::from(&*other);
    }
    let name = Name::from(&*job.name);
    let (is_entry, skipped) = (job.is_entry(), lane.counts.skipped);
    let digest = if let Work::GiveName(unnamed) = &mut job.work { unnamed.digest.take() } else { None };
    let opened = lane.begin(at, job);
    lane.counts.times.open += watch.lap();
    match opened {
        Ok(None) => {
            if is_entry {
                let digest = digest.or(lane.digested.take());
                made_or_skipped(lane, folder, &name, &asked, skipped, digest);
            }
            None
        }
        Ok(Some(opened)) => Some((None, opened)),
        Err(error) => {
            failed_to_open(lane, folder, &asked, error);
            None
        }
    }
}

/// An entry that has no file to fill.
fn failed_to_open(lane: &Lane, folder: &Folder, name: &OsStr, error: Error) {
    if error.is_cancelled() {
        not_written(lane, &folder.join(name));
    } else {
        lane.shared.fail_entry(folder, name, error);
    }
}

/// A cancellation came before an entry.
fn not_written(lane: &Lane, path: &Path) {
    lane.shared.totals.not_written.fetch_add(1, Relaxed);
    lane.shared.tell(path, Outcome::Cancelled);
}

/// The end of an entry that was done in one half. `name` is the one it was to get, `asked` the one it was handed over
/// with.
fn made_or_skipped(
    lane: &mut Lane,
    folder: &Arc<Folder>,
    name: &OsStr,
    asked: &OsStr,
    skipped_before: u64,
    digest: Option<Vec<u8>>,
) {
    let shared = lane.shared.clone();
    if lane.counts.skipped != skipped_before {
        return shared.tell(&folder.join(asked), Outcome::Skipped);
    }
    let renamed = match shared.outcome.astray(folder, asked) {
        Some(Astray::Renamed(other)) => Some(other),
        _ => None,
    };
    let own = renamed.as_deref().unwrap_or(name);
    if !own.is_empty() {
        shared.outcome.is_there(folder, own);
    }
    if shared.tells() {
        let stat = if name.is_empty() { None } else { lane.folder(folder).ok().and_then(|at| at.dir.stat(own).ok()) };
        let renamed = renamed.as_ref().map(|other| folder.join(other));
        let (stat, digest) = (stat.map(EntryStat::from), digest.as_deref());
        let path = if name.is_empty() { folder.shown() } else { folder.join(asked) };
        let shares = std::mem::take(&mut lane.shares);
        shared.tell(&path, Outcome::Written { renamed: renamed.as_deref(), stat, digest, shares });
    }
}

/// The second half. A failure is reported.
pub(super) fn fill_job(lane: &mut Lane, at: &OpenFolder, opened: Opened, watch: &mut Stopwatch) {
    let name = Name::from(&*opened.name);
    contain(
        lane,
        || at.folder.join(&name),
        |lane| {
            try_fill(lane, at, opened, watch);
            Some(())
        },
    );
}

fn try_fill(lane: &mut Lane, at: &OpenFolder, opened: Opened, watch: &mut Stopwatch) {
    let (name, asked) = (Name::from(&*opened.name), opened.asked.as_deref().map(Name::from));
    let skipped = lane.counts.skipped;
    let path = || at.folder.join(asked.as_deref().unwrap_or(&name));
    let filled = lane.fill(at, opened, watch);
    let (stat, digest, shares) = (lane.stat.take(), lane.digested.take(), std::mem::take(&mut lane.shares));
    match filled {
        Ok(()) => {
            lane.shared.outcome.is_there(&at.folder, &name);
            if !lane.shared.tells() {
            } else if lane.counts.skipped != skipped {
                lane.shared.tell(&path(), Outcome::Skipped);
            } else {
                let renamed = asked.as_ref().map(|_| at.folder.join(&name));
                let (renamed, digest) = (renamed.as_deref(), digest.as_deref());
                lane.shared.tell(&path(), Outcome::Written { renamed, stat, digest, shares });
            }
        }
        Err(Unfilled::Failed(error)) => lane.shared.fail_entry(&at.folder, asked.as_deref().unwrap_or(&name), error),
        Err(Unfilled::Cancelled) => not_written(lane, &path()),
    }
}
