//! [`Destination`]: where the bytes of an archive go, and how it gets its name.
//!
//! An archive is written beside its name, as a [`Partial`].

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use manyfiles::close::Closer;
use manyfiles::sync::{sync_all, sync_folder};
use manyfiles::{Error, Operation, Result};

use super::partial::Partial;
use crate::sys;

pub(super) enum Destination {
    /// A file that is written beside its name.
    Beside(Beside),
    /// A FIFO, which is opened when the first bytes are there: by then its reader may have come.
    Fifo(Fifo),
    /// A device, or a stream that was given.
    Stream { stream: Box<dyn Write + Send>, name: PathBuf },
}

pub(super) struct Fifo {
    file: Option<File>,
    path: PathBuf,
}

/// Whether the bytes are still wanted: asked while a write waits.
pub(super) type IsWanted<'a> = &'a dyn Fn() -> bool;

pub(super) struct Beside {
    /// Is closed before `partial` removes it.
    file: File,
    partial: Partial,
    target: PathBuf,
    replace: bool,
    durable: bool,
}

impl Destination {
    pub(super) fn create(path: &Path, replace: bool, durable: bool) -> Result<Destination> {
        let error = |error| Error::new(Operation::Create, path, error);
        let there = fs::metadata(path);
        match &there {
            Ok(there) if there.is_dir() => {
                return Err(error(io::Error::new(io::ErrorKind::IsADirectory, "a folder has this name")));
            }
            // By the path as it is: what links as /dev/stdout say has no other.
            Ok(there) if sys::is_fifo(there) => {
                return Ok(Destination::Fifo(Fifo { file: None, path: path.to_path_buf() }));
            }
            Ok(there) if !there.is_file() => {
                let file = File::options().write(true).open(path).map_err(error)?;
                return Ok(Destination::Stream { stream: Box::new(file), name: path.to_path_buf() });
            }
            Ok(_) if !replace => return Err(error(is_there())),
            // Such as a name that is too long, which would be told at the end only: the other name is shorter.
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                let code = cause.raw_os_error();
                return Err(error(code.map_or_else(|| cause.kind().into(), io::Error::from_raw_os_error)));
            }
            _ if !is_name_of_file(path) => {
                let why = "it ends as the name of a folder does";
                return Err(error(io::Error::new(io::ErrorKind::InvalidInput, why)));
            }
            _ => {}
        }
        // A link to the archive stays: what it leads to is replaced.
        let target = match fs::symlink_metadata(path) {
            Ok(there) if there.is_symlink() => fs::canonicalize(path).map_err(error)?,
            _ => path.to_path_buf(),
        };
        match &there {
            Err(_) if is_missing(folder_of(&target)) => {
                let why = format!("the folder {} is not there", folder_of(&target).display());
                return Err(error(io::Error::new(io::ErrorKind::NotFound, why)));
            }
            _ => {}
        }
        // What only few may read is not shown to others while it is written.
        let (file, partial) = Partial::create(folder_of(&target), &target, there.ok().as_ref())?;
        Ok(Destination::Beside(Beside { file, partial, target, replace, durable }))
    }

    /// What errors call it.
    fn path(&self) -> &Path {
        match self {
            Destination::Beside(beside) => &beside.target,
            Destination::Fifo(fifo) => &fifo.path,
            Destination::Stream { name, .. } => name,
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], is_wanted: IsWanted) -> Result<()> {
        let written = match self {
            Destination::Beside(beside) => beside.file.write_all(bytes),
            Destination::Fifo(fifo) => fifo.write(bytes, is_wanted),
            Destination::Stream { stream, .. } => stream.write_all(bytes),
        };
        written.map_err(|error| Error::new(Operation::Write, self.path(), error))
    }

    /// The file that is written beside the name.
    pub(super) fn partial(&self) -> Option<&Path> {
        match self {
            Destination::Beside(beside) => Some(beside.partial.path()),
            Destination::Fifo(_) | Destination::Stream { .. } => None,
        }
    }

    /// All is written. `check` is shown the file before it gets its name. What it gives is a failure that came after
    /// that.
    pub(super) fn finish(self, check: impl FnOnce(&Path) -> Result<()>) -> Result<Option<Error>> {
        match self {
            Destination::Beside(beside) => beside.finish(check),
            Destination::Stream { mut stream, name } => {
                stream.flush().map_err(|error| Error::new(Operation::Write, name, error))?;
                Ok(None)
            }
            Destination::Fifo(_) => Ok(None),
        }
    }
}

