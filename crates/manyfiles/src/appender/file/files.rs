//! [`Files`]: the file that is written to, and the next ones.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::appender::file::calls::{busy, write_all};
use crate::appender::file::note::Note;
use crate::appender::file::temporary;
use crate::appender::log::frame::{self, FRAME, MARK};
use crate::appender::log::header::{HEADER, Header};
use crate::appender::log::opened::open_file;
use crate::appender::log::scan::{Found, Scanner};
use crate::appender::log::series::Series;
use crate::appender::storage::{Storage, StoredFile};
use crate::{Error, Operation, Result};

/// The file that is written to.
pub(in crate::appender) struct Files {
    pub(in crate::appender) storage: Arc<dyn Storage>,
    pub(in crate::appender) series: Series,
    pub(in crate::appender) number: u64,
    pub(in crate::appender) path: PathBuf,
    pub(in crate::appender) framed: bool,
    /// `None` when it is closed.
    pub(in crate::appender) file: Option<Box<dyn StoredFile>>,
    /// Says that a file without frames is open.
    pub(in crate::appender) note: Option<Note>,
    /// Up to here there are zeros for the next records. One thread at a time writes.
    room_end: AtomicU64,
    /// What is added, with wrapping, to a place as the appender counts to have the place in the file: not 0 when
    /// another program has moved or cut the file.
    pub(in crate::appender) shift: u64,
    /// When it was last asked whether the file still has its name, in milliseconds.
    pub(in crate::appender) looked: AtomicU64,
}

/// Part of an unclean file that is written again in the next one.
pub(in crate::appender) struct Tail<'a> {
    pub(in crate::appender) file: &'a dyn StoredFile,
    pub(in crate::appender) path: &'a Path,
    pub(in crate::appender) header: Header,
    pub(in crate::appender) len: u64,
    /// The records from here, which is where the old file ends, to there.
    pub(in crate::appender) from: u64,
    pub(in crate::appender) to: u64,
}

/// How much room is made at once for records that follow: a sync of bytes that are in a file already needs no entry in
/// the file system's journal (docs/measurements.md, "Durable records").
const ROOM: usize = if cfg!(test) { 3_000 } else { 256 << 10 };
/// Larger writes make no room: what their syncs take is the time for their own bytes.
const LARGE_WRITE: usize = 16 << 10;

static ZEROS: [u8; ROOM] = [0; ROOM];

impl Files {
    pub(in crate::appender) fn new(storage: Arc<dyn Storage>, series: Series, framed: bool, number: u64) -> Files {
        let path = series.path(number);
        Files {
            storage,
            series,
            number,
            path,
            framed,
            file: None,
            note: None,
            room_end: AtomicU64::new(0),
            shift: 0,
            looked: AtomicU64::new(0),
        }
    }

    /// Makes the first file of a log, or the next one, and makes it durable: with a whole header, and with the tail of
    /// the file before it. It has its name when all that is on the disk, not before.
    ///
    /// `over` is a file of this number, locked, in which nothing was ever written. The caller that begins a next file
    /// has the last one locked.
    pub(in crate::appender) fn begin(
        &mut self,
        number: u64,
        header: Header,
        tail: Option<&Tail<'_>>,
        over: Option<Box<dyn StoredFile>>,
    ) -> Result<()> {
        let path = self.series.path(number);
        let storage = Arc::clone(&self.storage);
        let file = if self.framed {
            let (temporary, file) = temporary::create(&*storage, &self.series)?;
            let made = fill(&*file, &temporary, header, tail)
                .and_then(|()| self.give_name(&*file, &temporary, number, header.previous.is_none(), over));
            if let Err(error) = made {
                // What is left of it is removed at a later opening.
                storage.remove(&temporary).unwrap_or(());
                return Err(error);
            }
            file
        } else {
            let create = |cause: io::Error| match cause.kind() {
                io::ErrorKind::AlreadyExists => busy(&path),
                _ => Error::new(Operation::Create, &*path, cause),
            };
            let file = storage.create(&path).map_err(create)?;
            // Between its making and its lock another appender may have had it.
            if file.len().map_err(create)? > 0 || !file.is_at(&path).map_err(create)? {
                return Err(busy(&path));
            }
            file.sync().map_err(|cause| Error::new(Operation::Sync, &*path, cause))?;
            file
        };
        self.file = Some(file);
        (self.number, self.path) = (number, path);
        self.room_end.store(0, Ordering::Relaxed);
        self.sync_folder()
    }

