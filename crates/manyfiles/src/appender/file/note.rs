//! [`Note`]: beside a file without frames, while it is open.
//!
//! Such a file cannot say whether it was closed in order. A note `events.manyfiles-open` says so: it is there from
//! before the first write until everything is durable and the file closed. If an opening finds a note, the page cache
//! may show bytes that the disk does not have. The note says up to where the disk has them. The note need not be
//! durable: after a power cut there is no page cache that could differ.
//!
//! The doubtful bytes are written again, in a way that a crash at any time leaves them in one place at least: they are
//! copied to `events.manyfiles-tail`, durably, cut off, and written anew. Rewriting without cutting is not enough:
//! after a failed sync, ext4 leaves extents without content whatever is written to them.
//!
//! Both say which file they are about. One that another program has put in its place meanwhile is neither cut nor
//! written again; what a tail has goes behind what is in it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::appender::file::calls::{busy, write_all};
use crate::appender::file::temporary;
use crate::appender::log::series::Series;
use crate::appender::storage::{Storage, StoredFile};
use crate::{Error, Operation, Result};

pub(in crate::appender) struct Note {
    path: PathBuf,
    file: Box<dyn StoredFile>,
    /// What it says.
    said: AtomicU64,
    /// Of which file.
    serial: AtomicU64,
}

/// The note is brought up to date each so many bytes: so much has to be written again at most.
const EVERY: u64 = 1 << 20;
/// What a tail begins with: where it belongs, its length, of which file it is, and a checksum of these.
pub(in crate::appender) const TAIL_HEADER: usize = 28;
/// What a note begins with.
const NOTE_MAGIC: [u8; 8] = *b"mfopen\0\x02";
/// A note's length: the magic, a place in the file, the file, and their checksum.
const NOTE: usize = 28;
const CHUNK: usize = 256 << 10;
/// What is said of a file that is still to be made. No file system numbers one so.
const NO_FILE: u64 = 0;

impl Note {
    /// Says that the file is durable up to `end`, and that it is open. `None`: it is still to be made.
    pub(in crate::appender) fn leave(
        storage: &dyn Storage,
        series: &Series,
        end: u64,
        about: Option<&dyn StoredFile>,
    ) -> Result<Note> {
        let path = note_path(series);
        let file = match storage.open(&path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                storage.create(&path).map_err(|cause| match cause.kind() {
                    io::ErrorKind::AlreadyExists => busy(&path),
                    _ => Error::new(Operation::Create, &*path, cause),
                })?
            }
            Err(cause) => return Err(Error::new(Operation::Open, path, cause)),
        };
        // Between its making and its lock another appender may have taken it for an old one.
        if !file.is_at(&path).map_err(|cause| Error::new(Operation::Open, &*path, cause))? {
            return Err(busy(&path));
        }
        read_note(&*file, &path)?;
        let note = Note { path, file, said: AtomicU64::new(0), serial: AtomicU64::new(NO_FILE) };
        match about {
            Some(about) => note.describe(about, end)?,
            None => note.say(end)?,
        }
        Ok(note)
    }

    /// Says that this file is open from now on, and durable up to `end`.
    pub(in crate::appender) fn describe(&self, file: &dyn StoredFile, end: u64) -> Result<()> {
        let serial = file.serial().map_err(|cause| Error::new(Operation::Metadata, &*self.path, cause))?;
        self.serial.store(serial, Ordering::Relaxed);
        self.say(end)
    }

    pub(in crate::appender) fn say(&self, end: u64) -> Result<()> {
        self.said.store(end, Ordering::Relaxed);
        let serial = self.serial.load(Ordering::Relaxed);
        let note = [NOTE_MAGIC, end.to_le_bytes(), serial.to_le_bytes()].concat();
        write_all(&*self.file, &self.path, &sealed(&note), 0)
    }

    /// The file is durable up to `end`. Where that cannot be said, what was said before stays true.
    pub(in crate::appender) fn synced(&self, end: u64) {
        if end >= self.said.load(Ordering::Relaxed).saturating_add(EVERY) {
            self.say(end).unwrap_or(());
        }
    }

    /// The file was closed in order.
    pub(in crate::appender) fn remove(self, storage: &dyn Storage) -> Result<()> {
        let Note { path, file, .. } = self;
        let remove = |cause| Error::new(Operation::Remove, &*path, cause);
        if file.is_at(&path).map_err(remove)? {
            storage.remove(&path).map_err(remove)?;
        }
        file.close().map_err(|cause| Error::new(Operation::Close, path, cause))
    }
}

