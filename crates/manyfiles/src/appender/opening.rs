//! Opening: finds out how the last appender ended, and where to go on.
//!
//! What the page cache shows is not what the disk has: after a kill not yet, after a failed sync perhaps never,
//! whatever is written to that file. So an unclean end means a new beginning. A framed log goes on in a next file,
//! which begins with the records that only the page cache is known to have; the old file is left as it is. A file
//! without frames has a [note](super::note) beside it while it is open; one that is rotated is left for a next one at
//! every opening.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::appender::Recovery;
use super::ending;
use super::files::{Files, Tail, busy};
use super::frame::{self, HEADER, Header};
use super::leftovers;
use super::losses::Damage;
use super::note::{self, Note};
use super::options::{OnDamage, Options};
use super::reader::not_framed;
use super::repair::repair_end;
use super::scan::{Break, Found, Scanner, Start};
use super::series::Series;
use super::storage::{Storage, StoredFile};
use crate::{Error, Operation, Result};

/// Where appending goes on.
pub(super) struct Beginning {
    /// `None` without framing.
    pub(super) header: Option<Header>,
    pub(super) end: u64,
    pub(super) age: Duration,
    pub(super) recovery: Recovery,
}

/// Opens the log, or makes it; see [`Options::open`].
pub(super) fn open(path: &Path, options: &Options, storage: Arc<dyn Storage>, salt: u32) -> Result<(Files, Beginning)> {
    let series = Series::new(&*storage, path)?;
    if !options.framed {
        refuse_framed(&series, &*storage)?;
    }
    let (mut files, beginning) = if options.framed {
        open_framed(series, options, storage, salt)?
    } else if options.rotates() {
        open_next(series, storage)?
    } else {
        open_plain(series, storage)?
    };
    leftovers::remove(&*files.storage, &files.series);
    // If it was there already: whoever made it may have been killed before doing this.
    files.sync_folder()?;
    if !options.framed && !options.rotates() {
        files.note = Some(Note::leave(&*files.storage, &files.series, beginning.end, files.file.as_deref())?);
    }
    Ok((files, beginning))
}

/// Refuses a log that has frames to whoever asks for none: what is appended without them would be damage there. Reads
/// only, so that this is said of a log that is open too.
pub(super) fn refuse_framed(series: &Series, storage: &dyn Storage) -> Result<()> {
    for number in series.numbers(storage)? {
        let path = series.path(number);
        let file = match storage.open_to_read(&path) {
            // Gone meanwhile, or a folder or pipe: opening tells.
            Err(_) => continue,
            Ok(file) => file,
        };
        let mut first = [0; HEADER];
        let has = match file.read_full(&mut first, 0) {
            Ok(has) => has,
            Err(cause) => return Err(Error::new(Operation::Read, path, cause)),
        };
        if frame::begins_with_magic(&first[..has]) || Header::parse(&first).is_some() {
            let message = "it is a file of framed records: open the log with framing; nothing was changed";
            return Err(Error::new(Operation::Open, path, io::Error::new(io::ErrorKind::InvalidData, message)));
        }
    }
    Ok(())
}

/// One file without frames.
fn open_plain(series: Series, storage: Arc<dyn Storage>) -> Result<(Files, Beginning)> {
    let mut files = Files::new(storage, series, false, 0);
    match files.storage.open(&files.path) {
        Ok(file) => {
            not_moved(&*file, &files.path)?;
            note::recover(&*files.storage, &files.series, &*file)?;
            let end = file.len().map_err(|cause| files.error(Operation::Open, cause))?;
            let age = file.age().map_err(|cause| files.error(Operation::Open, cause))?;
            files.file = Some(file);
            Ok((files, Beginning { header: None, end, age, recovery: Recovery::default() }))
        }
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            note::forget(&*files.storage, &files.series)?;
            // Before there is anything that it could be about.
            files.note = Some(Note::leave(&*files.storage, &files.series, 0, None)?);
            files.begin(0, Header::default(), None, None)?;
            files.note = None;
            let mut beginning = new(None);
            // An opening that did not come to its end may have left a tail, and the file was moved since.
            if let Some(file) = files.file.as_deref() {
                note::recover(&*files.storage, &files.series, file)?;
                beginning.end = file.len().map_err(|cause| files.error(Operation::Open, cause))?;
            }
            Ok((files, beginning))
        }
        Err(cause) => Err(files.error(Operation::Open, cause)),
    }
}

/// The next of several files without frames.
fn open_next(series: Series, storage: Arc<dyn Storage>) -> Result<(Files, Beginning)> {
    let numbers = series.numbers(&*storage)?;
    if numbers.first() == Some(&0) {
        let message = "there is something of that name already, and rotated files have a number behind it";
        let cause = io::Error::new(io::ErrorKind::AlreadyExists, message);
        return Err(Error::new(Operation::Create, series.base(), cause));
    }
    let last = numbers.last().copied().unwrap_or(0);
    let mut files = Files::new(storage, series, false, last);
    let old = if last > 0 { Some(files.lock_last()?) } else { None };
    let next = files.series.next(last)?;
    files.begin(next, Header::default(), None, None)?;
    old.map_or(Ok(()), |old| old.close()).map_err(|cause| files.error(Operation::Close, cause))?;
    Ok((files, new(None)))
}