    /// Gives a whole file its name in the log. The name must be free. No other appender opens the file to write before
    /// that: the file is locked from its making on.
    fn give_name(
        &self,
        file: &dyn StoredFile,
        temporary: &Path,
        number: u64,
        is_first: bool,
        over: Option<Box<dyn StoredFile>>,
    ) -> Result<()> {
        let (storage, path) = (&*self.storage, self.series.path(number));
        // Where there was no file to lock, another appender may have begun the same log meanwhile, with another number
        // perhaps.
        let is_in_the_way = |other: u64| other > number || is_first && other != number;
        let before = self.series.numbers(storage)?;
        if before.iter().any(|&other| is_in_the_way(other) || other == number && over.is_none()) {
            return Err(busy(&path));
        }
        if let Some(over) = over {
            let remove = |cause| Error::new(Operation::Remove, &*path, cause);
            if !over.is_at(&path).map_err(remove)? {
                return Err(busy(&path));
            }
            storage.remove(&path).map_err(remove)?;
            over.close().map_err(|cause| Error::new(Operation::Close, &*path, cause))?;
        }
        storage.rename(temporary, &path).map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => busy(&path),
            _ => Error::new(Operation::Rename, &*path, cause),
        })?;
        if self.series.numbers(storage)?.into_iter().any(is_in_the_way) {
            storage.remove(&path).map_err(|cause| Error::new(Operation::Remove, &*path, cause))?;
            return Err(busy(&path));
        }
        match file.is_at(&path) {
            Ok(true) => Ok(()),
            Ok(false) => Err(busy(&path)),
            Err(cause) => Err(Error::new(Operation::Open, path, cause)),
        }
    }

    /// Leaves the file, which must be durable, for a new one.
    pub(in crate::appender) fn rotate(&mut self, header: Header, end: u64) -> Result<()> {
        let number = self.series.next(self.number)?;
        self.trim(end);
        // While the old file is open, no other appender takes it for the last one.
        let (old, old_path) = (self.file.take(), self.path.clone());
        let begun = self.begin(number, header, None, None);
        let closed = old.map_or(Ok(()), |old| old.close());
        begun?;
        closed.map_err(|cause| Error::new(Operation::Close, old_path, cause))
    }

    /// The place in the file that the appender counts as `offset`.
    pub(in crate::appender) fn place(&self, offset: u64) -> u64 {
        offset.wrapping_add(self.shift)
    }

    /// Writes all of it. On failure the file is cut back to where it ended before.
    pub(in crate::appender) fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let file = self.file(Operation::Write)?;
        write_all(file, &self.path, bytes, self.place(offset)).inspect_err(|_| self.cut_back(offset))
    }

    /// Puts zeros behind `end`, if it is beyond those that are there, unless the file would be longer than `most`. The
    /// write of `len` bytes before has succeeded; without room the next one does as well, so a failure here is none.
    pub(in crate::appender) fn make_room(&self, end: u64, len: usize, most: u64) {
        if !self.framed || len > LARGE_WRITE || end < self.room_end.load(Ordering::Relaxed) {
            return;
        }
        let Some(file) = &self.file else { return };
        let room = most.saturating_sub(end).min(ROOM as u64);
        if room == 0 {
            return;
        }
        let made = file.write_at(&ZEROS[..room as usize], end).unwrap_or(0) as u64;
        // On a full disk this is tried again when as much has been written as there should be room for.
        self.room_end.store(end + if made < room { room } else { made }, Ordering::Relaxed);
    }

    /// Gives back the room behind `end`. Where that fails, zeros are left, which mean nothing.
    fn trim(&self, end: u64) {
        if self.room_end.load(Ordering::Relaxed) > end {
            self.cut_back(end);
        }
    }

    /// Half a record must not stay. Where it can't be cut off either, the first error says more; a framed file is left
    /// for the next one when it is opened again.
    pub(in crate::appender) fn cut_back(&self, len: u64) {
        self.room_end.store(0, Ordering::Relaxed);
        if let Some(file) = &self.file {
            file.set_len(self.place(len)).unwrap_or(());
        }
    }

    pub(in crate::appender) fn sync(&self) -> Result<()> {
        self.file(Operation::Sync)?.sync().map_err(|cause| self.error(Operation::Sync, cause))
    }

    /// Notes that a file without frames is durable up to here. The next opening reads this after an unclean end.
    pub(in crate::appender) fn synced(&self, end: u64) {
        if let Some(note) = &self.note {
            note.synced(self.place(end));
        }
    }

    pub(in crate::appender) fn sync_folder(&self) -> Result<()> {
        self.series.sync_folder(&*self.storage)
    }

    /// Removes the files that end before a position of the log.
    /// `first_left` becomes the number behind that of the last file removed.
    pub(in crate::appender) fn remove_before(&self, position: u64, first_left: &mut u64) -> Result<u64> {
        if !self.framed {
            let cause = io::Error::new(io::ErrorKind::InvalidInput, "without frames a log has no positions");
            return Err(self.error(Operation::Remove, cause));
        }
        let numbers = self.series.numbers(&*self.storage)?;
        let mut removed = 0;
        for pair in numbers.windows(2).take_while(|pair| pair[1] <= self.number) {
            let next = open_file(&*self.storage, &self.series, pair[1])?.file();
            if next.is_none_or(|next| next.header.base > position) {
                break;
            }
            self.series.remove(&*self.storage, pair[0])?;
            *first_left = pair[1];
            removed += 1;
        }
        Ok(removed)
    }

    /// Closes the file, once. What is in it is durable, up to `end`, where a mark goes if something was written.
    pub(in crate::appender) fn close(&mut self, mark: Option<Closing>) -> Result<()> {
        let marked = match mark {
            Some(Closing { salt, end }) => {
                self.trim(end);
                // In two steps: a mark that the next one sees in the page cache may have missed the disk. One that was
                // made a closed one in its place has not.
                let (marks, at) = frame::end_marks(salt, end);
                self.write(&marks, end)
                    .and_then(|()| self.sync())
                    .and_then(|()| self.write(&frame::closed_mark(salt, at), at))
            }
            None => Ok(()),
        };
        let closed = self.close_handle();
        let noted = match self.note.take() {
            Some(note) if marked.is_ok() && closed.is_ok() => note.remove(&*self.storage),
            _ => Ok(()),
        };
        marked.and(closed).and(noted)
    }

    /// Closes the file as it is: the next one to open it finds that it was not closed in order.
    pub(in crate::appender) fn abandon(&mut self) -> Result<()> {
        self.note = None;
        self.close_handle()
    }

    fn close_handle(&mut self) -> Result<()> {
        self.file.take().map_or(Ok(()), |file| file.close()).map_err(|cause| self.error(Operation::Close, cause))
    }

    pub(in crate::appender) fn path(&self) -> &Path {
        &self.path
    }

    /// It is closed when everything is durable, or something has failed: then a thread may still come with what it was
    /// about to do, and its error comes too late to be told.
    fn file(&self, operation: Operation) -> Result<&dyn StoredFile> {
        let closed = || self.error(operation, io::Error::other("it is closed"));
        self.file.as_deref().ok_or_else(closed)
    }

    pub(in crate::appender) fn error(&self, operation: Operation, cause: io::Error) -> Error {
        Error::new(operation, &*self.path, cause)
    }
}

