//! [`repair`]: sets damage aside, so that a log can be read and opened without being told of it again.
//!
//! A damaged file is never written to. What is whole of it is copied to a new file, every frame in its old place,
//! because its check and its position in the log hold that place; frames that say "nothing" stand where the damage was.
//! The damaged file is kept, as a copy under another name that is durable before the new file takes the old one's name.
//! So a crash between any two steps leaves the log as it was, or repaired, and at most a copy more.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::appender::care::copy::{Source, Target, Whole, is_equal};
use crate::appender::care::end::find_end;
use crate::appender::care::leftovers;
use crate::appender::care::plan::plan_end;
use crate::appender::file::files::Files;
use crate::appender::file::temporary;
use crate::appender::log::ending::{self, Misfit};
use crate::appender::log::losses::Damage;
use crate::appender::log::opened::{Opened, open_file};
use crate::appender::log::series::Series;
use crate::appender::options::OnDamage;
use crate::appender::reading::current::{Current, Item};
use crate::appender::storage::{FileSystem, Storage, StoredFile};
use crate::{Error, Operation, Result};

/// What [`repair`] has mended in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// The file. It is whole now; where the [misfit](Repaired::misfit) is `Older` or `Empty`, it is not in the log any
    /// more.
    pub path: PathBuf,
    /// Where all bytes of the file are kept as they were.
    pub kept: PathBuf,
    /// What was damaged, and is set aside.
    pub damage: Vec<Damage>,
    /// What else was wrong with it, the last file of the log then.
    pub misfit: Option<Misfit>,
}

/// Sets the damage of a [framed](crate::appender::Options::framed) log aside, and mends a last file in which no
/// appender can go on ([`Misfit`]). Returns the files in which something was mended; where nothing is to be mended,
/// nothing is changed. When it returns without an error, the log can be opened.
/// [`plan_repair`](crate::appender::plan_repair) says what it would do.
///
/// A damaged file `events.000002` is kept, byte by byte, as `events.000002.damaged` (if that name is taken, with `-2`
/// behind it, and so on), and replaced by one that has all its whole records at their old positions, durably. Reading
/// then passes over what was damaged ([`Records::set_aside_bytes`](crate::appender::Records::set_aside_bytes) says how
/// much that was). A last file that is empty or an older one just gets that name. Nothing ever removes the copy, nor
/// reads it.
///
/// Not repaired is what no copy could mend: a file that is missing between others, that does not begin as a file of
/// framed records, or of which a part cannot be read. [`check`](crate::appender::check) shows these before and after.
/// If the log cannot be opened for one of these, this fails, says why, and changes nothing.
///
/// On Windows it may fail while a reader has the damaged file open.
///
/// Needs room on the disk for two copies of the damaged file for a while, and for one from then on. Fails if an
/// appender has the log open (`ResourceBusy`), or with the first call that failed: files that were repaired before that
/// stay so.
pub fn repair(path: impl AsRef<Path>) -> Result<Vec<Repaired>> {
    repair_in(Arc::new(FileSystem::new()), path.as_ref())
}

pub(in crate::appender) fn repair_in(storage: Arc<dyn Storage>, path: &Path) -> Result<Vec<Repaired>> {
    let series = Series::new(&*storage, path)?;
    if series.numbers(&*storage)?.is_empty() {
        return Err(Error::new(Operation::Open, path, io::ErrorKind::NotFound.into()));
    }
    // No appender has the log while this does.
    let (files, lock, mut all) = repair_end(&storage, &series)?;
    leftovers::remove(&*storage, &series);
    let numbers = series.numbers(&*storage)?;
    for pair in numbers.windows(2).filter(|pair| pair[1] <= files.number) {
        if let Some((repaired, file)) = repair_file(&*storage, &series, pair[0], Some(pair[1]), None, &mut None)? {
            file.close().map_err(|cause| Error::new(Operation::Close, &*repaired.path, cause))?;
            all.push(repaired);
        }
    }
    // An opening comes to the same end.
    find_end(&files, &*lock, OnDamage::Refuse)?;
    lock.close().map_err(|cause| files.error(Operation::Close, cause))?;
    all.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(all)
}

