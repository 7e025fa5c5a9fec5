//! A handle that is kept between calls, and what is buffered for it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::buffer::{Budget, Share};
use super::file_key::FileKey;
use super::handle_limit::Permit;
use super::{Backend, Identity, Output};
use crate::Result;
use crate::writer::{Core, Kind, Target};

/// How long, in milliseconds, bytes are gathered before a write looks whether the path still leads to the same file,
/// and how old what is buffered gets while more is written. A look costs 0.4 µs on a local file system, a write of 512
/// B into the buffer 0.1: so rarely it does not count, and on a network it may well take a millisecond.
pub(super) const INTERVAL: u64 = 10;

/// One open file, which may have several names: links, hard links, other spellings. Its permit and its part of the
/// memory go with it; it can be neither copied nor used after it is closed.
pub(super) struct KeptHandle {
    core: Core,
    share: Share,
    permit: Permit,
    /// Which file it is. `None`: the backend tells files by their paths, and then a path always leads to its file.
    identity: Option<Identity>,
    /// By the numbers that the index gave them. `None`: a name that was not used since the handle was opened.
    names: Vec<Option<Name>>,
    /// The name that was used last.
    last: usize,
}

/// A name that has led to the file.
struct Name {
    key: FileKey,
    /// Until when a write by this name need not look where it leads.
    until: u64,
    /// How many changes of names this `Vfs` had made at the last look.
    changes: u64,
}

/// The present: a time, and how many changes of names there have been.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) time: u64,
    pub(super) changes: u64,
}

/// Opens the file that a path leads to now.
pub(super) type Open<'a> = &'a dyn Fn(&FileKey) -> Result<Box<dyn Output>>;

impl KeptHandle {
    /// `shown` is how errors name the file.
    pub(super) fn new(output: Box<dyn Output>, shown: &Path, permit: Permit, budget: &Arc<Budget>) -> KeptHandle {
        let identity = output.identity();
        let core = Core::new(Target::new(Kind::Backend(output), Some(shown.into())), 0, 0);
        KeptHandle { core, share: Share::new(budget), permit, identity, names: Vec::new(), last: 0 }
    }

    /// Takes bytes that need nothing but a place in the buffer.
    #[inline]
    pub(super) fn push(&mut self, name: usize, bytes: &[u8], now: Now) -> bool {
        let Some(Some(known)) = self.names.get(name) else { return false };
        // What is buffered was written by one name: if that leads elsewhere one day, it is clear where all of it
        // belongs.
        self.last == name && now.time < known.until && now.changes == known.changes && self.core.push(bytes)
    }

    /// Whether the name leads to this file now. From now on it counts as one of the file's names, if so.
    pub(super) fn is_at(&mut self, name: usize, key: &FileKey, backend: &dyn Backend, now: Now) -> bool {
        let is_at = leads_to(backend, key, self.identity);
        if is_at {
            self.see_at(name, key, now);
        }
        is_at
    }

    /// Notes that the name leads here.
    pub(super) fn see_at(&mut self, name: usize, key: &FileKey, now: Now) {
        if self.names.len() <= name {
            self.names.resize_with(name + 1, || None);
        }
        self.names[name] = Some(Name { key: key.clone(), until: now.time + INTERVAL, changes: now.changes });
    }

    /// Whether the last look at where the name leads is recent.
    pub(super) fn was_just_at(&self, name: usize, now: Now) -> bool {
        let known = self.names.get(name).and_then(Option::as_ref);
        known.is_some_and(|known| now.time < known.until && now.changes == known.changes)
    }

    /// Whether the name that was used last, by which all was written that is buffered, still leads to the file.
    pub(super) fn is_found(&self, backend: &dyn Backend) -> bool {
        let last = self.names.get(self.last).and_then(Option::as_ref);
        last.is_some_and(|name| leads_to(backend, &name.key, self.identity))
    }