/// Where a framed file ends that is closed in order.
#[derive(Clone, Copy, Debug)]
pub(in crate::appender) struct Closing {
    pub(in crate::appender) salt: u32,
    pub(in crate::appender) end: u64,
}

/// Writes what a file begins with, and makes that durable.
fn fill(file: &dyn StoredFile, path: &Path, header: Header, tail: Option<&Tail<'_>>) -> Result<()> {
    write_all(file, path, &header.bytes(), 0)?;
    if let Some(tail) = tail {
        copy_frames(file, path, header, tail)?;
    }
    file.sync().map_err(|cause| Error::new(Operation::Sync, path, cause))
}

/// Writes the tail's records with frames of their new place, each at the same distance from the first as before, so
/// that positions of the log stay what they are. Marks between them become marks that say nothing.
fn copy_frames(file: &dyn StoredFile, path: &Path, header: Header, tail: &Tail<'_>) -> Result<()> {
    const ENOUGH: usize = 256 << 10;
    let mut scanner = Scanner::new(tail.header, tail.len);
    scanner.go_to(tail.from);
    let (mut bytes, mut written) = (Vec::new(), HEADER as u64);
    let moved = |at: u64| at - tail.from + HEADER as u64;
    let mut at = tail.from;
    while at < tail.to {
        let next = scanner.next(tail.file).map_err(|cause| Error::new(Operation::Read, tail.path, cause))?;
        let Found::Record(record) = next else {
            let cause = io::Error::new(io::ErrorKind::InvalidData, "it changes while it is read");
            return Err(Error::new(Operation::Read, tail.path, cause));
        };
        let length = record.len();
        let content = record.to_vec();
        let begin = scanner.position() - (FRAME + length) as u64;
        while at < begin {
            bytes.extend_from_slice(&frame::mark(header.salt, moved(at), HEADER as u64));
            at += MARK as u64;
        }
        bytes.extend_from_slice(&frame::frame(header.salt, moved(at), length as u32, frame::sum(&content)));
        bytes.extend_from_slice(&content);
        at = scanner.position();
        if bytes.len() >= ENOUGH || at >= tail.to {
            write_all(file, path, &bytes, written)?;
            written += bytes.len() as u64;
            bytes.clear();
        }
    }
    Ok(())
}