/// Mends the last file of a log, until it is one in which an appender can go on. Returns it, locked, and what was
/// mended.
pub(in crate::appender) fn repair_end(
    storage: &Arc<dyn Storage>,
    series: &Series,
) -> Result<(Files, Box<dyn StoredFile>, Vec<Repaired>)> {
    // Nothing is changed where something at the end cannot be mended.
    plan_end(&**storage, series)?;
    let mut all = Vec::new();
    loop {
        let numbers = series.numbers(&**storage)?;
        let last = numbers.last().copied().unwrap_or(0);
        let files = Files::new(Arc::clone(storage), series.clone(), true, last);
        let mut lock = Some(files.lock_last()?);
        let error = ending::misfit(&**storage, series, &numbers)?;
        let misfit = error.as_ref().and_then(Error::misfit);
        let mended = match (misfit, &error) {
            (None, Some(error)) => return Err(error.clone()),
            (Some(Misfit::Older | Misfit::Empty), _) => {
                let kept = take_away(&**storage, series, &files.path, &mut lock)?;
                all.push(Repaired { path: files.path.clone(), kept, damage: Vec::new(), misfit });
                None
            }
            (misfit, _) => repair_file(&**storage, series, last, None, misfit, &mut lock)?,
        };
        let close = |file: Box<dyn StoredFile>| file.close().map_err(|cause| files.error(Operation::Close, cause));
        match (mended, misfit, lock) {
            (Some((repaired, whole)), None, lock) => {
                lock.map_or(Ok(()), close)?;
                all.push(repaired);
                return Ok((files, whole, all));
            }
            (None, None, Some(lock)) => return Ok((files, lock, all)),
            (mended, Some(_), lock) => {
                lock.map_or(Ok(()), close)?;
                // What comes to be the last file now may need mending too.
                if let Some((repaired, whole)) = mended {
                    close(whole)?;
                    all.push(repaired);
                }
            }
            (None, None, None) => unreachable!("it is only given back where the file is replaced"),
        }
    }
}

