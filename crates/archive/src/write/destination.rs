//! [`Destination`]: where the bytes of an archive go, and how it gets its name.
//!
//! An archive is written beside its name, as `.NAME.partial`, which is locked while it is written. A run that was
//! killed leaves that file without a lock. The next run that writes this archive removes it. Two runs that write one
//! archive at the same time are told.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use manyfiles::close::Closer;
use manyfiles::sync::{sync_all, sync_folder};
use manyfiles::{Error, Operation, Result};

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
    file: File,
    /// Holds the lock while the file is written, closed and renamed.
    lock: Option<File>,
    partial: Partial,
    target: PathBuf,
    replace: bool,
    durable: bool,
}

/// The name of a file that is not complete. It is removed when this is dropped, unless it has got its name.
struct Partial {
    path: PathBuf,
    is_done: bool,
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_done {
            // What cannot be removed is removed by the next run.
            drop(fs::remove_file(&self.path));
        }
    }
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
        let partial = partial_name(&target);
        // What only few may read is not shown to others while it is written.
        let (file, lock) = create_partial(&partial, &target, there.ok().as_ref())?;
        let partial = Partial { path: partial, is_done: false };
        Ok(Destination::Beside(Beside { file, lock, partial, target, replace, durable }))
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
            Destination::Beside(beside) => Some(&beside.partial.path),
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
        let Beside { file, lock, mut partial, target, replace, durable } = self;
        if let Ok(there) = fs::metadata(&target) {
            // Rights are not as important as the archive: where they cannot be set, it has those of a new file.
            drop(file.set_permissions(there.permissions()));
        }
        if durable {
            sync_all(&file)
                .map_err(|error| Error::new(Operation::Sync, &target, io::Error::new(error.kind(), error)))?;
        }
        let own = file.metadata().map_err(|error| Error::new(Operation::Metadata, &partial.path, error))?;
        let closer = Closer::new();
        closer.close_at(file, &target);
        if let Err(errors) = closer.wait() {
            return Err(errors.into_iter().next().expect("there is at least one"));
        }
        check(&partial.path)?;
        match fs::symlink_metadata(&partial.path) {
            Ok(there) if sys::is_same_file(&own, &there) => {}
            // It is another's: it stays.
            Ok(_) => {
                partial.is_done = true;
                let why = "another program has put a file in the place of the one that was written";
                return Err(Error::new(Operation::Rename, &partial.path, io::Error::other(why)));
            }
            Err(error) => return Err(Error::new(Operation::Rename, &partial.path, error)),
        }
        give_name(&partial.path, &target, replace)?;
        partial.is_done = true;
        // A system that tells an error of writing late may tell it by any handle of the file.
        if let Some(lock) = lock {
            closer.close_at(lock, &target);
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

/// `.NAME.partial`, or a shorter name where that would be too long.
fn partial_name(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().filter(|name| name.len() < 240).unwrap_or("manyfiles".as_ref()));
    name.push(".partial");
    folder_of(target).join(name)
}

/// Makes the file, and locks it. One that a killed run has left is removed. The lock has a handle of its own, which
/// only reads: what closing says of the bytes comes by the other one.
fn create_partial(path: &Path, target: &Path, replaced: Option<&Metadata>) -> Result<(File, Option<File>)> {
    let error = |error| Error::new(Operation::Create, path, error);
    for _ in 0..100 {
        match sys::create_like(replaced).read(true).write(true).create_new(true).open(path) {
            Ok(file) => {
                match lock_new(&file, path) {
                    Ok(Some(lock)) => return Ok((file, lock)),
                    Ok(None) => {}
                    Err(cause) => {
                        // It was made a moment ago. What cannot be removed is removed by the next run.
                        drop(fs::remove_file(path));
                        return Err(error(cause));
                    }
                }
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => remove_left(path, target)?,
            Err(cause) => return Err(error(cause)),
        }
    }
    Err(error(io::Error::other("another program makes this file again and again")))
}

/// Locks a file that was just made. `None`: another run has taken it for one that was left, in the moment before, and
/// removes it. Where the file system has no locks there is none: there two runs at once are not told, but neither gives
/// the other's file its name.
fn lock_new(file: &File, path: &Path) -> io::Result<Option<Option<File>>> {
    // On Windows a lock keeps all other handles from writing: there it is that of the file itself, and ends when that
    // is closed.
    let (locked, lock) = match cfg!(windows) {
        true => (file.try_lock(), None),
        false => match sys::open_source(path) {
            Ok(lock) => (lock.try_lock(), Some(lock)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => (Err(TryLockError::Error(cause)), None),
        },
    };
    match locked {
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(_)) => Ok(Some(None)),
        Ok(()) => Ok(is_at(file, path)?.then_some(lock)),
    }
}

/// Whether the path leads to this file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(sys::is_same_file(&file.metadata()?, &there)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// Removes what a killed run has left, if it is surely that. What is gone meanwhile is none of it.
fn remove_left(path: &Path, target: &Path) -> Result<()> {
    let error = |why: String| Error::new(Operation::Create, path, io::Error::new(io::ErrorKind::AlreadyExists, why));
    let not_ours = || error("something that is not this program's has this name; remove it".into());
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(Error::new(Operation::Metadata, path, cause)),
    };
    // A run that is killed between two steps of `give_name` leaves an archive that has both names.
    let archive = fs::symlink_metadata(target).ok();
    if !there.is_file() || !sys::is_own(&there, archive.as_ref()) {
        return Err(not_ours());
    }
    let left = match sys::open_source(path) {
        Ok(left) => left,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => return Err(not_ours()),
    };
    match left.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(error("another run is writing this archive just now".into()));
        }
        Err(TryLockError::Error(cause)) => {
            return Err(error(format!(
                "a run that was killed has left it, or another run is writing it: whether it is locked cannot be told \
                 ({cause}); remove it if no other run is going on"
            )));
        }
    }
    // Who holds the lock of the file that has the name may remove it. A file that has got the name meanwhile is
    // another run's.
    match is_at(&left, path) {
        Ok(true) => {}
        Ok(false) => return Ok(()),
        Err(cause) => return Err(Error::new(Operation::Metadata, path, cause)),
    }
    // Windows removes no file that another handle has locked.
    if cfg!(windows) {
        drop(left.unlock());
    }
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(Error::new(Operation::Remove, path, cause)),
        _ => Ok(()),
    }
}

/// Gives the archive its name. Nothing that has come there meanwhile is replaced unless it may be.
fn give_name(partial: &Path, target: &Path, replace: bool) -> Result<()> {
    let error = |error| Error::new(Operation::Rename, target, error);
    if !replace {
        match sys::rename_new(partial, target) {
            Ok(()) => return Ok(()),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Err(error(is_there())),
            // A file system, or an operating system, that cannot do it at once.
            Err(_) => {}
        }
        match fs::hard_link(partial, target) {
            Ok(()) => {
                // The archive has its name. What cannot be removed is removed by the next run.
                drop(fs::remove_file(partial));
                return Ok(());
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Err(error(is_there())),
            // A file system without hard links.
            Err(_) if fs::symlink_metadata(target).is_ok() => {
                return Err(error(is_there()));
            }
            Err(_) => {}
        }
    }
    fs::rename(partial, target).map_err(error)
}
