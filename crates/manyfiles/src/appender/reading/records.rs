//! [`Records`]: reads framed records back.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::iter::FusedIterator;
use std::path::Path;
use std::sync::Arc;

use crate::appender::log::ending;
use crate::appender::log::header::Header;
use crate::appender::log::losses::Missing;
use crate::appender::log::opened::open_file;
use crate::appender::log::series::Series;
use crate::appender::position::Position;
use crate::appender::reading::current::{Current, Item};
use crate::appender::storage::{FileSystem, Storage};
use crate::{Error, Operation, Result};

/// The records of a framed log, in the order in which they were appended: of the file and of those with a number that
/// rotation made, or an appender that found an unclean end.
///
/// Every record that was acknowledged as durable is among them; so is every one that was acknowledged as written,
/// unless the machine crashed. What a crash tore off the end is left out, and [`torn_bytes`](Records::torn_bytes) says
/// how much that was.
///
/// **Damage** is something else: bytes that were durable and are not what they were. Each stretch is an error in its
/// place. Its cause is a [`Damage`](crate::appender::Damage); the records behind it are read on. A torn tail and damage
/// can be told apart up to the last sync but one, and in a file that was closed in order or left for the next one, up
/// to its end. A damaged record in the last group before a crash counts as torn.
///
/// **Files that are gone** while this reads the log, or are missing between others, are told by one error in their
/// place. Its cause is a [`Missing`] with the positions. The records behind them are read on. A file that is removed
/// while this reads it is still read to its end. A missing file that only repeated records of the file before it is not
/// told: no record is missing.
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
    pub(in crate::appender) storage: Arc<dyn Storage>,
    pub(in crate::appender) series: Series,
    /// Files that come after the one that is read.
    pub(in crate::appender) numbers: VecDeque<u64>,
    pub(in crate::appender) current: Option<Current>,
    /// The file that was read last, or is read.
    pub(in crate::appender) seen: Option<Seen>,
    /// Errors about files, before what is in them.
    pub(in crate::appender) pending: VecDeque<Error>,
    torn_bytes: u64,
    /// Of the files that were read to their end.
    pub(in crate::appender) set_aside_bytes: u64,
    /// Where the next record begins.
    pub(in crate::appender) position: u64,
    /// Where the last one began.
    record: Option<u64>,
    /// How often in a row a follower found nothing.
    waited: u32,
}

/// A file, by which it is known again.
#[derive(Clone, Copy)]
pub(in crate::appender) struct Seen {
    pub(in crate::appender) number: u64,
    pub(in crate::appender) header: Header,
    /// The follower was told that the file is gone, and no other file has come.
    pub(in crate::appender) is_told: bool,
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

    /// Opens the log to read from a place that a [receipt](crate::appender::Receipt::position) or a reader has told of.
    /// What is before it is not looked at.
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

    pub(in crate::appender) fn open_in(
        storage: Arc<dyn Storage>,
        path: &Path,
        from: Option<Position>,
    ) -> Result<Records> {
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

    /// How many bytes of damage have been passed over so far that a [repair](crate::appender::repair) has set aside.
    /// What records were there is gone from the log; the damaged file is kept beside it.
    pub fn set_aside_bytes(&self) -> u64 {
        self.set_aside_bytes + self.current.as_ref().map_or(0, Current::set_aside)
    }

    /// Where to read on behind the record that was returned last: the place for [`open_at`](Records::open_at) next
    /// time.
    pub fn position(&self) -> Position {
        Position(self.position)
    }

    /// Where the record begins that was returned last: what its [receipt](crate::appender::Receipt::position) says.
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

    /// What is next, as far as the log was when it was opened; with `follows`, as it is now. `None` if there is
    /// nothing.
    pub(in crate::appender) fn read(&mut self, follows: bool) -> Option<Result<Vec<u8>>> {
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
