//! [`check`]: what is in a log's files, and what is wrong with them.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::appender::log::ending::{self, Misfit};
use crate::appender::log::header::{HEADER, Header};
use crate::appender::log::losses::Damage;
use crate::appender::log::opened::{Opened, open_file};
use crate::appender::log::series::Series;
use crate::appender::position::Position;
use crate::appender::reading::current::{Current, Item};
use crate::appender::storage::{FileSystem, Storage};
use crate::{Error, Operation, Result};

/// What [`check`] found in a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The log's files, the oldest first. A file that is missing between others is one of them, with an error.
    pub files: Vec<FileReport>,
}

/// What [`check`] found in one file of a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// How many bytes the file has; of a compressed one, when it is unpacked.
    pub bytes: u64,
    /// How many whole records of the log are in it.
    pub records: u64,
    /// The positions that the file has in the log: those of its first byte and behind its last record.
    pub positions: Range<Position>,
    /// How it ends.
    pub end: FileEnd,
    /// Bytes behind the end that are no records of the log: what a crash tore, or what the next file repeats.
    pub torn_bytes: u64,
    /// Bytes of damage that [`repair`](crate::appender::repair) has set aside: the records that were there are gone
    /// from the log.
    pub set_aside_bytes: u64,
    /// Stretches that were durable and have changed, in order.
    pub damage: Vec<Damage>,
    /// Why no appender can go on in this file, the last one, if a [`repair`](crate::appender::repair) mends that.
    pub misfit: Option<Misfit>,
    /// What else is wrong: the file is missing, does not begin as a file of framed records, cannot be read on from some
    /// place, or does not go on where the one before it ends.
    pub errors: Vec<Error>,
    /// Whether nothing kept it from being read to its end.
    pub(in crate::appender) is_read: bool,
}

/// How a file of a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileEnd {
    /// The appender that had it closed it in order, and all of it was durable; or nothing was ever appended to it.
    Closed,
    /// The next file goes on from there.
    Continued,
    /// Neither: an appender has it open, or has ended without closing it. The next one goes on in a next file.
    Open,
}

impl Report {
    /// Whether nothing is wrong: no damage, no misfit and no errors. A torn tail is not wrong: no appender said that it
    /// was durable. A sound log can be opened.
    pub fn is_sound(&self) -> bool {
        self.files.iter().all(FileReport::is_sound)
    }

    /// How many whole records there are.
    pub fn records(&self) -> u64 {
        self.files.iter().map(|file| file.records).sum()
    }

    /// How many bytes are damaged.
    pub fn damaged_bytes(&self) -> u64 {
        self.files.iter().flat_map(|file| &file.damage).map(|damage| damage.bytes).sum()
    }
}

impl FileReport {
    /// Whether nothing is wrong with this file.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty() && self.misfit.is_none() && self.errors.is_empty()
    }

    /// Reads the file to its end.
    fn read(&mut self, current: &mut Current, is_last: bool, progress: &mut Progress<'_>) {
        loop {
            progress.go_to(current.offset());
            match current.next(is_last) {
                Ok(Item::Record(_)) => self.records += 1,
                Ok(Item::Damage(damage)) => self.damage.push(damage),
                Ok(Item::NoRecord(error)) => self.errors.push(error),
                Ok(Item::End { torn_bytes }) => {
                    self.torn_bytes = torn_bytes;
                    break;
                }
                Err(cause) => {
                    self.errors.push(current.error(cause));
                    self.is_read = false;
                    break;
                }
            }
        }
    }

    /// Says of the last file what opening would.
    fn note_end(&mut self, storage: &dyn Storage, series: &Series, numbers: &[u64]) -> Result<()> {
        if let Some(error) = ending::misfit(storage, series, numbers)? {
            self.misfit = error.misfit();
            // Reading the file may have told of the same.
            if self.misfit.is_none() && self.errors.is_empty() {
                self.errors.push(error);
            }
        } else if let Some(&last) = numbers.last()
            && self.end == FileEnd::Open
            && let Err(error) = series.next(last)
        {
            self.errors.push(error);
        }
        Ok(())
    }

    fn new(path: PathBuf) -> FileReport {
        FileReport {
            path,
            bytes: 0,
            records: 0,
            positions: Position(0)..Position(0),
            end: FileEnd::Open,
            torn_bytes: 0,
            set_aside_bytes: 0,
            damage: Vec::new(),
            misfit: None,
            errors: Vec::new(),
            is_read: true,
        }
    }
}

/// Reads all of a [framed](crate::appender::Options::framed) log and says what is in it and what is wrong. Changes
/// nothing, and takes no lock: an appender may be at work meanwhile, and its last records may or may not be counted.
///
/// Needs memory for one record and for the report, which grows with the count of files and of damaged stretches.
///
/// Fails if there is no file of that name, with or without a number, or if the folder cannot be read. Whatever is wrong
/// with the files themselves is in the [`Report`].
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("events");
/// # manyfiles::appender::Appender::options().framed(true).open(&path)?.append_durable(b"started")?;
/// let report = manyfiles::appender::check(&path)?;
/// assert!(report.is_sound());
/// assert_eq!(report.records(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(path: impl AsRef<Path>) -> Result<Report> {
    check_with(path, |_| {})
}