impl Fifo {
    /// Waits for a reader, and for room, as long as the bytes are wanted.
    fn write(&mut self, mut bytes: &[u8], is_wanted: IsWanted) -> io::Result<()> {
        const LOOK_UP: Duration = Duration::from_millis(20);
        while !bytes.is_empty() {
            if !is_wanted() {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
            }
            match &self.file {
                Some(file) => bytes = &bytes[sys::write_within(file, LOOK_UP, bytes)?..],
                None => {
                    self.file = sys::open_fifo(&self.path)?;
                    if self.file.is_none() {
                        thread::sleep(LOOK_UP);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Beside {
    fn finish(self, check: impl FnOnce(&Path) -> Result<()>) -> Result<Option<Error>> {
        // The last one is dropped first: an error on the way closes the file, and removes it then.
        let Beside { mut partial, target, replace, durable, file } = self;
        if let Ok(there) = fs::metadata(&target) {
            // Rights are not as important as the archive: where they cannot be set, it has those of a new file.
            drop(file.set_permissions(there.permissions()));
        }
        if durable {
            sync_all(&file)
                .map_err(|error| Error::new(Operation::Sync, &target, io::Error::new(error.kind(), error)))?;
        }
        let own = file.metadata().map_err(|error| Error::new(Operation::Metadata, partial.path(), error))?;
        let closer = Closer::new();
        closer.close_at(file, &target);
        if let Err(errors) = closer.wait() {
            return Err(errors.into_iter().next().expect("there is at least one"));
        }
        check(partial.path())?;
        match fs::symlink_metadata(partial.path()) {
            Ok(there) if sys::is_same_file(&own, &there) => {}
            // It is another's: it stays.
            Ok(_) => {
                partial.is_another_s();
                let why = "another program has put a file in the place of the one that was written";
                return Err(Error::new(Operation::Rename, partial.path(), io::Error::other(why)));
            }
            Err(error) => return Err(Error::new(Operation::Rename, partial.path(), error)),
        }
        // A system that tells an error of writing late may tell it by any handle of the file.
        if let Some(hold) = give_name(partial, &target, replace)? {
            closer.close_at(hold, &target);
        }
        if let Some(error) = closer.wait().err().and_then(|errors| errors.into_iter().next()) {
            let why = format!("the archive has its name, but some of its bytes may be missing: {}", error.io_error());
            return Ok(Some(Error::new(Operation::Close, &target, io::Error::new(error.kind(), why))));
        }
        let synced = if durable { sync_folder(folder_of(&target)) } else { Ok(()) };
        Ok(synced.err().map(|error| {
            let why = format!("the archive is there, but a power cut may take it: {}", error.io_error());
            Error::new(Operation::Sync, folder_of(&target), io::Error::new(error.kind(), why))
        }))
    }
}

/// Whether a file can have this path: not if it ends in a slash or in dots.
fn is_name_of_file(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.as_encoded_bytes());
    name.is_some_and(|name| path.as_os_str().as_encoded_bytes().ends_with(name))
}

fn is_missing(path: &Path) -> bool {
    matches!(fs::metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

fn is_there() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "a file of this name is there")
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives the archive its name. Nothing that has come there meanwhile is replaced unless it may be. Returns what held the
/// file.
fn give_name(mut partial: Partial, target: &Path, replace: bool) -> Result<Option<File>> {
    let error = |error| Error::new(Operation::Rename, target, error);
    if !replace {
        match sys::rename_new(partial.path(), target) {
            Ok(()) => return Ok(partial.has_its_name()),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Err(error(is_there())),
            // A file system, or an operating system, that cannot do it at once.
            Err(_) => {}
        }
        match fs::hard_link(partial.path(), target) {
            Ok(()) => return Ok(partial.remove()),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Err(error(is_there())),
            // A file system without hard links.
            Err(_) if fs::symlink_metadata(target).is_ok() => {
                return Err(error(is_there()));
            }
            Err(_) => {}
        }
    }
    // On Windows another run, or a scanner, may have the old archive open for a moment.
    manyfiles::fs::rename(partial.path(), target).map_err(error)?;
    Ok(partial.has_its_name())
}
