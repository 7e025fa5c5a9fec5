//! What is written to: a file at a place of one's own choice, a file at its end, or anything that takes bytes.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::output::Output;
use crate::close::Closer;
use crate::sync::{doubt, sync_name};
use crate::{Error, Operation, Result, sys};

/// Where the bytes go. Every call here reaches the operating system, and says exactly once how it went.
pub(crate) struct Target {
    kind: Kind,
    path: Option<Arc<Path>>,
    /// The same, if the path is relative, from the folder that was current when the file was opened.
    absolute: Option<PathBuf>,
    /// The file may be new: until its folder is synced its name may not be durable.
    name_is_new: bool,
    /// The end of what was reserved, to be given back.
    reserved: Option<u64>,
    /// Nothing was in the file when it was opened.
    was_empty: bool,
}

pub(crate) enum Kind {
    /// Written at offsets; the file's own position means nothing.
    At(File),
    /// Written at its end, or a pipe, a terminal, a device: there is one place to write.
    Next(File),
    /// Not a file of ours.
    Any(Box<dyn Write + Send>),
    /// What a backend has opened. Its errors may be this crate's own already.
    Backend(Box<dyn Output>),
}

impl Target {
    /// What has no name that could become durable, or none that is new.
    pub(crate) fn new(kind: Kind, path: Option<Arc<Path>>) -> Target {
        Target { kind, path, absolute: None, name_is_new: false, reserved: None, was_empty: false }
    }

    /// A file that was opened by its path a moment ago, and perhaps made by that.
    pub(crate) fn file(kind: Kind, path: Arc<Path>, may_be_new: bool) -> Target {
        // Where no current folder can be found, the file itself still knows its path when it is asked.
        let absolute = if path.is_absolute() { None } else { std::path::absolute(&path).ok() };
        let mut target = Target { absolute, name_is_new: may_be_new, ..Target::new(kind, Some(path)) };
        if let Kind::At(file) | Kind::Next(file) = &target.kind
            && file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
        {
            target.was_empty = true;
            doubt::forget(file);
        }
        target
    }

    pub(crate) fn path(&self) -> Option<&Arc<Path>> {
        self.path.as_ref()
    }

    fn error(&self, operation: Operation, cause: io::Error) -> Error {
        error(operation, self.path.as_deref(), cause)
    }

    /// Has to come before the first write, so that what is synced later can be trusted.
    ///
    /// Another process, or this program before a restart, may have written the end of the file, and its sync may have
    /// failed. Nothing on the disk says so; but the page cache still has those bytes, takes them for written, and on
    /// ext4 never writes the block that they are in, whatever is appended to it and synced. What is read anew from the
    /// disk has no such past.
    pub(crate) fn start_from_disk(&self, offset: u64) {
        if let Some(file) = self.as_file().filter(|_| !self.was_empty) {
            let end = file.metadata().map_or(0, |metadata| metadata.len());
            sys::forget_cached(file, if self.has_places() { offset } else { end });
        }
    }

    fn as_file(&self) -> Option<&File> {
        match &self.kind {
            Kind::At(file) | Kind::Next(file) => Some(file),
            _ => None,
        }
    }

    /// How many names the file has now. `None`: that cannot be told.
    pub(crate) fn names(&self) -> Option<u64> {
        match &self.kind {
            Kind::At(file) | Kind::Next(file) => sys::names_of(file).ok(),
            Kind::Backend(output) => output.names(),
            Kind::Any(_) => None,
        }
    }

    /// Whether bytes go to the place that is named, and not only behind one another.
    pub(super) fn has_places(&self) -> bool {
        matches!(self.kind, Kind::At(_))
    }

    /// Whether records shall not be cut where a block is full: others may write between two calls.
    pub(super) fn keeps_records_whole(&self) -> bool {
        matches!(self.kind, Kind::Next(_))
    }

    pub(super) fn can_sync(&self) -> bool {
        !matches!(self.kind, Kind::Any(_))
    }

    /// How long the file is.
    pub(super) fn len(&self) -> Result<u64> {
        let Some(file) = self.as_file() else { return Ok(0) };
        let metadata = file.metadata().map_err(|cause| self.error(Operation::Seek, cause))?;
        Ok(metadata.len())
    }

    /// Reserves room up to `end`. Where that is not possible the file works all the same; a full disk is an error.
    pub(super) fn reserve(&mut self, offset: u64, end: u64) -> Result<()> {
        let Kind::At(file) = &self.kind else { return Ok(()) };
        let Some(len) = end.checked_sub(offset).filter(|&len| len > 0) else { return Ok(()) };
        match sys::preallocate(file, offset, len) {
            Ok(true) => self.reserved = Some(end),
            Ok(false) => {}
            Err(cause) => return Err(self.error(Operation::Preallocate, cause)),
        }
        Ok(())
    }

