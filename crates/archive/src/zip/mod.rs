//! Zip: the directory is read once, and entries are decoded by several threads that share the file by positioned reads.
//!
//! Limits are checked with the directory's sizes before anything is written, and no entry yields more than its size
//! there. Entries are handed over in the directory's order ([`order`]), whichever thread decodes them; only long files
//! that no other entry is about ([`contested`]) go beside it.
//!
//! Why not the `zip` crate: its archive keeps one entry per name and drops the others without a word, one malformed
//! extra field costs the whole archive, and its readers need a buffer and a decoder anew for each entry.

mod check;
mod content;
mod contested;
mod deliver;
mod directory;
mod encrypted;
mod end;
mod entry;
mod field;
mod local;
mod order;
mod salvage;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use manyfiles::tree::TreeWriter;

use crate::cancel::Cancel;
use crate::entry::Kind;
use crate::entry_filter::EntryFilter;
use crate::error::{ErrorKind, Position, Result};
use crate::joined::Joined;
use crate::limits::{Limits, Meter, check_ratio};
use crate::parts;
use crate::password::{Password, Secret, Unlocked};
use crate::progress::InputProgress;
use crate::reader::Place;
use crate::summary::Trailing;
use crate::sys;
use crate::target::Target;
use content::Decoder;
pub(crate) use content::Stored;
use contested::Contested;
use deliver::Decoded;
pub(crate) use directory::Directory;
use directory::{Lock, Record};
use end::End;
pub(crate) use entry::unreadable;
use order::Order;

/// An open file that is to be a zip.
pub(crate) struct Archive<'a> {
    pub path: &'a Path,
    /// All its parts, once they are found.
    pub file: Joined,
    pub secret: &'a Secret,
    /// The one that opens its entries, once it is known.
    pub password: Option<Password>,
    pub limits: &'a Limits,
    pub filter: &'a EntryFilter,
    pub progress: &'a InputProgress,
}

