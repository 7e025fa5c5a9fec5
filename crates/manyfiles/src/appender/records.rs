//! [`Records`]: reads framed records back.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::iter::FusedIterator;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::current::{Current, Item};
use super::ending;
use super::header::Header;
use super::losses::Missing;
use super::opened::{Next, Opened, not_framed, open_file};
use super::position::Position;
use super::series::Series;
use super::storage::{FileSystem, Storage};
use crate::{Error, Operation, Result};

/// The records of a framed log, in the order in which they were appended: of the file and of those with a number that
/// rotation made, or an appender that found an unclean end.
///
/// Every record that was acknowledged as durable is among them; so is every one that was acknowledged as written,
/// unless the machine crashed. What a crash tore off the end is left out, and [`torn_bytes`](Records::torn_bytes) says
/// how much that was.
///
/// **Damage** is something else: bytes that were durable and are not what they were. Each stretch is an error, in its
/// place, whose cause is a [`Damage`](super::Damage); what follows it is read on. The two can be told apart up to the
/// last sync but one, and in a file that was closed in order or left for the next one, up to its end. A damaged record
/// in the last group before a crash counts as torn.
///
/// **Files that are gone** while this reads the log, or are missing between others, are told by one error in their
/// place, whose cause is a [`Missing`] with the positions; what comes behind them is read on. A file that is removed
/// while this is in it is still read to its end.
///
/// An appender may be at work in the log: then these are the records that were there when it was opened.
/// [`follow`](Records::follow) waits for those that come.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("events");
/// # manyfiles::appender::Appender::options().framed(true).open(&path)?.append_durable(b"started")?;
/// use manyfiles::appender::Records;
///
/// let mut records = Records::open(&path)?;
/// for record in &mut records {
///     match record {
///         Ok(bytes) => println!("{}", String::from_utf8_lossy(&bytes)),
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// if records.torn_bytes() > 0 {
///     eprintln!("a crash left {} bytes behind the last record", records.torn_bytes());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Records {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) series: Series,
    /// Files that come after the one that is read.
    pub(super) numbers: VecDeque<u64>,
    pub(super) current: Option<Current>,
    /// The file that was read last, or is read.
    pub(super) seen: Option<Seen>,
    /// Errors about files, before what is in them.
    pub(super) pending: VecDeque<Error>,
    torn_bytes: u64,
    /// Of the files that were read to their end.
    set_aside_bytes: u64,
    /// Where the next record begins.
    pub(super) position: u64,
    /// Where the last one began.
    record: Option<u64>,
    /// How often in a row a follower found nothing.
    waited: u32,
}

/// A file, by which it is known again.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) number: u64,
    pub(super) header: Header,
    /// Somebody who follows was told that it is gone, and nothing has come.
    pub(super) is_told: bool,
}

/// So often in a row only one place is looked at; then whether what is behind it tells of damage there. That is a
/// quarter of a megabyte of zeros, mostly: looked at behind each record, they took most of a follower's time
/// (docs/measurements.md, "What following costs those who append").
const GLANCES: u32 = 20;

impl Records {
    /// Opens the log at `path`: the file of that name, and those of that name with a number.
    ///
    /// Fails if there is none of them, or none that is a file of framed records. What is wrong with the first ones is
    /// told as what is wrong with others: in their place.
    pub fn open(path: impl AsRef<Path>) -> Result<Records> {
        Records::open_in(Arc::new(FileSystem::new()), path.as_ref(), None)
    }