    /// Writes all of `bytes`, at `offset` if there are places. `written` counts what the system took, if it failed too.
    pub(crate) fn write_all(&mut self, mut bytes: &[u8], offset: u64, written: &mut u64) -> Result<()> {
        if let Kind::Backend(output) = &mut self.kind {
            output.write(bytes).map_err(|cause| error(Operation::Write, self.path.as_deref(), cause))?;
            *written += bytes.len() as u64;
            return Ok(());
        }
        let mut done = 0;
        while !bytes.is_empty() {
            match self.write(bytes, offset + done) {
                Ok(0) => {
                    let cause = io::Error::new(io::ErrorKind::WriteZero, "no byte was taken, and no reason given");
                    return Err(self.error(Operation::Write, cause));
                }
                Ok(n) if n > bytes.len() => {
                    let cause =
                        io::Error::other("more bytes are said to be taken than were given; how many is not known");
                    return Err(self.error(Operation::Write, cause));
                }
                Ok(n) => {
                    bytes = &bytes[n..];
                    done += n as u64;
                    *written += n as u64;
                }
                // Nothing was written, and nothing is lost by trying again.
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(self.error(Operation::Write, cause)),
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match &mut self.kind {
            Kind::At(file) => sys::write_at(file, bytes, offset),
            Kind::Next(file) => file.write(bytes),
            Kind::Any(any) => any.write(bytes),
            Kind::Backend(_) => unreachable!("a backend's output takes all at once, where this is called"),
        }
    }

    /// Passes on what something in between has kept.
    pub(super) fn flush(&mut self) -> Result<()> {
        let Kind::Any(any) = &mut self.kind else { return Ok(()) };
        loop {
            match any.flush() {
                Ok(()) => return Ok(()),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(self.error(Operation::Write, cause)),
            }
        }
    }

    /// Makes what was written durable, and the name of a file that may be new.
    pub(crate) fn sync(&mut self) -> Result<()> {
        if let Kind::Backend(output) = &mut self.kind {
            return output.sync().map_err(|cause| error(Operation::Sync, self.path.as_deref(), cause));
        }
        let Some(file) = self.as_file() else { return Ok(()) };
        doubt::check(file, self.was_empty).map_err(|cause| self.error(Operation::Sync, cause))?;
        sys::sync_data(file).map_err(|cause| {
            let error = self.error(Operation::Sync, cause);
            doubt::note(file, &error);
            error
        })?;
        if let Some(path) = self.absolute.as_deref().or(self.path.as_deref()).filter(|_| self.name_is_new) {
            sync_name(file, path)?;
            self.name_is_new = false;
        }
        Ok(())
    }

    /// Cuts or lengthens the file.
    pub(super) fn set_len(&mut self, len: u64) -> Result<()> {
        let Some(file) = self.as_file() else {
            return Err(self.error(Operation::Write, super::not_a_file()));
        };
        file.set_len(len).map_err(|cause| self.error(Operation::Write, cause))?;
        if len == 0 {
            doubt::forget(file);
            self.was_empty = true;
        }
        Ok(())
    }

    /// The file itself.
    pub(super) fn into_file(self) -> Option<File> {
        match self.kind {
            Kind::At(file) | Kind::Next(file) => Some(file),
            _ => None,
        }
    }

    /// Reads what is in the file, by a second handle: this one need not be open to be read.
    pub(super) fn open_again(&self) -> Result<File> {
        let Some(file) = self.as_file() else {
            return Err(self.error(Operation::Read, super::not_a_file()));
        };
        let open = || {
            let path = sys::path_of(file);
            let path = path.as_deref().or(self.path.as_deref()).ok_or(io::ErrorKind::NotFound)?;
            let again = File::open(path)?;
            if sys::identity_of(&again)? == sys::identity_of(file)? {
                return Ok(again);
            }
            Err(io::Error::new(io::ErrorKind::NotFound, "the path leads to another file by now"))
        };
        open().map_err(|cause| self.error(Operation::Read, cause))
    }

    /// Gives back what was reserved and not used.
    pub(super) fn give_back(&mut self) -> Result<()> {
        let (Kind::At(file), Some(end)) = (&self.kind, self.reserved.take()) else { return Ok(()) };
        let cut = || {
            let len = file.metadata()?.len();
            if len < end { file.set_len(len) } else { Ok(()) }
        };
        cut().map_err(|cause| self.error(Operation::Write, cause))
    }

    /// Closes, and says how that went.
    pub(crate) fn close(self) -> Result<()> {
        let Target { kind, path, absolute, .. } = self;
        let is_file = matches!(kind, Kind::At(_) | Kind::Next(_));
        let closed = match kind {
            Kind::At(file) | Kind::Next(file) => sys::close(file.into()),
            Kind::Any(any) => {
                drop(any);
                Ok(())
            }
            Kind::Backend(output) => output.close(),
        };
        closed.map_err(|cause| {
            let error = error(Operation::Close, path.as_deref(), cause);
            if let Some(path) = absolute.as_deref().or(path.as_deref()).filter(|_| is_file) {
                doubt::note_at(path, &error);
            }
            error
        })
    }

    /// Hands the file to `closer`, which closes it and keeps the error.
    pub(super) fn hand_to(self, closer: &Closer) {
        match (self.kind, self.path) {
            (Kind::At(file) | Kind::Next(file), Some(path)) => closer.close_at(file, &*path),
            (Kind::At(file) | Kind::Next(file), None) => closer.close(file),
            (Kind::Any(any), _) => closer.close(any),
            // The owner of a backend's writer closes it, and keeps its error.
            (Kind::Backend(output), _) => drop(output),
        }
    }
}

/// What the writer of another file, or a folder, says is said already.
fn error(operation: Operation, path: Option<&Path>, cause: io::Error) -> Error {
    match cause.downcast::<Error>() {
        Ok(error) => error,
        Err(cause) => super::error(operation, path, cause),
    }
}