/// Gives a file another name, durably, that says that it is none of the log's. Returns that name.
fn take_away(
    storage: &dyn Storage,
    series: &Series,
    path: &Path,
    lock: &mut Option<Box<dyn StoredFile>>,
) -> Result<PathBuf> {
    for n in 1_u64.. {
        let kept = kept_path(path, n);
        match give_up(lock, || storage.rename(path, &kept)) {
            Ok(()) => {
                series.sync_folder(storage)?;
                return Ok(kept);
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(Error::new(Operation::Rename, kept, cause)),
        }
    }
    unreachable!("some number is free")
}

/// The nth name under which a damaged file may be kept.
fn kept_path(path: &Path, n: u64) -> PathBuf {
    let mut kept = path.as_os_str().to_owned();
    kept.push(if n == 1 { ".damaged".to_owned() } else { format!(".damaged-{n}") });
    kept.into()
}

/// Repairs one file, if it is damaged, or compressed and must not be. Returns the new one too, locked. The caller has
/// the log for itself. `lock`: the caller's handle of this file, if it has one open.
fn repair_file(
    storage: &dyn Storage,
    series: &Series,
    number: u64,
    next: Option<u64>,
    misfit: Option<Misfit>,
    lock: &mut Option<Box<dyn StoredFile>>,
) -> Result<Option<(Repaired, Box<dyn StoredFile>)>> {
    // A file that cannot be read is told by readers, and is not mended here.
    let Ok(Opened::File(opened)) = open_file(storage, series, number) else { return Ok(None) };
    // What was compressed is plain when it is repaired.
    let (path, damaged_path) = (series.path(number), opened.path().to_owned());
    let (header, of_header) = (opened.header, opened.damage);
    let mut current = Current::new(opened, None);
    let next = next.and_then(|next| open_file(storage, series, next).ok()).and_then(Opened::file);
    if let Some(next) = &next {
        current.link_next(next);
    }
    let damage = match find_damage(&mut current, next.is_none()) {
        Ok(damage) => damage,
        Err(cause) if misfit.is_some() => return Err(Error::new(Operation::Read, damaged_path, cause)),
        Err(_) => return Ok(None),
    };
    if damage.is_empty() && of_header.is_none() && misfit.is_none() {
        return Ok(None);
    }
    let last = damage.last().map_or(0, |damage| damage.offset + damage.bytes);
    let is_last = current.end().is_none();
    let end = current.end().unwrap_or(current.records_end().max(last));
    let whole = Whole { header, damage, end, is_last };
    let file =
        storage.open_to_read(&damaged_path).map_err(|cause| Error::new(Operation::Open, &*damaged_path, cause))?;
    let damaged = Source { file: &*file, path: &damaged_path };
    let (temporary, copy) = temporary::create(storage, series)?;
    let to = Target { file: &*copy, path: &temporary };
    let from = Source { file: current.file(), path: &damaged_path };
    let made =
        whole.write(from, to).and_then(|()| whole.verify(to.source())).and_then(|()| keep(storage, series, damaged));
    drop((current, next, file));
    let made = made.and_then(|kept| match give_up(lock, || storage.replace(&temporary, &path)) {
        Ok(()) => Ok(kept),
        Err(cause) => Err(Error::new(Operation::Rename, &*path, cause)),
    });
    let kept = match made {
        Ok(kept) => kept,
        Err(error) => {
            // What is left of it is removed at a later opening.
            storage.remove(&temporary).unwrap_or(());
            return Err(error);
        }
    };
    series.sync_folder(storage)?;
    if damaged_path != path {
        storage.remove(&damaged_path).map_err(|cause| Error::new(Operation::Remove, damaged_path, cause))?;
        series.sync_folder(storage)?;
    }
    let damage = of_header.into_iter().chain(whole.damage).collect();
    Ok(Some((Repaired { path, kept, damage, misfit }, copy)))
}

/// Does something to the name of a file that the caller has locked. Where a file that is open cannot lose its name, as
/// on some systems of Windows, the lock is given back before. A program that opens the file in that moment keeps it
/// from being replaced, and the repair fails.
fn give_up(lock: &mut Option<Box<dyn StoredFile>>, change: impl Fn() -> io::Result<()>) -> io::Result<()> {
    match change() {
        Err(cause) if cfg!(windows) && cause.kind() == io::ErrorKind::PermissionDenied => {
            lock.take().map_or(Ok(()), |lock| lock.close())?;
            change()
        }
        other => other,
    }
}

/// The damaged stretches; fails if the file cannot be read to its end.
fn find_damage(current: &mut Current, is_last: bool) -> io::Result<Vec<Damage>> {
    let mut all = Vec::new();
    loop {
        match current.next(is_last)? {
            Item::Record(_) | Item::NoRecord(_) => {}
            Item::Damage(damage) => all.push(damage),
            Item::End { .. } => return Ok(all),
        }
    }
}

/// Keeps a copy of the damaged file, durably. Returns its path.
fn keep(storage: &dyn Storage, series: &Series, file: Source<'_>) -> Result<PathBuf> {
    let (temporary, copy) = temporary::create(storage, series)?;
    let to = Target { file: &*copy, path: &temporary };
    let copied = file.len().and_then(|len| file.copy_to(to, 0..len)).and_then(|()| to.sync());
    let kept = copied.and_then(|()| name_kept(storage, file, to)).inspect_err(|_| {
        // What is left of it is removed at a later opening.
        storage.remove(&temporary).unwrap_or(());
    })?;
    series.sync_folder(storage)?;
    copy.close().map_err(|cause| Error::new(Operation::Close, &*kept, cause))?;
    Ok(kept)
}

/// Gives the copy the first name that is free. If a repair that was cut short has left the same copy, that one is kept.
fn name_kept(storage: &dyn Storage, file: Source<'_>, copy: Target<'_>) -> Result<PathBuf> {
    for n in 1_u64.. {
        let kept = kept_path(file.path, n);
        match storage.rename(copy.path, &kept) {
            Ok(()) => return Ok(kept),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(Error::new(Operation::Rename, kept, cause)),
        }
        let Ok(other) = storage.open_to_read(&kept) else { continue };
        if is_equal(file, Source { file: &*other, path: &kept }).unwrap_or(false) {
            storage.remove(copy.path).map_err(|cause| copy.error(Operation::Remove, cause))?;
            return Ok(kept);
        }
    }
    unreachable!("some number is free")
}
