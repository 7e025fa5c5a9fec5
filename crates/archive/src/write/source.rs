//! Files that are read into an archive: opened without following a link, and known again by their identity.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use manyfiles::tree::{self, Keep};
use manyfiles::{Error, Operation};

use super::report::{Counts, count};
use crate::sys;

/// A file that an archive is to have the content of.
#[derive(Debug)]
pub struct SourceFile {
    path: PathBuf,
    found: Found,
    keep: Keep,
}

#[derive(Debug)]
enum Found {
    /// As it was when it was found; opened when its turn comes.
    Closed(Metadata),
    Opened(File, Metadata),
}

impl SourceFile {
    /// The file at `path`, of which `found` was said, by [`symlink_metadata`](std::fs::symlink_metadata) or a
    /// directory's entry. It is opened when its turn comes. If another file has its name by then, or it was written to
    /// since, that is told as a failure. (On Windows another file of the same length and time is not noticed.)
    pub fn found(path: impl Into<PathBuf>, found: Metadata) -> SourceFile {
        SourceFile { path: path.into(), found: Found::Closed(found), keep: Keep::default() }
    }

    /// Looks what is at `path` now. Fails if that is no file; a symbolic link is none.
    pub fn at(path: impl Into<PathBuf>) -> manyfiles::Result<SourceFile> {
        let path = path.into();
        let found = std::fs::symlink_metadata(&path).map_err(|error| Error::new(Operation::Metadata, &path, error))?;
        if !found.is_file() {
            return Err(Error::new(Operation::Read, path, not_a_file()));
        }
        Ok(SourceFile::found(path, found))
    }

    /// A file that is open, to be read from its start; `path` is for messages. Fails if it is no file: what a pipe or a
    /// device has, its length does not say.
    pub fn opened(file: File, path: impl Into<PathBuf>) -> manyfiles::Result<SourceFile> {
        let path = path.into();
        match file.metadata() {
            Ok(metadata) if !metadata.is_file() => Err(Error::new(Operation::Read, path, not_a_file())),
            Ok(metadata) => Ok(SourceFile { path, found: Found::Opened(file, metadata), keep: Keep::default() }),
            Err(error) => Err(Error::new(Operation::Metadata, path, error)),
        }
    }

    /// Also stores what `keep` keeps of the file's extended attributes, access control lists and flags, beside those that the
    /// entry's [`Metadata`](tree::Metadata) gives. They are read through the handle that the content is read through,
    /// when it is opened. A file whose attributes cannot be read is not in the archive and is named by
    /// [`finish`](super::ArchiveWriter::finish), if they were asked for by their name; else it is
    /// [counted](super::Written::not_kept). A zip stores none, and they are not read for one. Default: nothing.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// How long it was when it was found.
    pub(super) fn len(&self) -> u64 {
        match &self.found {
            Found::Closed(metadata) | Found::Opened(_, metadata) => metadata.len(),
        }
    }

    /// Whether it takes less room than its length, and so has holes, or is compressed.
    pub(super) fn may_have_holes(&self) -> bool {
        match &self.found {
            Found::Closed(metadata) | Found::Opened(_, metadata) => sys::may_have_holes(metadata),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.found, Found::Opened(..))
    }

    /// Opens the file that was found, to be [`read`](Self::read).
    pub(super) fn open_found(&self, is_wanted: &dyn Fn() -> bool) -> Result<File, Error> {
        open(&self.path, is_wanted).map_err(|error| Error::new(Operation::Read, &self.path, error))
    }

    /// What is kept of the attributes of the file that it was opened as. `None`: nothing is.
    pub(super) fn attributes(&self, file: &File, counts: &Counts) -> Result<Option<tree::Metadata>, Error> {
        attributes(file, &self.path, self.keep, counts)
    }

