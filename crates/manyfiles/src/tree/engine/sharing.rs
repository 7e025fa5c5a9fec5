//! Files that need no bytes of their own: other names of their source. And what the file systems of source and target
//! can share, found out once for each two of them.
//!
//! A hard link shares everything, so nothing may be set of it that the source has not: such a file is copied.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use super::conflict::Entry;
use super::folders::OpenFolder;
use super::lane::Lane;
use super::lock::lock;
use super::make::Making;
use super::name::Name;
use super::piece::BUFFER;
use super::place::Wanted;
use crate::error::Cancelled;
use crate::sys::{self, Dir, EntryKind, Stat, Unable};
use crate::tree::content::{By, Content, Kind, Source};
use crate::tree::digest::RunningDigest;
use crate::tree::{Metadata, OnConflict, Shares};
use crate::{Error, Operation, Result};

/// The numbers of two file systems: a source's and a target's.
pub(super) type Pair = (u64, u64);

/// What files of two file systems can share. `None`: not known yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Can {
    pub(super) clones: Option<bool>,
    pub(super) hard_links: Option<bool>,
}

/// What is known of each pair. Threads that come to a new pair at once find out at once, and find the same.
#[derive(Debug, Default)]
pub(super) struct Pairs(Mutex<HashMap<Pair, Can>>);

impl Pairs {
    pub(super) fn of(&self, pair: Pair) -> Can {
        lock(&self.0).get(&pair).copied().unwrap_or_default()
    }

    /// What became of a clone. That two files cannot says nothing of others.
    pub(super) fn learn_clone(&self, pair: Pair, cloned: std::result::Result<(), Unable>) {
        if cloned != Err(Unable::These) {
            lock(&self.0).entry(pair).or_default().clones = Some(cloned.is_ok());
        }
    }

    fn learn_hard_link(&self, pair: Pair, linked: std::result::Result<(), Unable>) {
        if linked != Err(Unable::These) {
            lock(&self.0).entry(pair).or_default().hard_links = Some(linked.is_ok());
        }
    }
}

impl Lane {
    /// The file systems of a source and of a folder.
    pub(super) fn pair(&self, at: &OpenFolder, source: &Stat) -> io::Result<Pair> {
        let volume = match at.folder.volume.get() {
            Some(&volume) => volume,
            None => {
                let volume = at.dir.stat(OsStr::new("."))?.identity.volume;
                *at.folder.volume.get_or_init(|| volume)
            }
        };
        Ok((source.identity.volume, volume))
    }

    /// Makes the source's file have this name too, or leaves what is there as the policy says. False if the file is to
    /// have its own content; that says what is wrong, if anything is.
    pub(super) fn try_to_share(
        &mut self,
        at: &OpenFolder,
        name: &Name,
        source: &Source,
        metadata: &Metadata,
    ) -> Result<bool> {
        let failed = |cause| Error::new(Operation::Create, at.folder.join(name), cause);
        let Ok(path) = source.absolute() else { return Ok(false) };
        let Ok(stat) = sys::stat_source(path) else { return Ok(false) };
        if stat.kind != EntryKind::File || !self.fits(&stat, metadata) {
            return Ok(false);
        }
        let pair = self.pair(at, &stat).map_err(failed)?;
        if self.shared.pairs.of(pair).hard_links == Some(false) {
            return Ok(false);
        }
        if source.by == By::Link && self.clones(at, pair, &stat, source).map_err(failed)? != Some(false) {
            return Ok(false);
        }
        if self.is_there_already(at, name, (source, &stat), metadata).map_err(failed)? {
            self.counts.skipped += 1;
            return Ok(true);
        }
        self.settle_source(at, name, source)?;
        self.share(at, name, (path, &stat), pair)
    }

    /// Whether all that is given is what the source has.
    fn fits(&self, source: &Stat, metadata: &Metadata) -> bool {
        metadata.mode.is_none_or(|mode| sys::same_permissions(self.wanted(mode), source.mode))
            && metadata.modified.is_none_or(|modified| modified == source.modified)
            && metadata.owner.is_none_or(|owner| owner == source.owner)
            && metadata.accessed.is_none_or(|accessed| accessed == source.accessed)
            && metadata.xattrs.is_empty()
            && metadata.flags.is_none()
    }

    /// Whether what is there, which is the source, is what was asked for.
    pub(super) fn may_stay_shared(&self, wanted: &Wanted<'_>) -> bool {
        match (&wanted.content.0, wanted.source) {
            (Kind::CopyOf(content), Some((_, stat))) => content.may_be_shared() && self.fits(stat, wanted.metadata),
            _ => false,
        }
    }

