//! [`Series`]: the names of a log's files.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::appender::storage::Storage;
use crate::{Error, Operation, Result};

/// The files of one log: `events` is number 0, `events.000001` number 1, and so on.
#[derive(Clone, Debug)]
pub(in crate::appender) struct Series {
    base: PathBuf,
    /// Files from this number on are left out, as if they were not there.
    until: Option<u64>,
}

impl Series {
    /// A relative path is that of the working directory now, whatever the process does with it later. Symbolic links
    /// are followed now too: the next file is beside the last one, not beside a link to it.
    pub(in crate::appender) fn new(storage: &dyn Storage, base: &Path) -> Result<Series> {
        let error = |cause| Error::new(Operation::Open, base, cause);
        let invalid = |message| error(io::Error::new(io::ErrorKind::InvalidInput, message));
        let name = base.file_name().ok_or_else(|| invalid("a file's path ends in its name"))?;
        if !base.as_os_str().as_encoded_bytes().ends_with(name.as_encoded_bytes()) {
            return Err(invalid("a path that ends so is a folder's; a file's ends in its name"));
        }
        Ok(Series { base: storage.resolve(base).map_err(error)?, until: None })
    }

    /// The same log, as it would be without the files from this number on.
    pub(in crate::appender) fn before(&self, number: u64) -> Series {
        Series { base: self.base.clone(), until: Some(number) }
    }

    pub(in crate::appender) fn base(&self) -> &Path {
        &self.base
    }

    pub(in crate::appender) fn folder(&self) -> &Path {
        folder_of(&self.base)
    }

    /// Makes the names of the log's files durable.
    pub(in crate::appender) fn sync_folder(&self, storage: &dyn Storage) -> Result<()> {
        let folder = self.folder();
        storage.sync_folder(folder).map_err(|cause| Error::new(Operation::Sync, folder, cause))
    }

    pub(in crate::appender) fn path(&self, number: u64) -> PathBuf {
        if number == 0 { self.base.clone() } else { self.beside(&format!(".{number:06}")) }
    }

    /// The path of a file that was compressed.
    pub(in crate::appender) fn packed_path(&self, number: u64) -> PathBuf {
        self.beside(&format!(".{number:06}{PACKED}"))
    }

    /// The path that a file has, or had, which is not compressed.
    pub(in crate::appender) fn plain_path(&self, path: PathBuf) -> PathBuf {
        let is_packed = path != self.base && path.extension().is_some_and(|end| end == &PACKED[1..]);
        if is_packed { path.with_extension("") } else { path }
    }

    /// Removes a file that is not written to any more, compressed or not, durably: no later one goes before it.
    pub(in crate::appender) fn remove(&self, storage: &dyn Storage, number: u64) -> Result<()> {
        // A file without a number is not compressed.
        for path in [self.packed_path(number), self.path(number)].into_iter().skip(usize::from(number == 0)) {
            match storage.remove(&path) {
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                other => other.map_err(|cause| Error::new(Operation::Remove, path, cause))?,
            }
        }
        self.sync_folder(storage)
    }

    /// The number that comes behind another one.
    pub(in crate::appender) fn next(&self, number: u64) -> Result<u64> {
        number.checked_add(1).ok_or_else(|| {
            let cause =
                io::Error::new(io::ErrorKind::InvalidData, "its number is the highest there is: no file can follow");
            Error::new(Operation::Create, self.path(number), cause)
        })
    }

    /// The path with something behind it.
    pub(in crate::appender) fn beside(&self, end: &str) -> PathBuf {
        let mut path = OsString::from(&self.base);
        path.push(end);
        path.into()
    }

    /// The numbers of the files that are there, compressed or not, in order.
    pub(in crate::appender) fn numbers(&self, storage: &dyn Storage) -> Result<Vec<u64>> {
        self.list(storage, |name, base| number_of(packed_of(name).unwrap_or(name), base))
    }

    /// The numbers of the files that are not compressed, in order.
    #[cfg(feature = "zstd")]
    pub(in crate::appender) fn plain_numbers(&self, storage: &dyn Storage) -> Result<Vec<u64>> {
        self.list(storage, number_of)
    }

    fn list(&self, storage: &dyn Storage, number_of: impl Fn(&OsStr, &OsStr) -> Option<u64>) -> Result<Vec<u64>> {
        let folder = self.folder();
        let base = self.base.file_name().expect("it has one");
        let names = storage.list(folder).map_err(|cause| Error::new(Operation::Open, folder, cause))?;
        let number = |name: &OsString| {
            let number = if name == base { Some(0) } else { number_of(name, base) };
            number.filter(|number| self.until.is_none_or(|until| *number < until))
        };
        let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}

/// What a compressed file's name ends in.
const PACKED: &str = ".zst";

/// The name that a compressed file had before.
fn packed_of(name: &OsStr) -> Option<&OsStr> {
    let name = Path::new(name);
    (name.extension()? == &PACKED[1..]).then(|| name.file_stem())?
}

/// Of `events.000003`: 3, if `base` is `events`.
fn number_of(name: &OsStr, base: &OsStr) -> Option<u64> {
    let number = name.as_encoded_bytes().strip_prefix(base.as_encoded_bytes())?.strip_prefix(b".")?;
    let is_ours = number.len() >= 6 && number.iter().all(u8::is_ascii_digit);
    // Each number has one spelling: `events.0000009` is another program's file. All names are read for each new file,
    // so nothing is allocated here.
    let is_spelled_so = number.len() == 6 || number.first() != Some(&b'0');
    let number: u64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    (is_ours && is_spelled_so && number > 0).then_some(number)
}

/// The folder that has the file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits_or_more_and_nothing_else() {
        for (name, number) in [
            ("events.000001", Some(1)),
            ("events.1000000", Some(1_000_000)),
            ("events.000000", None),
            ("events.00001", None),
            ("events.0000001", None),
            ("events.18446744073709551615", Some(u64::MAX)),
            ("events.18446744073709551616", None),
            ("events.00000a", None),
            ("events.new", None),
            ("events", None),
            ("other.000001", None),
        ] {
            assert_eq!(number_of(OsStr::new(name), OsStr::new("events")), number, "{name}");
        }
    }
}