/// [`check`], which tells after each record how much of the log it has looked at: from 0 to 1, by bytes.
pub fn check_with(path: impl AsRef<Path>, mut progress: impl FnMut(f64)) -> Result<Report> {
    check_in(Arc::new(FileSystem::new()), path.as_ref(), &mut progress)
}

pub(in crate::appender) fn check_in(
    storage: Arc<dyn Storage>,
    path: &Path,
    progress: &mut dyn FnMut(f64),
) -> Result<Report> {
    let series = Series::new(&*storage, path)?;
    if series.numbers(&*storage)?.is_empty() {
        return Err(Error::new(Operation::Open, path, io::ErrorKind::NotFound.into()));
    }
    check_series(&*storage, &series, progress)
}

pub(in crate::appender) fn check_series(
    storage: &dyn Storage,
    series: &Series,
    progress: &mut dyn FnMut(f64),
) -> Result<Report> {
    let numbers = series.numbers(storage)?;
    let mut progress = Progress { tell: progress, passed: 0, total: total_bytes(storage, series, &numbers) };
    let mut files: Vec<FileReport> = Vec::new();
    let mut before: Option<(u64, Option<Header>)> = None;
    for (at, &number) in numbers.iter().enumerate() {
        let goes_on = before.is_none_or(|(before, _)| before.checked_add(1) == Some(number));
        let next = numbers.get(at + 1).copied();
        let (mut report, header) = check_file(storage, series, number, next, numbers.len() == 1, &mut progress);
        progress.passed += report.bytes;
        if let Some((before, _)) = before
            && !goes_on
            && !has_all_of(files.last(), header)
        {
            let mut missing = FileReport::new(series.path(before.saturating_add(1)));
            let cause = io::Error::new(io::ErrorKind::NotFound, "it is missing, between files that are there");
            missing.errors.push(Error::new(Operation::Open, &*missing.path, cause));
            files.push(missing);
        }
        // Of the last one, its end tells.
        if let (true, Some((_, Some(before))), Some(header)) = (goes_on && next.is_some(), before, header)
            && !header.follows(&before)
        {
            report.errors.push(Error::new(Operation::Read, &*report.path, ending::goes_not_on()));
        }
        if next.is_none() {
            report.note_end(storage, series, &numbers)?;
        }
        files.push(report);
        before = Some((number, header));
    }
    Ok(Report { files })
}

/// Whether no position is missing between two files though there was a file between them: one that only repeated what
/// is in the file before it.
fn has_all_of(before: Option<&FileReport>, header: Option<Header>) -> bool {
    before.zip(header).is_some_and(|(before, header)| before.bytes > 0 && before.positions.end.0 == header.base)
}

/// Tells how far it is.
struct Progress<'a> {
    tell: &'a mut dyn FnMut(f64),
    /// Bytes of files that were read to their end.
    passed: u64,
    total: u64,
}

impl Progress<'_> {
    /// The file that is read has been read up to here.
    fn go_to(&mut self, offset: u64) {
        // Files may have grown since they were asked.
        (self.tell)(((self.passed + offset) as f64 / self.total.max(1) as f64).min(1.0));
    }
}

/// How many bytes the files have. Those that cannot be opened are told of later, and count for nothing here.
fn total_bytes(storage: &dyn Storage, series: &Series, numbers: &[u64]) -> u64 {
    let len = |&number: &u64| storage.open_to_read(&series.path(number)).and_then(|file| file.len()).unwrap_or(0);
    numbers.iter().map(len).sum()
}

/// One file, and what it says of itself.
fn check_file(
    storage: &dyn Storage,
    series: &Series,
    number: u64,
    next: Option<u64>,
    is_only: bool,
    progress: &mut Progress<'_>,
) -> (FileReport, Option<Header>) {
    let mut report = FileReport::new(series.path(number));
    let opened = match open_file(storage, series, number) {
        Ok(Opened::File(opened)) => opened,
        Ok(Opened::Empty | Opened::Gone) => {
            if is_only {
                report.end = FileEnd::Closed;
            } else if next.is_some() {
                let cause = io::Error::new(io::ErrorKind::InvalidData, "it is empty, or was removed meanwhile");
                report.errors.push(Error::new(Operation::Read, &*report.path, cause));
            }
            return (report, None);
        }
        Err(error) => {
            report.errors.push(error);
            report.is_read = false;
            return (report, None);
        }
    };
    report.path = opened.path().to_owned();
    report.bytes = opened.len();
    report.damage.extend(opened.damage);
    let header = opened.header;
    let mut current = Current::new(opened, None);
    if let Some(next) = next
        && let Ok(Opened::File(next)) = open_file(storage, series, next)
        && current.link_next(&next)
    {
        report.end = FileEnd::Continued;
    }
    report.read(&mut current, next.is_none(), progress);
    report.set_aside_bytes = current.set_aside();
    match report.end {
        FileEnd::Continued => report.torn_bytes = report.bytes.saturating_sub(current.end().unwrap_or(HEADER as u64)),
        _ if current.is_clean_end() => report.end = FileEnd::Closed,
        _ => {}
    }
    let end = current.end().unwrap_or(current.records_end());
    report.positions = Position(header.position(HEADER as u64))..Position(header.position(end));
    (report, Some(header))
}