    /// Whether files of this pair can be cloned; tries with this one if that is not known. `None` if this one doesn't
    /// tell.
    fn clones(&mut self, at: &OpenFolder, pair: Pair, stat: &Stat, source: &Source) -> io::Result<Option<bool>> {
        let known = self.shared.pairs.of(pair).clones;
        // A file of no length can be copied anywhere.
        if known.is_some() || stat.len == 0 {
            return Ok(known);
        }
        let Ok((file, _)) = self.open_source(source) else { return Ok(None) };
        let (trial, temporary) = self.make_temporary(at, |dir, name| dir.create_new(name, 0o600))?;
        let cloned = sys::clone_file(&file, &trial);
        let closed = sys::close(trial);
        at.dir.remove(&temporary)?;
        closed?; // Nothing of it is kept, but where closing fails the next file's may.
        self.shared.pairs.learn_clone(pair, cloned?);
        Ok(self.shared.pairs.of(pair).clones)
    }

    /// Whether the file that has the name stays, because it has the bytes and all that is given.
    fn is_there_already(
        &mut self,
        at: &OpenFolder,
        name: &Name,
        (source, stat): (&Source, &Stat),
        metadata: &Metadata,
    ) -> io::Result<bool> {
        if !matches!(self.shared.options.on_conflict, OnConflict::SkipIdentical) {
            return Ok(false);
        }
        let there = match at.dir.stat(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            there => there?,
        };
        if there.identity == stat.identity {
            return Ok(true);
        }
        let Ok(opened) = self.open_source(source) else { return Ok(false) };
        let content = Content(Kind::CopyOf(source.clone()));
        // What is not given is the source's.
        let metadata = Metadata {
            mode: metadata.mode.or(Some(stat.mode)),
            modified: metadata.modified.or(Some(stat.modified)),
            ..metadata.clone()
        };
        let wanted = Wanted { content: &content, metadata: &metadata, source: Some(&opened) };
        self.is_identical(at, name, &wanted, &there)
    }

    fn share(&mut self, at: &OpenFolder, name: &Name, source: (&Path, &Stat), pair: Pair) -> Result<bool> {
        let (path, stat) = source;
        let unable = Cell::new(None);
        let making = Making {
            operation: Operation::Create,
            entry: &|| Entry::File,
            modified: &|| Ok(Some(stat.modified)),
            make: &|dir, name| dir.link_from(path, name).inspect_err(|error| unable.set(sys::unable_to_link(error))),
            dress: &|dir, name| is_the_source(dir, name, source),
            is_same: &|_, _, there| Ok(there.identity == stat.identity),
            same_is_done: true,
        };
        let made = self.make_named(at, name, &making);
        if let Some(unable) = unable.get() {
            self.shared.pairs.learn_hard_link(pair, Err(unable));
            self.digested = None;
            return Ok(false);
        }
        if !made? {
            return Ok(true); // skipped
        }
        self.shared.pairs.learn_hard_link(pair, Ok(()));
        self.shares = Shares::All;
        self.counts.files += 1;
        self.counts.shared += 1;
        self.counts.bytes += stat.len;
        self.wrote(stat.len as usize);
        Ok(true)
    }

    /// What a file needs that is read or synced nowhere else: the digest of its content, and its way to the disk. Both
    /// are the source's, and come before the name, so that there is nothing to take back.
    fn settle_source(&mut self, at: &OpenFolder, name: &Name, source: &Source) -> Result<()> {
        let failed = |operation, cause| Error::new(operation, at.folder.join(name), cause);
        if let Some(digest) = self.shared.new_digest() {
            let digested = self.digest_of(source, digest).map_err(|cause| failed(Operation::Read, cause))?;
            self.digested = Some(digested);
        }
        let Some(durable) = &self.durable else { return Ok(()) };
        let replaces = at.dir.stat(name).is_ok();
        if !durable.asks_for(&at.folder, replaces) {
            return Ok(());
        }
        let path = source.absolute().map_err(|cause| failed(Operation::Sync, cause))?;
        let file = self.retry_without_kept(|_| sys::open_to_sync(path));
        file.and_then(|file| sys::sync_handle(&file)).map_err(|cause| failed(Operation::Sync, cause))
    }

    fn digest_of(&mut self, source: &Source, mut digest: RunningDigest) -> io::Result<Vec<u8>> {
        let (file, _) = self.open_source(source)?;
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        loop {
            if self.shared.is_cancelled() {
                return Err(io::Error::other(Cancelled));
            }
            match sys::read(&file, &mut self.buffer)? {
                0 => return digest.finish(),
                read => digest.update(&self.buffer[..read]),
            }
        }
    }
}

/// Whether the new name is the source's: another program may have put something else at its path. On overlays a file
/// gets another number when it gets its second name.
fn is_the_source(dir: &Dir, name: &OsStr, (path, stat): (&Path, &Stat)) -> io::Result<()> {
    let new = dir.stat(name)?;
    let same = new.kind == EntryKind::File
        && (new.identity == stat.identity || sys::stat_source(path).is_ok_and(|now| now.identity == new.identity));
    let why = || format!("another program replaced {} while it was linked to", path.display());
    if same { Ok(()) } else { Err(io::Error::other(why())) }
}
