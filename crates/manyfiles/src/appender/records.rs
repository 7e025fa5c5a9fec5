//! [`Records`]: reads framed records back.

use std::fmt;
use std::fs::File;
use std::io;
use std::iter::FusedIterator;
use std::path::{Path, PathBuf};

use super::files::{folder_of, number_of, numbered_path};
use super::scan::{Break, Found, Scanner, Start};
use crate::{Error, Operation, Result};

/// The records of a framed file, or of all files that rotation made, in the order in which they were appended.
///
/// Every record that was acknowledged as durable is among them; so is every one that was acknowledged as written, unless the
/// machine crashed. What a crash tore off the end is left out, and [`torn_bytes`](Records::torn_bytes) says how much that was.
///
/// **Damage** is something else: bytes that were durable and are not what they were. Each stretch is an error, in its place, whose
/// cause is a [`Damage`]; what follows it is read on. The two can be told apart up to the last sync but one, and in a file that
/// was closed in order or left for the next one, up to its end. A damaged record in the last group before a crash counts as torn.
///
/// An appender may be at work in the file: then these are the records that were there when it was opened.
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
#[derive(Debug)]
pub struct Records {
    /// Files that come after the one that is read.
    files: std::vec::IntoIter<PathBuf>,
    current: Option<Current>,
    /// Errors about files, before what is in them.
    pending: Option<Error>,
    torn_bytes: u64,
}

#[derive(Debug)]
struct Current {
    path: PathBuf,
    file: File,
    len: u64,
    scanner: Scanner,
}

/// Bytes in a file of records that were durable once and are not what they were. The cause of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Where they begin in the file.
    pub offset: u64,
    /// How many there are up to the next whole record, or the end.
    pub bytes: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { offset, bytes } = self;
        write!(
            f,
            "it is damaged: {bytes} bytes at {offset} were durable and have changed; reading shows what is left, \
             and a copy may have them"
        )
    }
}

impl std::error::Error for Damage {}

impl Records {
    /// Opens the file at `path`; if there is none, the files of that name with a number that
    /// [rotation](super::Options::rotate_bytes) makes.
    ///
    /// Fails if there is neither, or the file is none of framed records.
    pub fn open(path: impl AsRef<Path>) -> Result<Records> {
        let path = path.as_ref();
        let (files, gap) = match std::fs::symlink_metadata(path) {
            Ok(_) => (vec![path.to_owned()], None),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => numbered(path, cause)?,
            Err(cause) => return Err(Error::new(Operation::Open, path, cause)),
        };
        let mut records = Records { files: files.into_iter(), current: None, pending: None, torn_bytes: 0 };
        records.open_next()?;
        records.pending = gap;
        Ok(records)
    }

    /// How many bytes of a torn tail have been left out so far: 0 until the end is reached.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// Goes to the next file. `None` if there is none.
    fn open_next(&mut self) -> Result<()> {
        self.current = None;
        let Some(path) = self.files.next() else { return Ok(()) };
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = opened.map_err(|cause| Error::new(Operation::Open, &*path, cause))?;
        if !metadata.is_file() {
            let cause = io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
            return Err(Error::new(Operation::Open, path, cause));
        }
        let len = metadata.len();
        let start = Scanner::start(&file, len).map_err(|cause| Error::new(Operation::Read, &*path, cause))?;
        match start {
            Start::Salt(salt) => {
                self.current = Some(Current { path, file, len, scanner: Scanner::new(salt, len) });
                Ok(())
            }
            Start::Unfinished if self.is_last() => {
                self.torn_bytes = len;
                Ok(())
            }
            Start::Unfinished | Start::Foreign => {
                let message = "it does not begin as a file of framed records does";
                Err(Error::new(Operation::Open, path, io::Error::new(io::ErrorKind::InvalidData, message)))
            }
        }
    }

    fn is_last(&self) -> bool {
        self.files.as_slice().is_empty()
    }
}

impl Iterator for Records {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        if let Some(error) = self.pending.take() {
            return Some(Err(error));
        }
        loop {
            let is_last = self.is_last();
            let Some(current) = &mut self.current else {
                if is_last {
                    return None;
                }
                match self.open_next() {
                    Ok(()) => continue,
                    Err(error) => return Some(Err(error)),
                }
            };
            match current.next(is_last) {
                Ok(Item::Record(record)) => return Some(Ok(record)),
                Ok(Item::Damage(error)) => return Some(Err(error)),
                Ok(Item::End { torn_bytes }) => {
                    self.torn_bytes += torn_bytes;
                    self.current = None;
                }
                Err(cause) => {
                    let error = Error::new(Operation::Read, &*current.path, cause);
                    // A disk that cannot be read here may be read elsewhere, in another file.
                    self.current = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl FusedIterator for Records {}

enum Item {
    Record(Vec<u8>),
    Damage(Error),
    End { torn_bytes: u64 },
}

impl Current {
    fn next(&mut self, is_last: bool) -> io::Result<Item> {
        match self.scanner.next(&self.file)? {
            Found::Record(record) => return Ok(Item::Record(record.to_vec())),
            Found::End => return Ok(Item::End { torn_bytes: 0 }),
            Found::Broken => {}
        }
        let offset = self.scanner.position();
        let until = match self.scanner.explain(&self.file)? {
            Break::Damaged { until } => until,
            // A file was durable to its end before the next one was made.
            Break::Torn if !is_last => self.len,
            Break::Torn => return Ok(Item::End { torn_bytes: self.len - offset }),
        };
        self.scanner.go_to(until);
        let damage = Damage { offset, bytes: until - offset };
        Ok(Item::Damage(Error::new(Operation::Read, &*self.path, io::Error::new(io::ErrorKind::InvalidData, damage))))
    }
}

/// The files with a number, in order, and an error if one is missing between them. `not_found` is the error if there is none.
fn numbered(base: &Path, not_found: io::Error) -> Result<(Vec<PathBuf>, Option<Error>)> {
    let (folder, Some(name)) = (folder_of(base), base.file_name()) else {
        return Err(Error::new(Operation::Open, base, not_found));
    };
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|cause| Error::new(Operation::Open, folder, cause))? {
        let entry = entry.map_err(|cause| Error::new(Operation::Open, folder, cause))?;
        numbers.extend(number_of(&entry.file_name(), name));
    }
    numbers.sort_unstable();
    if numbers.is_empty() {
        return Err(Error::new(Operation::Open, base, not_found));
    }
    let gap = numbers.windows(2).find(|pair| pair[1] != pair[0] + 1).map(|pair| {
        let message = "it is missing, between files that are there";
        Error::new(Operation::Open, numbered_path(base, pair[0] + 1), io::Error::new(io::ErrorKind::NotFound, message))
    });
    Ok((numbers.into_iter().map(|number| numbered_path(base, number)).collect(), gap))
}