    /// Reads all of it, as long as it was found to be, into the end of `to`. A failure is one of the file; if it says
    /// that the file has changed, then the bytes that were read are there all the same.
    pub(super) fn read(&self, file: &File, to: &mut Vec<u8>, failure: &mut Option<Error>) -> Result<(), Error> {
        let Found::Closed(found) = &self.found else { unreachable!("a file that is open is read in pieces") };
        let error = |error| Error::new(Operation::Read, &self.path, error);
        let start = to.len();
        let len = usize::try_from(found.len()).map_err(|_| error(io::ErrorKind::OutOfMemory.into()))?;
        to.resize(start + len + 1, 0);
        let mut read = read_at(file, &mut to[start..], 0, len);
        // More than its length says: of a file below /proc, of a mount whose lengths lie, of a file that grows.
        while let Ok(got) = read
            && got > 0
            && got == to.len() - start
        {
            if got > LONGEST_LIE {
                read = Err((got, io::Error::new(io::ErrorKind::FileTooLarge, "it is far longer than its length says")));
                break;
            }
            to.resize(start + 2 * got + 4096, 0);
            let more = read_at(file, &mut to[start + got..], got as u64, usize::MAX);
            read = more.map(|more| got + more).map_err(|(more, error)| (got + more, error));
        }
        let after = file.metadata();
        let (got, read_error) = match read {
            Ok(got) => (got, None),
            Err((got, error)) => (got, Some(error)),
        };
        to.truncate(start + got);
        if let Some(cause) = read_error {
            to.truncate(start);
            return Err(error(cause));
        }
        let after = after.map_err(error)?;
        if !is_same(found, &after) {
            to.truncate(start);
            return Err(error(another_file()));
        }
        if got < len || is_changed(found, &after) {
            *failure = Some(error(changed()));
        }
        Ok(())
    }

    /// Opens it now, if it is not open. Holes are looked for if they are to be kept. With what is kept of its
    /// attributes; a zip has no `counts` to say that some are not.
    pub(super) fn open(
        self,
        keeps_holes: bool,
        counts: Option<&Counts>,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<(Opened, Option<tree::Metadata>), Error> {
        let path = self.path;
        let opened = match self.found {
            Found::Opened(file, metadata) => Ok((file, metadata)),
            Found::Closed(found) => open(&path, is_wanted).and_then(|file| {
                let now = file.metadata()?;
                if is_same(&found, &now) { Ok((file, now)) } else { Err(another_file()) }
            }),
        };
        let (file, metadata) = opened.map_err(|error| Error::new(Operation::Read, &path, error))?;
        let attributes = match counts {
            Some(counts) => attributes(&file, &path, self.keep, counts)?,
            None => None,
        };
        let len = metadata.len();
        let data = (keeps_holes && sys::may_have_holes(&metadata)).then(|| sys::data_of(&file, len)).flatten();
        let data = data.filter(|data| data.iter().map(|piece| piece.1).sum::<u64>() < len);
        let content = Content::File(file, Box::new(metadata));
        Ok((Opened { content, path, len, data, is_told: AtomicBool::new(false) }, attributes))
    }
}

fn attributes(file: &File, path: &Path, keep: Keep, counts: &Counts) -> Result<Option<tree::Metadata>, Error> {
    if keep == Keep::default() {
        return Ok(None);
    }
    let found = tree::Metadata::default().attributes_of_file(file, keep);
    let found = found.map_err(|error| Error::new(Operation::Metadata, path, error))?;
    if found.loses_attributes() {
        count(&counts.not_kept);
    }
    Ok(Some(found))
}

/// A file that is laid out in pieces: opened when it was handed over, or bytes of the caller.
#[derive(Debug)]
pub(super) struct Opened {
    content: Content,
    path: PathBuf,
    len: u64,
    /// Offset and length of what it has, in order, if there are holes between.
    pub data: Option<Vec<(u64, u64)>>,
    /// Whether a failure of it was told.
    is_told: AtomicBool,
}

#[derive(Debug)]
enum Content {
    /// Read piece by piece. It was so when it was opened.
    File(File, Box<Metadata>),
    /// Read already: each piece with its offset.
    Pieces(Vec<(u64, Vec<u8>)>),
    /// All of it.
    Bytes(Arc<[u8]>),
}

impl Opened {
    pub(super) fn bytes(bytes: Arc<[u8]>) -> Opened {
        let len = bytes.len() as u64;
        let content = Content::Bytes(bytes);
        Opened { content, path: PathBuf::new(), len, data: None, is_told: AtomicBool::new(false) }
    }

    /// How many bytes of it are stored.
    pub(super) fn stored(&self) -> u64 {
        self.data.as_ref().map_or(self.len(), |pieces| pieces.iter().map(|piece| piece.1).sum())
    }

