//! Opening: finds out how the last appender ended, and where to go on.
//!
//! What the page cache shows is not what the disk has: after a kill not yet, after a failed sync perhaps never,
//! whatever is written to that file. So an unclean end means a new beginning. A framed log goes on in a next file,
//! which begins with the records that only the page cache is known to have; the old file is left as it is. A file
//! without frames has a [note](crate::appender::file::note) beside it while it is open; one that is rotated is left for
//! a next one at every opening.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::appender::care::end::{End, find_end};
use crate::appender::care::leftovers;
use crate::appender::care::repair::repair_end;
use crate::appender::file::files::{Files, Tail};
use crate::appender::file::locking::not_moved;
use crate::appender::file::note::{self, Note};
use crate::appender::log::header::Header;
use crate::appender::log::opened::refuse_framed;
use crate::appender::log::series::Series;
use crate::appender::options::{OnDamage, Options};
use crate::appender::recovery::Recovery;
use crate::appender::storage::Storage;
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
    // The file may have been there already, and its maker may have been killed before it did this.
    files.sync_folder()?;
    if !options.framed && !options.rotates() {
        files.note = Some(Note::leave(&*files.storage, &files.series, beginning.end, files.file.as_deref())?);
    }
    Ok((files, beginning))
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
    let End { header, len, found } = match find_end(&files, &*file, options.on_damage)? {
        Some(end) => end,
        None => {
            files.begin(last, first, None, Some(file))?;
            let mut beginning = new(Some(first));
            beginning.recovery.set_aside = set_aside;
            return Ok((files, beginning));
        }
    };
    let recovery = Recovery { records: found.records, torn_bytes: found.torn_bytes, set_aside };
    if found.is_clean {
        let age = file.age().map_err(|cause| files.error(Operation::Open, cause))?;
        files.file = Some(file);
        return Ok((files, Beginning { header: Some(header), end: len, age, recovery }));
    }
    let number = files.series.next(last)?;
    let mut next = header.next(salt, found.durable);
    next.inherited = found.records_end.saturating_sub(found.durable);
    let old_path = files.path.clone();
    let tail =
        Tail { file: &*file, path: &old_path, header, len, from: found.durable, to: found.durable + next.inherited };
    files.begin(number, next, Some(&tail), None)?;
    file.close().map_err(|cause| Error::new(Operation::Close, old_path, cause))?;
    let beginning = Beginning { header: Some(next), end: next.begin(), age: Duration::ZERO, recovery };
    Ok((files, beginning))
}

fn new(header: Option<Header>) -> Beginning {
    let end = header.map_or(0, |header| header.begin());
    Beginning { header, end, age: Duration::ZERO, recovery: Recovery::default() }
}