fn open_framed(series: Series, options: &Options, storage: Arc<dyn Storage>, salt: u32) -> Result<(Files, Beginning)> {
    let first = Header { salt, ..Header::default() };
    let numbers = series.numbers(&*storage)?;
    let Some(&last) = numbers.last() else {
        let number = u64::from(options.rotates());
        let mut files = Files::new(storage, series, true, number);
        files.begin(number, first, None, None)?;
        return Ok((files, new(Some(first))));
    };
    let (mut files, file, set_aside) = match options.on_damage {
        OnDamage::SetAside => repair_end(&storage, &series)?,
        OnDamage::Refuse | OnDamage::GoOn => {
            let files = Files::new(storage, series, true, last);
            let file = files.lock_last()?;
            (files, file, Vec::new())
        }
    };
    let last = files.number;
    let End { header, len, mut found } = match find_end(&files, &*file, options.on_damage)? {
        Some(end) => end,
        None => {
            files.begin(last, first, None, Some(file))?;
            let mut beginning = new(Some(first));
            beginning.recovery.set_aside = set_aside;
            return Ok((files, beginning));
        }
    };
    found.recovery.set_aside = set_aside;
    if found.is_clean {
        let age = file.age().map_err(|cause| files.error(Operation::Open, cause))?;
        files.file = Some(file);
        return Ok((files, Beginning { header: Some(header), end: len, age, recovery: found.recovery }));
    }
    let number = files.series.next(last)?;
    let mut next = header.next(salt, found.durable);
    next.inherited = found.records_end.saturating_sub(found.durable);
    let old_path = files.path.clone();
    let tail =
        Tail { file: &*file, path: &old_path, header, len, from: found.durable, to: found.durable + next.inherited };
    files.begin(number, next, Some(&tail), None)?;
    file.close().map_err(|cause| Error::new(Operation::Close, old_path, cause))?;
    let beginning = Beginning { header: Some(next), end: next.begin(), age: Duration::ZERO, recovery: found.recovery };
    Ok((files, beginning))
}

fn new(header: Option<Header>) -> Beginning {
    let end = header.map_or(0, |header| header.begin());
    Beginning { header, end, age: Duration::ZERO, recovery: Recovery::default() }
}

/// How a log ends in which an appender can go on.
pub(super) struct End {
    header: Header,
    len: u64,
    found: Inspection,
}

/// Looks at the last file, which is locked, as everybody does who opens, or says that it can be opened. `None` if it is
/// the only one, and nothing was ever written to it.
pub(super) fn find_end(files: &Files, file: &dyn StoredFile, on_damage: OnDamage) -> Result<Option<End>> {
    let numbers = files.series.numbers(&*files.storage)?;
    if let Some(error) = ending::misfit(&*files.storage, &files.series, &numbers)? {
        return Err(error);
    }
    let len = file.len().map_err(|cause| files.error(Operation::Open, cause))?;
    let header = match Scanner::start(file, len).map_err(|cause| files.error(Operation::Read, cause))? {
        Start::Header(_, Some(damage)) if on_damage != OnDamage::GoOn => {
            return Err(files.error(Operation::Open, damage.into()));
        }
        Start::Header(header, _) => header,
        Start::Unfinished => return Ok(None),
        Start::Foreign => return Err(files.error(Operation::Open, not_framed())),
    };
    let found = inspect(files, file, header, len, on_damage)?;
    if !found.is_clean {
        files.series.next(files.number)?;
    }
    Ok(Some(End { header, len, found }))
}

/// What is in the last file.
struct Inspection {
    recovery: Recovery,
    /// It was closed in order, or never written to: the disk has what is shown.
    is_clean: bool,
    /// Up to here the disk is known to have it.
    durable: u64,
    records_end: u64,
}

fn inspect(files: &Files, file: &dyn StoredFile, header: Header, len: u64, on_damage: OnDamage) -> Result<Inspection> {
    let read = |cause| files.error(Operation::Read, cause);
    let mut scanner = Scanner::new(header, len);
    let (mut records, mut torn_bytes, mut damaged_until) = (0, 0, 0);
    loop {
        match scanner.next(file).map_err(read)? {
            Found::Record(_) => records += 1,
            Found::End => break,
            Found::Broken => match scanner.explain(file).map_err(read)? {
                Break::Torn { until } => {
                    torn_bytes = until - scanner.position();
                    break;
                }
                Break::Damaged { until } if on_damage == OnDamage::GoOn => {
                    damaged_until = until;
                    scanner.go_to(until);
                }
                Break::Damaged { until } => {
                    let damage = Damage { offset: scanner.position(), bytes: until - scanner.position() };
                    return Err(files.error(Operation::Open, damage.into()));
                }
            },
        }
    }
    Ok(Inspection {
        recovery: Recovery { records, torn_bytes, set_aside: Vec::new() },
        is_clean: scanner.is_clean_end(),
        durable: scanner.durable().max(damaged_until),
        records_end: scanner.records_end(),
    })
}

impl Files {
    /// Opens the file that has the highest number, compressed or not, for this appender alone.
    pub(super) fn lock_last(&self) -> Result<Box<dyn StoredFile>> {
        let open = |path: PathBuf| match self.storage.open(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            other => {
                other.map(|file| Some((path.clone(), file))).map_err(|cause| Error::new(Operation::Open, path, cause))
            }
        };
        let opened = match open(self.path.clone())? {
            None => open(self.series.packed_path(self.number))?,
            some => some,
        };
        let numbers = self.series.numbers(&*self.storage)?;
        if numbers.last() != Some(&self.number) {
            return Err(busy(&self.path));
        }
        let Some((path, file)) = opened else {
            return Err(ending::misfit(&*self.storage, &self.series, &numbers)?.unwrap_or_else(|| busy(&self.path)));
        };
        not_moved(&*file, &path)?;
        Ok(file)
    }
}

/// Whoever had the file before may have moved it, and another may be in its place.
fn not_moved(file: &dyn StoredFile, path: &Path) -> Result<()> {
    match file.is_at(path) {
        Ok(true) => Ok(()),
        Ok(false) => Err(busy(path)),
        Err(cause) => Err(Error::new(Operation::Open, path, cause)),
    }
}