/// Whether there is a zip's directory at the end of a file that does not begin as one. An error: one of reading, or
/// that the directory is there and says why it cannot be used.
pub(crate) fn has_end(file: &Joined) -> Result<bool, ErrorKind> {
    match end::find(file) {
        Ok(end) => Ok(end.is_some_and(|end| !end.is_cut)),
        // Bytes that only look like a directory are no error.
        Err(ErrorKind::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A zip whose entries are to be read one by one.
pub(crate) struct Opened {
    pub file: Joined,
    pub directory: Directory,
    pub password: Option<Password>,
}

/// Reads a zip. `meter` counts what the directory says. Returns what follows it.
pub(crate) fn read(
    mut archive: Archive<'_>,
    threads: usize,
    meter: &mut Meter,
    target: &mut Target<'_>,
    cancel: &Cancel,
) -> Result<Option<Trailing>, ErrorKind> {
    let mut end = end::find(&archive.file);
    if let Ok(Some(End { parts_before: before @ 1.., .. })) = end {
        let last = archive.file.len();
        archive.file = match archive.file.is_one() {
            true => parts::spanned(archive.path, archive.file, before)?,
            // A split archive that was cut into pieces, too.
            false => return Err(end::part()),
        };
        archive.progress.opened(Some(archive.file.len() - last));
        end = end::find(&archive.file);
    }
    let end = match end {
        // Then the entries are looked for.
        Err(damage @ ErrorKind::Damaged { .. }) if matches!(target, Target::Salvage(..)) => Err(damage),
        found => Ok(found?),
    };
    if matches!(end, Ok(None)) && end::begins_as_part(&archive.file)? {
        return Err(end::part());
    }
    let missing = || {
        let cause = "the directory at its end is missing, so it is cut short";
        ErrorKind::damaged(Position::Archive(archive.file.len()), cause)
    };
    let (directory, end) = match end {
        Ok(Some(end)) => (Directory::read(&archive.file, &end), end),
        Ok(None) => (Err(missing()), End::default()),
        Err(damage) => (Err(damage), End::default()),
    };
    let mut directory = match (directory, &mut *target) {
        (directory, Target::Salvage(_, test)) => salvage::directory(&archive, directory, test, cancel)?,
        (directory, _) => directory?,
    };
    if !archive.secret.may_open() {
        directory.lock = Lock::Closed;
    }
    let jobs = Jobs::plan(&archive, &directory, meter, matches!(target, Target::Test(_)))?;
    // A list needs no content.
    if !matches!(target, Target::List(_)) {
        unlock(&mut archive, &mut directory, &jobs)?;
    } else if let Secret::Known(password) = archive.secret {
        archive.password = Some(password.clone());
    }
    match target {
        Target::Tree(tree) => unpack(&archive, &directory, &jobs, threads, tree, false, cancel)?,
        Target::Salvage(tree, _) => unpack(&archive, &directory, &jobs, threads, tree, true, cancel)?,
        Target::Index(builder) => {
            let mut decoder = archive.decoder();
            for &index in &jobs.wanted {
                let record = directory.record(index as usize);
                let decoded = deliver::decode(archive.filter, &record, &mut decoder, true);
                deliver::with_entry(archive.filter, &record, decoded, |entry, _| builder.add(entry, Place::Zip(index)))
                    .unwrap_or(Ok(()))?;
            }
        }
        Target::List(visit) => {
            let mut decoder = archive.decoder();
            for &index in &jobs.wanted {
                let record = directory.record(index as usize);
                let decoded = deliver::decode(archive.filter, &record, &mut decoder, true);
                deliver::with_entry(archive.filter, &record, decoded, |entry, _| {
                    entry.check_paths();
                    visit(entry);
                });
            }
            archive.progress.advance(jobs.packed.min(archive.file.len()));
        }
        Target::Test(test) => {
            check::check(&archive, &directory, &jobs, threads, test, cancel)?;
            let at = |byte| Some(Position::Archive(byte));
            if let Some(byte) = directory.odd_end {
                test.tell(None, at(byte), "bytes that are no entry stand in the directory");
            }
            if let Some(cause) = end.remark {
                test.tell(None, at(end.start + end.size), cause);
            }
            if jobs.claims_too_much {
                let cause = "its directory says that there is more than the limits allow, so nothing of it is unpacked";
                test.tell(None, at(end.start), cause);
                (test.intact, test.intact_bytes) = (0, 0);
            }
        }
    }
    archive.progress.advance(archive.file.len() - jobs.packed.min(archive.file.len()));
    archive.file.check()?;
    if let Some(damage) = directory.damage.take() {
        return Err(damage);
    }
    let trailing = match () {
        () if end.is_cut => {
            let cause = "the comment at its end is cut short";
            return Err(ErrorKind::damaged(Position::Archive(archive.file.len()), cause));
        }
        () if end.has_more_behind => Some(Trailing::AfterZip),
        // A test tells of each place.
        () if matches!(target, Target::Test(_)) => None,
        () => begins_with_others(&archive.file, &directory)?.then_some(Trailing::BeforeZip),
    };
    if let Target::Index(builder) = target {
        let Archive { file, password, .. } = archive;
        builder.zip = Some(Opened { file, directory, password });
    }
    Ok(trailing)
}

impl Archive<'_> {
    fn decoder(&self) -> Decoder<'_> {
        Decoder::new(&self.file, self.password.as_ref())
    }
}

/// Looks for the password, if an entry that is wanted needs one. It is that of the first of them: entries that have
/// another one fail by themselves.
fn unlock(archive: &mut Archive<'_>, directory: &mut Directory, jobs: &Jobs) -> Result<(), ErrorKind> {
    let needs = |index: &u32| {
        let record = directory.record(*index as usize);
        let name = record.name();
        let entry = record.entry(&name, Path::new(""));
        let has_content = matches!(entry.kind, Kind::File | Kind::Symlink(_));
        entry.is_encrypted && has_content && entry.refusal.is_none()
    };
    let Some(&first) = jobs.wanted.iter().find(|index| needs(index)) else { return Ok(()) };
    let record = directory.record(first as usize);
    // An entry that cannot be read says nothing against a password.
    let is_right = |password: &Password| Ok(content::is_right(&archive.file, &record, password).unwrap_or(true));
    match (archive.secret.unlock::<ErrorKind>(archive.path, is_right)?, archive.secret) {
        (Unlocked::Right(password), _) => archive.password = Some(password),
        // Others may have this one: each tells for itself.
        (Unlocked::Wrong, Secret::Known(password)) => archive.password = Some(password.clone()),
        (Unlocked::Wrong, _) => directory.lock = Lock::Wrong,
        (Unlocked::Closed, _) => directory.lock = Lock::Closed,
    }
    Ok(())
}

/// Whether the file begins with an entry, and the directory has none so near its beginning.
fn begins_with_others(file: &Joined, directory: &Directory) -> Result<bool, ErrorKind> {
    let first = (0..directory.len()).map(|index| directory.record(index).start).min().unwrap_or(directory.start);
    let mut signature = [0; 4];
    if first < local::LOCAL as u64 {
        return Ok(false);
    }
    file.fill(&mut signature, 0)?;
    Ok(signature == *b"PK\x03\x04")
}

/// Which entries are wanted.
struct Jobs {
    wanted: Vec<u32>,
    /// The long files that share a path with another entry.
    contested: Contested,
    /// Their size in the archive.
    packed: u64,
    /// Whether unpacking ends before anything is written, because of the sizes that the directory claims. Of a test.
    claims_too_much: bool,
}

impl Jobs {
    /// Checks the sizes that the directory claims before anything is written. A test writes nothing, and counts what
    /// it decodes: a damaged size is to be told, and that unpacking would end at it.
    fn plan(archive: &Archive<'_>, directory: &Directory, meter: &mut Meter, is_test: bool) -> Result<Jobs, ErrorKind> {
        let mut jobs = Jobs { wanted: Vec::new(), contested: Contested::default(), packed: 0, claims_too_much: false };
        let mut claimed: u64 = 0;
        for index in 0..directory.len() {
            meter.entry()?;
            let record = directory.record(index);
            let name = record.name();
            let entry = record.entry(&name, Path::new(""));
            if !archive.filter.selects(entry.path) {
                meter.left_out += 1;
                continue;
            }
            let Some(entry) = archive.filter.reduce(entry) else {
                meter.stripped();
                continue;
            };
            meter.rooted += u64::from(archive.filter.strips_root_of(sys::path(&name)));
            if entry.kind == Kind::File && entry.refusal.is_none() && is_test {
                claimed = claimed.saturating_add(record.size);
            } else if entry.kind == Kind::File && entry.refusal.is_none() {
                meter.content(record.size)?;
                if deliver::is_long(&record) {
                    jobs.contested.long(entry.path.as_os_str().as_encoded_bytes());
                }
            }
            jobs.packed = jobs.packed.saturating_add(record.packed);
            jobs.wanted.push(index as u32);
        }
        check_ratio(archive.limits, meter.bytes, archive.file.len())?;
        jobs.claims_too_much =
            claimed > archive.limits.bytes || check_ratio(archive.limits, claimed, archive.file.len()).is_err();
        if !jobs.contested.is_empty() {
            for &index in &jobs.wanted {
                let record = directory.record(index as usize);
                let is_long = deliver::is_long_file(archive.filter, &record);
                deliver::with_path(archive.filter, &record, |path| jobs.contested.entry(path, is_long));
            }
        }
        Ok(jobs)
    }

    fn is_contested(&self, filter: &EntryFilter, record: &Record<'_>) -> bool {
        deliver::with_path(filter, record, |path| self.contested.is_contested(path)).unwrap_or(true)
    }
}

fn unpack(
    archive: &Archive<'_>,
    directory: &Directory,
    jobs: &Jobs,
    threads: usize,
    tree: &TreeWriter,
    keeps_part: bool,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    let record = |place: usize| directory.record(jobs.wanted[place] as usize);
    let hand_over = |place, decoded| match decoded {
        Decoded::Failed(_) if keeps_part && deliver::is_file(archive.filter, &record(place)) => {
            let mut decoder = archive.decoder();
            // A cancelled tree takes nothing more: what reads next sees that.
            drop(deliver::stream(archive.filter, &record(place), &mut decoder, tree, true, cancel));
        }
        decoded => deliver::hand_over(archive.filter, &record(place), decoded, tree),
    };
    let order = Order::new(&hand_over);
    workers(archive, directory, jobs, threads, &order, &|place, record, decoder| {
        cancel.check()?;
        if !deliver::is_long_file(archive.filter, record) {
            let decoded = deliver::decode(archive.filter, record, decoder, false);
            let bytes = decoded.len();
            return Ok(order.ready(place, decoded, bytes));
        }
        let turn = if jobs.is_contested(archive.filter, record) {
            let Some(turn) = order.turn(place) else { return Ok(false) };
            Some(turn)
        } else {
            order.leave_out(place);
            None
        };
        let streamed = deliver::stream(archive.filter, record, decoder, tree, keeps_part, cancel);
        drop(turn);
        streamed?;
        Ok(order.go_on())
    })
}

/// What a thread does with the entry at a place: `false`: it was stopped.
type Step<'s> = dyn Fn(usize, &Record<'_>, &mut Decoder<'_>) -> Result<bool, ErrorKind> + Sync + 's;

/// Takes each wanted entry through `step`, on several threads. The first error stops them.
fn workers<T: Send>(
    archive: &Archive<'_>,
    directory: &Directory,
    jobs: &Jobs,
    threads: usize,
    order: &Order<'_, T>,
    step: &Step<'_>,
) -> Result<(), ErrorKind> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let work = || {
        let _stop = StopIfPanicking(order);
        let mut decoder = archive.decoder();
        loop {
            let place = next.fetch_add(1, Relaxed);
            if place >= jobs.wanted.len() {
                break;
            }
            let record = directory.record(jobs.wanted[place] as usize);
            let done = step(place, &record, &mut decoder);
            archive.progress.advance(record.packed);
            match done {
                Ok(true) => {}
                Ok(false) => break,
                Err(kind) => {
                    order.stop();
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(kind);
                    break;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.wanted.len()) {
            // Fewer threads do the same.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// If a thread panics, other threads would wait for its entry for ever. So they are stopped, and the panic goes on.
struct StopIfPanicking<'o, 'a, T>(&'o Order<'a, T>);

impl<T> Drop for StopIfPanicking<'_, '_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}