fn note_path(series: &Series) -> PathBuf {
    series.beside(".manyfiles-open")
}

fn tail_path(series: &Series) -> PathBuf {
    series.beside(".manyfiles-tail")
}

/// Bytes with their checksum behind them.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &crc32c::crc32c(bytes).to_le_bytes()].concat()
}

fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (content, sum) = bytes.split_last_chunk::<4>()?;
    (crc32c::crc32c(content).to_le_bytes() == *sum).then_some(content)
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// Reads exactly so many bytes; `None` if there are fewer.
fn read<const N: usize>(file: &dyn StoredFile, path: &Path) -> Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    let has = read_to(file, path, &mut bytes, 0)?;
    Ok((has == N).then_some(bytes))
}

fn read_to(file: &dyn StoredFile, path: &Path, bytes: &mut [u8], offset: u64) -> Result<usize> {
    file.read_full(bytes, offset).map_err(|cause| Error::new(Operation::Read, path, cause))
}

/// Whether a file begins as the copy of another one's end.
pub(in crate::appender) fn is_tail(first: &[u8]) -> bool {
    first.get(..TAIL_HEADER).is_some_and(|header| unsealed(header).is_some())
}

/// Removes a note about a file that is not there any more. A tail of it is kept: it is all that is left of its bytes.
/// Another program's file under either name is an error.
pub(in crate::appender) fn forget(storage: &dyn Storage, series: &Series) -> Result<()> {
    let tail = tail_path(series);
    match storage.open(&tail) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(Error::new(Operation::Open, tail, cause)),
        Ok(file) => {
            read_tail(&*file, &tail)?;
            file.close().map_err(|cause| Error::new(Operation::Close, tail, cause))?;
        }
    }
    let path = note_path(series);
    // Refused while another appender is at it.
    let note = match storage.open(&path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|cause| Error::new(Operation::Open, &*path, cause))?,
    };
    read_note(&*note, &path)?;
    let remove = |cause| Error::new(Operation::Remove, &*path, cause);
    if !note.is_at(&path).map_err(remove)? {
        return Err(busy(&path));
    }
    storage.remove(&path).map_err(remove)?;
    note.close().map_err(|cause| Error::new(Operation::Close, &*path, cause))
}

/// Makes what the page cache shows of the file what the disk has, if it may be anything else.
pub(in crate::appender) fn recover(storage: &dyn Storage, series: &Series, file: &dyn StoredFile) -> Result<()> {
    let (path, tail) = (series.base(), tail_path(series));
    let old = match storage.open(&tail) {
        Ok(tail) => Some(tail),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
        Err(cause) => return Err(Error::new(Operation::Open, tail, cause)),
    };
    let failed = |cause| Error::new(Operation::Open, path, cause);
    let (serial, len) = (file.serial().map_err(failed)?, file.len().map_err(failed)?);
    let old = match old {
        Some(old) => {
            let (_, has, about) = read_tail(&*old, &tail)?;
            if about == serial {
                old
            } else {
                // Saved again, so that a crash at any time finds where it is to be written.
                let part = TAIL_HEADER as u64..TAIL_HEADER as u64 + has;
                let saved = save_tail(storage, series, (&*old, &tail), part, (len, serial))?;
                old.close().map_err(|cause| Error::new(Operation::Close, &*tail, cause))?;
                saved
            }
        }
        None => {
            let Some((durable, about)) = find_note(storage, series)? else { return Ok(()) };
            if about != serial {
                return file.sync().map_err(|cause| Error::new(Operation::Sync, path, cause));
            }
            if len <= durable {
                return Ok(());
            }
            save_tail(storage, series, (file, path), durable..len, (durable, serial))?
        }
    };
    // Its name may be no more durable than what it is to mend.
    series.sync_folder(storage)?;
    write_again(&*old, &tail, file, path)?;
    // The opening syncs the folder before anything is appended: this must not be written once more over that.
    storage.remove(&tail).map_err(|cause| Error::new(Operation::Remove, &*tail, cause))?;
    old.close().map_err(|cause| Error::new(Operation::Close, tail, cause))
}