    /// Reads all of it now, and closes it: thousands of files may be on their way, and a process may have few open.
    /// The failure, if there is one, says that it has changed.
    pub(super) fn read_now(&mut self) -> Result<Option<Error>, Error> {
        let Content::File(file, _) = &self.content else { return Ok(None) };
        let mut failure = None;
        let whole = [(0, self.len())];
        let mut pieces = Vec::new();
        for &(offset, len) in self.data.as_deref().unwrap_or(&whole) {
            let mut bytes = vec![0; len as usize];
            match read_at(file, &mut bytes, offset, len as usize) {
                Ok(got) if got as u64 == len => {}
                Ok(_) => self.tell(changed(), &mut failure),
                Err((_, error)) => return Err(Error::new(Operation::Read, &self.path, error)),
            }
            pieces.push((offset, bytes));
        }
        self.check(&mut failure);
        self.content = Content::Pieces(pieces);
        Ok(failure)
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads `len` bytes at `offset` into the end of `to`. Bytes that cannot be read are zeros: the head has said how
    /// many there are.
    pub(super) fn read(&self, offset: u64, len: u64, to: &mut Vec<u8>, failure: &mut Option<Error>) {
        let file = match &self.content {
            Content::File(file, _) => file,
            Content::Bytes(bytes) => {
                let start = offset as usize;
                return to.extend_from_slice(&bytes[start..start + len as usize]);
            }
            Content::Pieces(pieces) => {
                // They are asked for as they were read.
                let at = pieces.binary_search_by_key(&offset, |piece| piece.0).expect("a piece begins here");
                return to.extend_from_slice(&pieces[at].1);
            }
        };
        let start = to.len();
        to.resize(start + len as usize, 0);
        let got = match read_at(file, &mut to[start..], offset, len as usize) {
            Ok(got) if got as u64 == len => return,
            Ok(got) => {
                self.tell(changed(), failure);
                got
            }
            Err((got, error)) => {
                self.tell(error, failure);
                got
            }
        };
        to[start + got..].fill(0);
    }

    /// Whether it is as it was when it was opened.
    pub(super) fn check(&self, failure: &mut Option<Error>) {
        let Content::File(file, before) = &self.content else { return };
        let more = read_at(file, &mut [0], self.len(), 1);
        match (more, file.metadata()) {
            (Ok(1..), Ok(now)) if now.len() == self.len() => {
                self.tell(
                    io::Error::other("it has more bytes than its length says; the archive has those it says"),
                    failure,
                );
            }
            (_, Ok(now)) if is_changed(before, &now) => self.tell(changed(), failure),
            (Ok(_), Ok(_)) => {}
            (Err((_, error)), _) | (_, Err(error)) => self.tell(error, failure),
        }
    }

    fn tell(&self, error: io::Error, failure: &mut Option<Error>) {
        if !self.is_told.swap(true, Relaxed) {
            *failure = Some(Error::new(Operation::Read, &self.path, error));
        }
    }
}

/// Up to so many bytes are read of a file that has more than its length says.
const LONGEST_LIE: usize = 64 << 20;

/// Opens a file to be read. It waits for what passes: all handles of the process are in use just now, by files that are
/// read; another program has a lease on the file, which the system takes from it within `lease-break-time`.
fn open(path: &Path, is_wanted: &dyn Fn() -> bool) -> io::Result<File> {
    const LONGEST_PAUSE: Duration = Duration::from_millis(100);
    let (mut pause, mut waited) = (Duration::from_micros(100), Duration::ZERO);
    loop {
        let (longest, error) = match sys::open_source(path) {
            Err(error) if sys::is_out_of_handles(&error) => (Duration::from_secs(1), error),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (Duration::from_secs(60), error),
            opened => return opened,
        };
        if waited >= longest || !is_wanted() {
            return Err(error);
        }
        thread::sleep(pause);
        waited += pause;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// Reads at least once, and until there are `enough` bytes or the file ends.
fn read_at(file: &File, to: &mut [u8], offset: u64, enough: usize) -> Result<usize, (usize, io::Error)> {
    let mut got = 0;
    while !to[got..].is_empty() {
        match sys::read_at(file, &mut to[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err((got, error)),
        }
        if got >= enough {
            break;
        }
    }
    Ok(got)
}

fn is_same(found: &Metadata, now: &Metadata) -> bool {
    now.is_file() && sys::is_same_file(found, now)
}

/// The time of the last change is compared, too, where there is one: that of the content can be set, and many programs
/// set it back.
fn is_changed(before: &Metadata, after: &Metadata) -> bool {
    let times = |of: &Metadata| (of.modified().ok(), sys::changed(of));
    before.len() != after.len() || times(before) != times(after)
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "this is no file")
}

fn another_file() -> io::Error {
    io::Error::other("another file has its name since it was found; it is not in the archive")
}

fn changed() -> io::Error {
    io::Error::other("it was changed while it was read; what the archive has of it may be neither old nor new")
}
