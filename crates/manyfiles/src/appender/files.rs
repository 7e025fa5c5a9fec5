//! [`Files`]: the file that is written to, and the next ones.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::appender::Recovery;
use super::frame::{self, HEADER};
use super::options::Options;
use super::scan::{Break, Found, Scanner, Start};
use super::storage::{Storage, StoredFile};
use crate::{Error, Operation, Result};

/// The file that is written to.
pub(super) struct Files {
    storage: Arc<dyn Storage>,
    /// The path without a number, and the file's number, where files are rotated.
    numbered: Option<(PathBuf, u64)>,
    path: PathBuf,
    framed: bool,
    /// `None` when it is closed.
    file: Option<Box<dyn StoredFile>>,
}

/// Where appending goes on.
pub(super) struct Beginning {
    pub(super) salt: Option<u32>,
    pub(super) end: u64,
    pub(super) age: Duration,
    pub(super) recovery: Recovery,
}

impl Files {
    /// Opens the file, or makes it; see [`Options::open`].
    pub(super) fn open(
        path: &Path,
        options: &Options,
        storage: Arc<dyn Storage>,
        salt: u32,
    ) -> Result<(Files, Beginning)> {
        let error = |cause| Error::new(Operation::Open, path, cause);
        // Rotating must find the folder whatever the process does with its working directory.
        let path = std::path::absolute(path).map_err(error)?;
        let numbered = match options.rotates() {
            true => Some((path.clone(), highest(&*storage, &path)?.unwrap_or(1))),
            false => None,
        };
        let path = numbered.as_ref().map_or(path, |(base, number)| numbered_path(base, *number));
        let mut files = Files { storage, numbered, path, framed: options.framed, file: None };
        let (file, is_new) = files.open_or_create()?;
        files.file = Some(file);
        let beginning = if is_new { files.begin(salt)? } else { files.go_on(salt)? };
        // If it was there already: whoever made it may have been killed before doing this.
        files.sync_folder()?;
        Ok((files, beginning))
    }

    fn open_or_create(&self) -> Result<(Box<dyn StoredFile>, bool)> {
        match self.storage.open(&self.path) {
            Ok(file) => {
                if let Some((base, number)) = &self.numbered
                    && highest(&*self.storage, base)? != Some(*number)
                {
                    let cause =
                        io::Error::new(io::ErrorKind::ResourceBusy, "another appender has just begun a new file");
                    return Err(self.error(Operation::Open, cause));
                }
                Ok((file, false))
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                let made = self.storage.create(&self.path);
                made.map(|file| (file, true)).map_err(|cause| self.error(Operation::Create, cause))
            }
            Err(cause) => Err(self.error(Operation::Open, cause)),
        }
    }

    /// Writes what a new file begins with, and makes that durable: a file with records in it has a whole header.
    fn begin(&self, salt: u32) -> Result<Beginning> {
        let end = if self.framed {
            self.write(&frame::header(salt), 0)?;
            HEADER as u64
        } else {
            0
        };
        self.sync()?;
        let salt = self.framed.then_some(salt);
        Ok(Beginning { salt, end, age: Duration::ZERO, recovery: Recovery::default() })
    }

    /// Finds the end of a file that was there, and repairs it.
    fn go_on(&self, salt: u32) -> Result<Beginning> {
        let file = self.file(Operation::Open)?;
        let open = |cause| self.error(Operation::Open, cause);
        let read = |cause| self.error(Operation::Read, cause);
        let len = file.len().map_err(open)?;
        let age = file.age().map_err(open)?;
        if !self.framed {
            return Ok(Beginning { salt: None, end: len, age, recovery: Recovery::default() });
        }
        let salt = match Scanner::start(file, len).map_err(read)? {
            Start::Salt(salt) => salt,
            Start::Unfinished => {
                file.set_len(0).map_err(|cause| self.error(Operation::Write, cause))?;
                return self.begin(salt);
            }
            Start::Foreign => {
                let message = "it does not begin as a file of framed records does; nothing was changed";
                return Err(open(io::Error::new(io::ErrorKind::InvalidData, message)));
            }
        };
        let mut scanner = Scanner::new(salt, len);
        let mut records = 0;
        loop {
            match scanner.next(file).map_err(read)? {
                Found::Record(_) => records += 1,
                Found::End => break,
                Found::Broken => match scanner.explain(file).map_err(read)? {
                    Break::Torn => break,
                    Break::Damaged { until } => {
                        let damage = super::Damage { offset: scanner.position(), bytes: until - scanner.position() };
                        return Err(open(io::Error::new(io::ErrorKind::InvalidData, damage)));
                    }
                },
            }
        }
        let end = scanner.position();
        if end < len {
            // Durable before anything is appended: what was cut off must not come back behind it.
            file.set_len(end).map_err(|cause| self.error(Operation::Write, cause))?;
            self.sync()?;
        }
        Ok(Beginning { salt: Some(salt), end, age, recovery: Recovery { records, torn_bytes: len - end } })
    }