/// Up to where which file was durable, if there is a note.
fn find_note(storage: &dyn Storage, series: &Series) -> Result<Option<(u64, u64)>> {
    let path = note_path(series);
    let note = match storage.open(&path) {
        Ok(note) => note,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::new(Operation::Open, path, cause)),
    };
    read_note(&*note, &path).map(Some)
}

/// Up to where a note says that which file was durable. One that a crash left unfinished says nothing of that. Anything
/// else is no note: it is another program's file, and is left alone.
fn read_note(note: &dyn StoredFile, path: &Path) -> Result<(u64, u64)> {
    let mut bytes = [0; NOTE + 1];
    let has = read_to(note, path, &mut bytes, 0)?;
    let bytes = &bytes[..has];
    if let Some(said) = unsealed(bytes).and_then(|content| content.strip_prefix(&NOTE_MAGIC))
        && said.len() == 16
    {
        return Ok((number(&said[..8]), number(&said[8..])));
    }
    let magic = has.min(NOTE_MAGIC.len());
    if has <= NOTE && (bytes[..magic] == NOTE_MAGIC[..magic] || bytes.iter().all(|&byte| byte == 0)) {
        return Ok((0, NO_FILE));
    }
    let message = "this name is that of a note beside an open log, and this is none; nothing was changed";
    Err(Error::new(Operation::Open, path, io::Error::new(io::ErrorKind::InvalidData, message)))
}

/// Where a tail belongs, its length, and of which file it is.
fn read_tail(tail: &dyn StoredFile, path: &Path) -> Result<(u64, u64, u64)> {
    let header = read::<TAIL_HEADER>(tail, path)?;
    let Some(header) = header.as_ref().and_then(|header| unsealed(header)) else {
        let message = "the end of the file beside it should be in here, and this is damaged or something else";
        return Err(Error::new(Operation::Read, path, io::Error::new(io::ErrorKind::InvalidData, message)));
    };
    Ok((number(&header[..8]), number(&header[8..16]), number(&header[16..])))
}

/// Copies part of the file beside it, durably. The copy has its name when it is whole on the disk.
fn save_tail(
    storage: &dyn Storage,
    series: &Series,
    (from, path): (&dyn StoredFile, &Path),
    part: std::ops::Range<u64>,
    (begin, serial): (u64, u64),
) -> Result<Box<dyn StoredFile>> {
    let tail = tail_path(series);
    let (temporary, copy) = temporary::create(storage, series)?;
    let (mut buffer, mut at) = (vec![0; CHUNK], part.start);
    while at < part.end {
        let most = CHUNK.min((part.end - at) as usize);
        let has = read_to(from, path, &mut buffer[..most], at)?;
        if has < most {
            let cause = io::Error::new(io::ErrorKind::UnexpectedEof, "it is shorter than it was, or than it says");
            return Err(Error::new(Operation::Read, path, cause));
        }
        write_all(&*copy, &temporary, &buffer[..has], TAIL_HEADER as u64 + (at - part.start))?;
        at += has as u64;
    }
    let header = [begin, part.end - part.start, serial].map(u64::to_le_bytes).concat();
    write_all(&*copy, &temporary, &sealed(&header), 0)?;
    copy.sync().map_err(|cause| Error::new(Operation::Sync, &*temporary, cause))?;
    storage.replace(&temporary, &tail).map_err(|cause| Error::new(Operation::Rename, &*tail, cause))?;
    Ok(copy)
}

/// Cuts the file off where the tail begins, and writes the tail behind it.
fn write_again(tail: &dyn StoredFile, tail_path: &Path, file: &dyn StoredFile, path: &Path) -> Result<()> {
    let (begin, len, _) = read_tail(tail, tail_path)?;
    file.set_len(begin).map_err(|cause| Error::new(Operation::Write, path, cause))?;
    let (mut buffer, mut at) = (vec![0; CHUNK], 0);
    while at < len {
        let most = CHUNK.min((len - at) as usize);
        let has = read_to(tail, tail_path, &mut buffer[..most], TAIL_HEADER as u64 + at)?;
        if has < most {
            let cause = io::Error::new(io::ErrorKind::UnexpectedEof, "it is shorter than it says");
            return Err(Error::new(Operation::Read, tail_path, cause));
        }
        write_all(file, path, &buffer[..has], begin + at)?;
        at += has as u64;
    }
    file.sync().map_err(|cause| Error::new(Operation::Sync, path, cause))
}
