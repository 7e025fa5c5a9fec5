//! What is written to: a file at a place of one's own choice, a file at its end, or anything that takes bytes.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use crate::close::Closer;
use crate::{Error, Operation, Result, sys};

/// Where the bytes go. Every call here reaches the operating system, and says exactly once how it went.
pub(super) struct Target {
    kind: Kind,
    path: Option<Arc<Path>>,
    /// The file may be new: until its folder is synced its name may not be durable.
    name_is_new: bool,
    /// The end of what was reserved, to be given back.
    reserved: Option<u64>,
}

pub(super) enum Kind {
    /// Written at offsets; the file's own position means nothing.
    At(File),
    /// Written at its end, or a pipe, a terminal, a device: there is one place to write.
    Next(File),
    /// Not a file of ours.
    Any(Box<dyn Write + Send>),
}

impl Target {
    pub(super) fn new(kind: Kind, path: Option<Arc<Path>>, name_is_new: bool) -> Target {
        Target { kind, path, name_is_new, reserved: None }
    }

    pub(super) fn path(&self) -> Option<&Arc<Path>> {
        self.path.as_ref()
    }

    fn error(&self, operation: Operation, cause: io::Error) -> Error {
        super::error(operation, self.path.as_deref(), cause)
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
        let (Kind::At(file) | Kind::Next(file)) = &self.kind else { return Ok(0) };
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
    pub(super) fn write_all(&mut self, mut bytes: &[u8], offset: u64, written: &mut u64) -> Result<()> {
        let mut done = 0;
        while !bytes.is_empty() {
            match self.write(bytes, offset + done) {
                Ok(0) => {
                    let cause = io::Error::new(io::ErrorKind::WriteZero, "no byte was taken, and no reason given");
                    return Err(self.error(Operation::Write, cause));
                }
                Ok(n) => {
                    bytes = &bytes[n.min(bytes.len())..];
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
    pub(super) fn sync(&mut self) -> Result<()> {
        let (Kind::At(file) | Kind::Next(file)) = &self.kind else { return Ok(()) };
        sys::sync_data(file).map_err(|cause| self.error(Operation::Sync, cause))?;
        if let Some(path) = self.path.as_deref().filter(|_| self.name_is_new) {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            match sys::sync_folder(folder) {
                Ok(()) => {}
                // Somebody has moved the folder meanwhile. Where names are now is for whoever moved it to sync.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(Error::new(Operation::Sync, folder, cause)),
            }
            self.name_is_new = false;
        }
        Ok(())
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
    pub(super) fn close(self) -> Result<()> {
        let Target { kind, path, .. } = self;
        match kind {
            Kind::At(file) | Kind::Next(file) => {
                sys::close(file.into()).map_err(|cause| super::error(Operation::Close, path.as_deref(), cause))
            }
            Kind::Any(any) => {
                drop(any);
                Ok(())
            }
        }
    }

    /// Lets somebody else close, who keeps the error.
    pub(super) fn hand_to(self, closer: &Closer) {
        match (self.kind, self.path) {
            (Kind::At(file) | Kind::Next(file), Some(path)) => closer.close_at(file, &*path),
            (Kind::At(file) | Kind::Next(file), None) => closer.close(file),
            (Kind::Any(any), _) => closer.close(any),
        }
    }
}