    /// Whether what is buffered was written by a name that leads elsewhere now, and not by this one.
    pub(super) fn owes_another(&self, name: usize, backend: &dyn Backend) -> bool {
        self.last != name && self.owes() && !self.is_found(backend)
    }

    /// Takes bytes by a name that leads here: in the buffer if there is room, or writes them.
    pub(super) fn write(&mut self, name: usize, bytes: &[u8]) -> Result<()> {
        self.last = name;
        self.core.begin()?;
        let written = self.take(bytes);
        self.core.end(written)?;
        self.open_buffer();
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        self.core.write_block()?;
        let written = self.core.so_far().bytes;
        if self.share.grow(written) {
            self.core.resize(self.share.bytes());
        }
        // What would fill half the buffer gains nothing by being gathered.
        if bytes.len() > self.share.bytes() / 2 {
            return self.core.write_through(bytes).map(drop);
        }
        self.core.fill(bytes);
        Ok(())
    }

    /// Bytes that go to the output in one piece, and at once.
    pub(super) fn append(&mut self, name: usize, bytes: &[u8]) -> Result<()> {
        self.last = name;
        self.core.begin()?;
        let written = self.core.write_block().and_then(|()| match bytes {
            [] => Ok(()),
            bytes => self.core.write_through(bytes).map(drop),
        });
        self.core.end(written)
    }

    /// Lets records into the buffer, once there is one that is young enough for others to join it.
    fn open_buffer(&mut self) {
        if self.core.is_empty() {
            return self.core.close_buffer();
        }
        let limit = self.share.limit(self.core.so_far().bytes);
        self.core.open_to(limit);
    }

    /// Hands over what is buffered, to this file.
    pub(super) fn write_out(&mut self) -> Result<()> {
        self.core.begin()?;
        let written = self.core.write_out();
        self.core.end(written)
    }

    /// Whether it has taken bytes that are not in the file, or does not know.
    pub(super) fn owes(&self) -> bool {
        !self.core.is_empty()
    }

    /// False if the file has lost the name that it was opened by: its bytes are durable then, and its name may not be.
    pub(super) fn sync(&mut self) -> Result<bool> {
        self.core.begin()?;
        let synced = match self.core.sync() {
            Err(error) if self.identity.is_some() && error.kind() == io::ErrorKind::NotFound => Ok(false),
            synced => synced.map(|()| true),
        };
        let name = *synced.as_ref().unwrap_or(&false);
        self.core.end(synced.map(drop)).map(|()| name)
    }

    /// Writes out and closes. The permit comes back even if that fails.
    ///
    /// If the name used last leads to the file no more, what is buffered goes to the file that it leads to now, which
    /// is created if there is none. Where the folder is gone and the file has a name elsewhere, it was moved with the
    /// folder: then its bytes go with it, as those of an open file do.
    pub(super) fn close(mut self, backend: &dyn Backend, open: Open<'_>) -> (Permit, Result<()>) {
        let begun = self.core.begin();
        let moved = begun.is_ok() && self.owes() && !self.is_found(backend);
        let last = self.names.get(self.last).and_then(Option::as_ref);
        let elsewhere = match last.filter(|_| moved).map(|last| open(&last.key)) {
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound && self.core.names() > Some(0) => None,
            other => other,
        };
        let owed = if elsewhere.is_some() { self.core.take_buffered() } else { Vec::new() };
        let written = begun.and_then(|()| self.core.write_out());
        let closed = self.core.take_target().map_or(Ok(()), Target::close);
        let elsewhere = elsewhere.map_or(Ok(()), |opened| {
            let mut target = Target::new(Kind::Backend(opened?), self.core.path().cloned());
            target.write_all(&owed, 0, &mut 0)?;
            target.close()
        });
        (self.permit, written.and(closed).and(elsewhere))
    }
}

fn leads_to(backend: &dyn Backend, key: &FileKey, identity: Option<Identity>) -> bool {
    match identity {
        Some(identity) => matches!(backend.identity(&key.path), Ok(Some(found)) if found == identity),
        None => true,
    }
}