    /// Opens the log to read from a place that a [receipt](super::Receipt::position) or a reader has told of. What is
    /// before it is not looked at.
    ///
    /// Fails as [`open`](Records::open), if the file that had the place was removed ([`Missing`]), and if the log ends
    /// before it (`InvalidInput`): nothing was written there yet, or a power cut took it, and other records will come
    /// to lie there. A place in the middle of a record is an error (`InvalidInput`) in place of that record; what
    /// follows it is read on.
    ///
    /// ```
    /// # let temp = tempfile::tempdir()?;
    /// # let path = temp.path().join("orders");
    /// use manyfiles::appender::{Appender, Records};
    ///
    /// let appender = Appender::options().framed(true).open(&path)?;
    /// appender.append(b"before the checkpoint")?;
    /// let behind = appender.append(b"behind it")?;
    /// appender.sync()?;
    /// let checkpoint = behind.position().expect("it is framed");
    ///
    /// let mut records = Records::open_at(&path, checkpoint)?;
    /// assert_eq!(records.next().expect("there is one")?, b"behind it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_at(path: impl AsRef<Path>, position: Position) -> Result<Records> {
        Records::open_in(Arc::new(FileSystem::new()), path.as_ref(), Some(position))
    }

    pub(super) fn open_in(storage: Arc<dyn Storage>, path: &Path, from: Option<Position>) -> Result<Records> {
        let series = Series::new(&*storage, path)?;
        let numbers: VecDeque<u64> = series.numbers(&*storage)?.into();
        if numbers.is_empty() {
            return Err(Error::new(Operation::Open, path, io::ErrorKind::NotFound.into()));
        }
        let mut records = Records {
            storage,
            series,
            numbers,
            current: None,
            seen: None,
            pending: VecDeque::new(),
            torn_bytes: 0,
            set_aside_bytes: 0,
            position: 0,
            record: None,
            waited: 0,
        };
        if let Some(Position(position)) = from {
            records.position = position;
            records.pass_files_before(position)?;
        }
        while let Err(error) = records.open_next(from.map(|Position(position)| position)) {
            if records.numbers.is_empty() {
                return Err(records.pending.pop_front().unwrap_or(error));
            }
            // What the others have is there all the same.
            records.pending.push_back(error);
        }
        if let Some(Position(position)) = from {
            records.refuse_behind_end(position)?;
        }
        Ok(records)
    }

    /// How many bytes of a torn tail have been left out so far: 0 until the end is reached.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// How many bytes of damage have been passed over so far that a [repair](super::repair) has set aside. What records
    /// were there is gone from the log; the damaged file is kept beside it.
    pub fn set_aside_bytes(&self) -> u64 {
        self.set_aside_bytes + self.current.as_ref().map_or(0, Current::set_aside)
    }

    /// Where to read on behind the record that was returned last: the place for [`open_at`](Records::open_at) next time.
    pub fn position(&self) -> Position {
        Position(self.position)
    }

    /// Where the record begins that was returned last: what its [receipt](super::Receipt::position) says.
    pub fn record_position(&self) -> Option<Position> {
        self.record.map(Position)
    }

    /// Removes the numbers of files that end before a position.
    fn pass_files_before(&mut self, position: u64) -> Result<()> {
        let (mut first, mut oldest) = (None, None);
        while let Some(&number) = self.numbers.back() {
            if let Some(next) = open_file(&*self.storage, &self.series, number)?.file() {
                let (_, others) = self.numbers.make_contiguous().split_last().expect("it has this one");
                // An older file under a new number has no place that is behind those before it.
                if !ending::is_older(&*self.storage, &self.series, others, &next) {
                    if next.header.base <= position {
                        first = Some(number);
                        break;
                    }
                    oldest = Some(Position(next.header.base));
                }
            }
            self.numbers.pop_back();
        }
        let Some(first) = first else {
            let missing = Missing { from: Position(position), to: oldest };
            return Err(Error::new(Operation::Open, self.series.base(), missing.into()));
        };
        let all = self.series.numbers(&*self.storage)?;
        self.numbers = all.into_iter().filter(|&number| number >= first).collect();
        Ok(())
    }

    fn refuse_behind_end(&self, position: u64) -> Result<()> {
        let Some(current) = self.current.as_ref().filter(|_| self.numbers.is_empty()) else { return Ok(()) };
        let Some(end) = current.end_before_what_was_asked_for().map_err(|cause| current.error(cause))? else {
            return Ok(());
        };
        let message = format!(
            "the log ends at position {end}, before {position}: what was there was lost in a power cut, is not \
             written yet, or is in another log"
        );
        Err(current.error(io::Error::new(io::ErrorKind::InvalidInput, message)))
    }

    pub(super) fn leave(&mut self) -> Option<Current> {
        let current = self.current.take();
        self.set_aside_bytes += current.as_ref().map_or(0, Current::set_aside);
        current
    }

    /// Goes to the next file, and in it to a position of the log or to its beginning: who follows says where he is.
    /// There is none if `current` is `None` then.
    pub(super) fn open_next(&mut self, from: Option<u64>) -> Result<()> {
        let before = self.leave();
        let Some((number, next, missing)) = self.next_file(before.as_ref())? else { return Ok(()) };
        if let (Some(before), true) = (&before, from.is_some())
            && !next.header.follows(before.header())
            && self.finds_another_log()
        {
            return Ok(());
        }
        if let Some(missing) = missing
            && (before.is_some() || from.is_some())
        {
            // Marks may stand between the last record and the position.
            let read = before.as_ref().map_or(self.position, Current::records_end_position);
            self.pending.extend(gap(missing, read.min(self.position), self.position, &next));
        }
        if let Some(damage) = next.damage {
            self.pending.push_back(next.error(damage.into()));
        }
        let mut from = from;
        if let Some(before) = before {
            let follows = before.next_number() == Some(number);
            let goes_on = follows && next.header.follows(before.header());
            if follows && !goes_on {
                self.pending.push_back(next.error(ending::goes_not_on()));
            }
            // What a reader has seen of the file before is not read again; what has vanished since, nobody repeats.
            let begin = next.header.position(next.header.begin());
            if goes_on && from.is_some() && before.records_end_position() > begin {
                let gone = Missing { from: Position(self.position), to: Some(Position(begin)) };
                self.pending.push_back(next.error(gone.into()));
            }
            from = from.filter(|_| goes_on).map(|from| from.min(begin));
        }
        self.seen = Some(Seen { number, header: next.header, is_told: false });
        let mut current = Current::new(next, from);
        // Where this one ends, the next one says.
        if let Some(&number) = self.numbers.front()
            && let Ok(Opened::File(next)) = open_file(&*self.storage, &self.series, number)
        {
            current.is_followed_by(&next);
        }
        self.position = current.position();
        self.current = Some(current);
        Ok(())
    }

    /// The next file that is there, with its number; and the path of the first that should be there before it and is
    /// not.
    fn next_file(&mut self, before: Option<&Current>) -> Result<Option<(u64, Next, Option<PathBuf>)>> {
        let mut expected = before.and_then(Current::next_number);
        let mut missing = None;
        let mut last = before.map(|before| before.number);
        loop {
            let Some(number) = self.numbers.pop_front() else {
                // All that were there when names were read last are gone. What has come since is to be read.
                let newer = |number: &u64| last.is_some_and(|last| *number > last);
                let Some(path) = missing.take() else { return Ok(None) };
                let numbers: VecDeque<u64> = self.series.numbers(&*self.storage)?.into_iter().filter(newer).collect();
                if numbers.is_empty() {
                    self.seen = self.seen.map(|seen| Seen { is_told: true, ..seen });
                    let gone = Missing { from: Position(self.position), to: None };
                    return Err(Error::new(Operation::Open, path, gone.into()));
                }
                (missing, self.numbers) = (Some(path), numbers);
                continue;
            };
            last = Some(number);
            if let Some(expected) = expected.take()
                && expected != number
            {
                missing.get_or_insert_with(|| self.series.path(expected));
            }
            match open_file(&*self.storage, &self.series, number)? {
                Opened::File(next) => return Ok(Some((number, next, missing))),
                Opened::Gone => drop(missing.get_or_insert_with(|| self.series.path(number))),
                Opened::Empty if self.numbers.is_empty() => return Ok(None),
                Opened::Empty => return Err(Error::new(Operation::Open, self.series.path(number), not_framed())),
            }
        }
    }

    /// What is next, as far as the log was when it was opened; with `follows`, as it is now. `None` if there is
    /// nothing.
    pub(super) fn read(&mut self, follows: bool) -> Option<Result<Vec<u8>>> {
        let looks_closely = self.waited > 0 && self.waited.is_multiple_of(GLANCES);
        if follows && self.pending.is_empty() && self.numbers.is_empty() && !looks_closely {
            match self.glance() {
                Ok(true) => {}
                Ok(false) => {
                    self.waited = self.waited.wrapping_add(1);
                    return None;
                }
                Err(error) => return Some(Err(error)),
            }
        }
        let next = self.look(follows);
        self.waited = if next.is_none() { self.waited.wrapping_add(1) } else { 0 };
        next
    }

    fn look(&mut self, follows: bool) -> Option<Result<Vec<u8>>> {
        loop {
            if let Some(error) = self.pending.pop_front() {
                return Some(Err(error));
            }
            let is_last = self.numbers.is_empty();
            let Some(current) = &mut self.current else {
                if is_last {
                    return None;
                }
                match self.open_next(None) {
                    Ok(()) => continue,
                    Err(error) => return Some(Err(error)),
                }
            };
            let item = current.next(is_last);
            self.position = current.position();
            match item {
                Ok(Item::Record(record)) => {
                    self.record = Some(current.record_position());
                    return Some(Ok(record));
                }
                Ok(Item::Damage(damage)) => return Some(Err(current.error(damage.into()))),
                Ok(Item::NoRecord(error)) => return Some(Err(error)),
                Ok(Item::End { .. }) if follows && is_last => match self.find_next() {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(error) => return Some(Err(error)),
                },
                Ok(Item::End { torn_bytes }) => {
                    self.torn_bytes += torn_bytes;
                    if is_last {
                        self.leave();
                    } else if let Err(error) = self.open_next(follows.then_some(self.position)) {
                        return Some(Err(error));
                    }
                }
                Err(cause) => {
                    let error = current.error(cause);
                    // A disk that cannot be read here may be read elsewhere, in another file.
                    if !follows {
                        self.leave();
                    }
                    return Some(Err(error));
                }
            }
        }
    }
}

/// What is to be told where files from this one on are missing in front of one. The last record that was read ends at
/// `read`, and reading has come to `position`. Nothing, if the missing files had no records of their own: they only
/// repeated what is in the files before them.
fn gap(missing: PathBuf, read: u64, position: u64, next: &Next) -> Option<Error> {
    let base = next.header.base;
    if base < read {
        let message = format!(
            "it begins at position {base}, and the files before it end at {position}: it is an older file under a new \
             number, or another log's"
        );
        return Some(next.error(io::Error::new(io::ErrorKind::InvalidData, message)));
    }
    let gap = Missing { from: Position(position), to: Some(Position(base)) };
    (base > position).then(|| Error::new(Operation::Open, missing, gap.into()))
}

impl Iterator for Records {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        self.read(false)
    }
}

impl FusedIterator for Records {}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records")
            .field("base", &self.series.base())
            .field("position", &self.position)
            .field("torn_bytes", &self.torn_bytes)
            .finish_non_exhaustive()
    }
}