    /// Leaves the file, which must be durable, for a new one.
    pub(super) fn rotate(&mut self, salt: u32) -> Result<()> {
        let (base, number) = self.numbered.as_mut().expect("only files with numbers are rotated");
        let path = numbered_path(base, *number + 1);
        // While the old one is open nobody else takes it for the last one.
        let file = self.storage.create(&path).map_err(|cause| Error::new(Operation::Create, &*path, cause))?;
        *number += 1;
        let old_path = std::mem::replace(&mut self.path, path);
        let old = self.file.replace(file);
        self.begin(salt)?;
        self.sync_folder()?;
        old.map_or(Ok(()), |old| old.close()).map_err(|cause| Error::new(Operation::Close, old_path, cause))
    }

    /// Writes all of it. On failure the file is cut back to where it ended before.
    pub(super) fn write(&self, mut bytes: &[u8], mut offset: u64) -> Result<()> {
        let begin = offset;
        while !bytes.is_empty() {
            let written = match self.file(Operation::Write)?.write_at(bytes, offset) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                other => other,
            };
            match written {
                Ok(n) => {
                    bytes = &bytes[n..];
                    offset += n as u64;
                }
                Err(cause) => {
                    self.cut_back(begin);
                    return Err(self.error(Operation::Write, cause));
                }
            }
        }
        Ok(())
    }

    /// Half a record must not stay. Where it can't be cut off either, the first error says more; a framed file is repaired when it
    /// is opened next.
    pub(super) fn cut_back(&self, len: u64) {
        if let Some(file) = &self.file {
            file.set_len(len).unwrap_or(());
        }
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.file(Operation::Sync)?.sync().map_err(|cause| self.error(Operation::Sync, cause))
    }

    fn sync_folder(&self) -> Result<()> {
        let folder = folder_of(&self.path);
        self.storage.sync_folder(folder).map_err(|cause| Error::new(Operation::Sync, folder, cause))
    }

    /// Closes the file, once.
    pub(super) fn close(&mut self) -> Result<()> {
        self.file.take().map_or(Ok(()), |file| file.close()).map_err(|cause| self.error(Operation::Close, cause))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// It is closed when everything is durable, or something has failed: then a thread may still come with what it was about
    /// to do, and its error comes too late to be told.
    fn file(&self, operation: Operation) -> Result<&dyn StoredFile> {
        let closed = || self.error(operation, io::Error::other("it is closed"));
        self.file.as_deref().ok_or_else(closed)
    }

    fn error(&self, operation: Operation, cause: io::Error) -> Error {
        Error::new(operation, &*self.path, cause)
    }
}

/// `events` and 3: `events.000003`.
pub(super) fn numbered_path(base: &Path, number: u64) -> PathBuf {
    let mut path = OsString::from(base);
    path.push(format!(".{number:06}"));
    path.into()
}

/// Of `events.000003`: 3, if `base` is `events`.
pub(super) fn number_of(name: &OsStr, base: &OsStr) -> Option<u64> {
    let number = name.as_encoded_bytes().strip_prefix(base.as_encoded_bytes())?.strip_prefix(b".")?;
    let is_ours = number.len() >= 6 && number.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(number).ok()?.parse().ok()?;
    (is_ours && number > 0).then_some(number)
}

/// The folder that has the file.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The highest number that files of this base have.
fn highest(storage: &dyn Storage, base: &Path) -> Result<Option<u64>> {
    let folder = folder_of(base);
    let name = base.file_name().ok_or_else(|| {
        Error::new(Operation::Open, base, io::Error::new(io::ErrorKind::InvalidInput, "a file's path ends in its name"))
    })?;
    let names = storage.list(folder).map_err(|cause| Error::new(Operation::Open, folder, cause))?;
    if names.iter().any(|other| other == name) {
        let message = "there is something of that name already, and rotated files have a number behind it";
        return Err(Error::new(Operation::Create, base, io::Error::new(io::ErrorKind::AlreadyExists, message)));
    }
    Ok(names.iter().filter_map(|other| number_of(other, name)).max())
}
