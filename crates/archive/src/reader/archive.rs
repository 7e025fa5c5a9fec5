//! [`Archive`]: opened once, then read by any number of threads.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use manyfiles::Operation;
use manyfiles::tree::Keep;

use super::builder::Builder;
use super::chunks::Chunks;
use super::content::{Content, Zip};
use super::file::ArchiveFile;
use super::frames;
use super::gzip::{Found, Inflater};
use super::index::{Child, Index, Type};
use super::kept::{self, Kept};
use super::range::Range;
use crate::cancel::Cancel;
use crate::decode::{self, Blocks};
use crate::entry::{Entry, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Compression, Format, HEAD, Inside};
use crate::joined::Joined;
use crate::limit::Limit;
use crate::limits::Limits;
use crate::options::Options;
use crate::parts;
use crate::password::{Password, Secret};
use crate::progress::InputProgress;
use crate::read_at::read_at;
use crate::single::{Named, Origin};
use crate::stamp::Stamp;
use crate::tar::{FileSource, Source, StreamSource};
use crate::target::Target;

/// An index is kept if it has so many entries, or if so many bytes had to be decompressed for it. What is smaller is
/// gone through in the time that it takes to look for a kept one.
const WORTH_KEEPING: (usize, u64) = (1000, 4 << 20);

/// How an archive is opened to be read: choices, to be followed by [`open`](ArchiveOptions::open).
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    limits: Limits,
    ignore_zeros: bool,
    progress: InputProgress,
    secret: Secret,
    cache: Option<PathBuf>,
}

impl Default for ArchiveOptions {
    /// With default [`Limits`], and the index in the user's cache.
    fn default() -> Self {
        ArchiveOptions {
            limits: Limits::default(),
            ignore_zeros: false,
            progress: InputProgress::default(),
            secret: Secret::None,
            cache: kept::usual_folder(),
        }
    }
}

impl ArchiveOptions {
    /// The limits that stop a bomb. Default: [`Limits::default`]. The number of entries bounds the memory, too: the
    /// index takes some 100 bytes for each, and its name.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Reads on behind the end of a tar if another one follows, as [`Options::ignore_zeros`] does. Default: no.
    #[must_use]
    pub fn ignore_zeros(mut self, ignore_zeros: bool) -> Self {
        self.ignore_zeros = ignore_zeros;
        self
    }

    /// Counts the bytes that are read by [`open`](ArchiveOptions::open) into `progress`.
    #[must_use]
    pub fn progress(mut self, progress: InputProgress) -> Self {
        self.progress = progress;
        self
    }

    /// The password of encrypted entries, as [`Options::password`] takes it. The archive keeps it.
    #[must_use]
    pub fn password(mut self, password: Password) -> Self {
        self.secret = Secret::Known(password);
        self
    }

    /// Asks for the password, as [`Options::ask_password`] does.
    #[must_use]
    pub fn ask_password(mut self, ask: impl Fn(&Path, u32) -> Option<Password> + Send + Sync + 'static) -> Self {
        self.secret = Secret::Asked(Arc::new(ask));
        self
    }

    /// The folder in which the indexes of tars are kept that have a thousand entries or, compressed, hold 4 MiB.
    /// `None`: none is kept, and none is taken. A folder that cannot be written to is as none. Indexes that are older
    /// than 60 days are removed from it.
    ///
    /// An index is taken only if the archive has the path, the length, the time and the first and last 64 KiB that it
    /// had, and on Unix the time of its last change of any kind, which no program can set back.
    ///
    /// Default: the folder `manyfiles` in `$XDG_CACHE_HOME` or `~/.cache`; on macOS `~/Library/Caches`, on Windows
    /// `%LOCALAPPDATA%`.
    #[must_use]
    pub fn cache(mut self, folder: Option<PathBuf>) -> Self {
        self.cache = folder;
        self
    }

    /// Opens the archive at `path`, which is recognised by its content. Fails if it is no archive, is damaged, goes
    /// over a limit, or is no file (a pipe, say).
    pub fn open(self, path: impl AsRef<Path>) -> Result<Archive> {
        let path = path.as_ref();
        self.open_kind(path).map_err(|kind| Error::new(path, parts::explain(path, kind)))
    }

    fn open_kind(self, path: &Path) -> Result<Archive, ErrorKind> {
        // Looked at before it is opened: the open of a pipe waits for its writer.
        let metadata = std::fs::metadata(path).map_err(ErrorKind::Open)?;
        if metadata.is_dir() {
            return Err(ErrorKind::Folder);
        }
        if !metadata.is_file() {
            let cause = "only a file can be read an entry at a time, not a pipe or a device; save it to a file first";
            return Err(ErrorKind::Unsupported(cause.into()));
        }
        let file = File::open(path).map_err(ErrorKind::Open)?;
        let stamp = Stamp::of(&file).map_err(ErrorKind::Open)?;
        if stamp.len == 0 {
            return Err(ErrorKind::Empty);
        }
        let mut head = vec![0; stamp.len.min(HEAD as u64) as usize];
        read_at(&file, &mut head, 0)?;
        let opening = Opening { file: Arc::new(file), stamp, path, options: self };
        match format::detect(&head) {
            Some(Format::Tar(_)) if !parts::join(path, clone(&opening.file)?, stamp)?.is_one() => Err(parts::no_tar()),
            Some(Format::Tar(compression)) if head[0] != 0 => opening.tar(compression),
            Some(Format::Deb | Format::Rpm) => opening.package(),
            #[cfg(feature = "sevenz")]
            Some(Format::SevenZ) => opening.sevenz(),
            // A file that begins with zeros may be a tar without entries, or a zip behind them.
            _ => opening.zip_or_other(),
        }
    }
}

fn clone(file: &File) -> Result<File, ErrorKind> {
    file.try_clone().map_err(ErrorKind::Open)
}

/// A file that is to become an [`Archive`].
struct Opening<'a> {
    file: Arc<File>,
    stamp: Stamp,
    path: &'a Path,
    options: ArchiveOptions,
}

impl Opening<'_> {
    fn archive(self, format: Format, index: Index, content: Content) -> Archive {
        let Opening { file, stamp, path, .. } = self;
        Archive(Arc::new(Inner { path: path.to_path_buf(), file, stamp, format, index, content }))
    }

    fn unpacker(&self) -> crate::Unpacker {
        let options = Options::default().limits(self.options.limits).progress(self.options.progress.clone());
        let mut options = options
            .ignore_zeros(self.options.ignore_zeros)
            .special_files(true)
            .ownership(true)
            .numeric_owner(true)
            .keep(Keep::everything());
        options.secret = self.options.secret.clone();
        options.build()
    }

    fn builder(&self) -> Builder {
        Builder::new(self.options.limits.entries)
    }

    fn zip_or_other(self) -> Result<Archive, ErrorKind> {
        let mut builder = self.builder();
        let file = clone(&self.file)?;
        let target = &mut Target::Index(&mut builder);
        let joined = parts::join(self.path, file, self.stamp)?;
        let summary = self.unpacker().read_open(joined, self.path, target, Cancel::default())?;
        let content = match builder.zip.take() {
            Some(zip) => Content::Zip(Box::new(Zip::new(zip))),
            None => Content::Plain,
        };
        Ok(self.archive(summary.format, builder.finish(), content))
    }

    fn package(self) -> Result<Archive, ErrorKind> {
        let (index, content, format) = self.unpacked()?;
        Ok(self.archive(format, index, content))
    }

    /// Decodes all of a 7z into a file without a name.
    #[cfg(feature = "sevenz")]
    fn sevenz(self) -> Result<Archive, ErrorKind> {
        let (mut file, to) = self.spool()?;
        let mut builder = self.builder();
        let joined = parts::join(self.path, clone(&self.file)?, self.stamp)?;
        self.options.progress.opened(Some(joined.len()));
        let target = &mut Target::Index(&mut builder);
        let cancel = Cancel::default();
        let mut spool = io::BufWriter::new(&mut file);
        self.unpacker().read_sevenz(&joined, self.path, target, &cancel, Some(&mut spool))?;
        spool.flush().map_err(to)?;
        drop(spool);
        Ok(self.archive(Format::SevenZ, builder.finish(), Content::Unpacked(file)))
    }

    /// A file without a name for what is decoded, and what to say if it cannot be written.
    fn spool(&self) -> Result<(File, impl Fn(io::Error) -> ErrorKind + Copy + use<>), ErrorKind> {
        let to = |error: io::Error| {
            let cause = format!("cannot write its content into a temporary file: {error}");
            ErrorKind::Read(io::Error::new(error.kind(), cause))
        };
        // The cache is on a disk; the place for temporary files may be memory.
        let folder = self.options.cache.as_deref().filter(|cache| cache.is_dir());
        let file = match folder.map(tempfile::tempfile_in) {
            Some(Ok(file)) => file,
            _ => tempfile::tempfile().map_err(to)?,
        };
        Ok((file, to))
    }

    fn tar(self, compression: Option<Compression>) -> Result<Archive, ErrorKind> {
        // Only tars' indexes are kept.
        let tar = Format::Tar(compression);
        let kept = self
            .options
            .cache
            .as_deref()
            .and_then(|cache| Kept::of(cache, self.path, &self.file, &self.stamp, self.options.ignore_zeros));
        if let Some((index, chunks)) = kept.as_ref().and_then(Kept::load)
            && chunks.is_some() == compression.is_some()
            && chunks.as_ref().is_none_or(|chunks| Some(chunks.compression) == compression)
        {
            self.options.progress.opened(Some(self.stamp.len));
            self.options.progress.advance(self.stamp.len);
            return Ok(self.archive(tar, index, chunks.map_or(Content::Plain, Content::Chunks)));
        }
        let (index, content, format) = match compression {
            None => {
                let mut builder = self.builder();
                let file = clone(&self.file)?;
                let target = &mut Target::Index(&mut builder);
                self.unpacker().read_open(Joined::one(file, self.stamp), self.path, target, Cancel::default())?;
                (builder.finish(), Content::Plain, tar)
            }
            Some(compression) => self.compressed(compression)?,
        };
        let chunks = match &content {
            Content::Chunks(chunks) => Some(chunks),
            _ => None,
        };
        // What is in a file without a name is gone with this process.
        let can_be_kept = format == tar && (compression.is_none() || chunks.is_some());
        let is_large =
            index.nodes.len() >= WORTH_KEEPING.0 || chunks.is_some_and(|chunks| chunks.len >= WORTH_KEEPING.1);
        if let Some(kept) = kept.filter(|_| can_be_kept && is_large) {
            // Without one, the next `open` takes as long.
            drop(kept.save(&index, chunks));
        }
        Ok(self.archive(format, index, content))
    }

    fn compressed(&self, compression: Compression) -> Result<(Index, Content, Format), ErrorKind> {
        let found = match compression {
            Compression::Zstd => self.zstd()?,
            Compression::Gzip => self.gzip()?,
            _ => None,
        };
        match found {
            Some((index, chunks, format)) => Ok((index, Content::Chunks(chunks), format)),
            None => self.unpacked(),
        }
    }

    /// What stands in a compressed file, of which `content` are the first decoded bytes.
    fn inside(&self, format: Format, content: &[u8]) -> Result<Inside, ErrorKind> {
        let mut head = vec![0; self.stamp.len.min(HEAD as u64) as usize];
        read_at(&self.file, &mut head, 0)?;
        let origin = Origin::of(self.path, &self.file);
        Ok(Inside::of(format, content, |compression| Named::of(&origin, compression, &head)))
    }

    fn zstd(&self) -> Result<Option<(Index, Chunks, Format)>, ErrorKind> {
        let frames = frames::find(&self.file, self.stamp.len).map_err(ErrorKind::Read)?;
        let Some((frames, len)) = frames else { return Ok(None) };
        let Some(chunks) = Chunks::new(Compression::Zstd, frames, len) else { return Ok(None) };
        let mut builder = self.builder();
        let file = clone(&self.file)?;
        let target = &mut Target::Index(&mut builder);
        let joined = Joined::one(file, self.stamp);
        let summary = self.unpacker().read_open(joined, self.path, target, Cancel::default())?;
        self.stamp.check(&self.file)?;
        Ok(Some((builder.finish(), chunks, summary.format)))
    }

    fn gzip(&self) -> Result<Option<(Index, Chunks, Format)>, ErrorKind> {
        let found = Arc::new(Mutex::new(Found::default()));
        let range = Range::new(Arc::clone(&self.file), 0, self.stamp.len);
        let counted = self.options.progress.clone();
        counted.opened(Some(self.stamp.len));
        let source = Counted { inner: range, progress: counted };
        let inflater = Inflater::new(source, self.options.limits, Arc::clone(&found));
        let input = decode::Input::new(Box::new(inflater), InputProgress::default()).plain();
        let mut builder = self.builder();
        let read = self.stream(input, Compression::Gzip, &mut builder);
        let mut found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        let (len, format) = match (read, found.failure.take()) {
            (_, Some(failure)) => return Err(failure),
            (read, None) => read?,
        };
        self.stamp.check(&self.file)?;
        // Behind the last entry there may be no place to begin at.
        found.places.retain(|place| place.start < len);
        Ok(Chunks::new(Compression::Gzip, found.places, len).map(|chunks| (builder.finish(), chunks, format)))
    }

    /// Reads what `input` has decoded already. Returns its length, and what it is.
    fn stream(
        &self,
        input: decode::Input,
        compression: Compression,
        builder: &mut Builder,
    ) -> Result<(u64, Format), ErrorKind> {
        let cancel = Cancel::default();
        let mut blocks = Blocks::start(input).map_err(ErrorKind::Read)?;
        blocks.format(&cancel)?;
        let mut source = StreamSource::new(blocks, None, cancel.clone());
        let format = Format::Tar(Some(compression));
        let inside = self.inside(format, source.peek())?;
        let target = &mut Target::Index(builder);
        let (source, read) = self.unpacker().read_inside(source, &inside, format, target, &cancel);
        let summary = read.map_err(|kind| kind.in_compressed(compression))?;
        Ok((source.used(), summary.format))
    }

    /// Decodes all of the archive into a file without a name.
    fn unpacked(&self) -> Result<(Index, Content, Format), ErrorKind> {
        let limits = self.options.limits;
        let cancel = Cancel::default();
        self.options.progress.opened(Some(self.stamp.len));
        let range = Range::new(Arc::clone(&self.file), 0, self.stamp.len);
        let input = decode::Input::new(Box::new(range), self.options.progress.clone());
        let mut blocks = Blocks::start(input).map_err(ErrorKind::Read)?;
        let (format, _) = blocks.format(&cancel)?;
        let Some(format) = format else { return Err(ErrorKind::Changed(io::ErrorKind::InvalidData.into())) };
        let mut source = StreamSource::new(blocks, Some(limits), cancel.clone());
        let inside = self.inside(format, source.peek())?;
        format::check_package(format, source.peek())?;
        let (mut file, to) = self.spool()?;
        loop {
            let chunk = source.chunk(u64::MAX)?;
            if chunk.is_empty() {
                break;
            }
            file.write_all(chunk).map_err(to)?;
            if source.position() > limits.bytes {
                return Err(ErrorKind::Limit { limit: Limit::Bytes, value: limits.bytes, entries: 0 });
            }
        }
        self.stamp.check(&self.file)?;
        let mut builder = self.builder();
        let unpacked = FileSource::new(file.try_clone().map_err(to)?, self.path, InputProgress::default());
        let target = &mut Target::Index(&mut builder);
        let (_, read) = self.unpacker().read_inside(unpacked.map_err(to)?, &inside, format, target, &cancel);
        let summary = match format.compression() {
            Some(compression) => read.map_err(|kind| kind.in_compressed(compression))?,
            None => read?,
        };
        Ok((builder.finish(), Content::Unpacked(file), summary.format))
    }
}

/// Counts what is read.
struct Counted {
    inner: Range,
    progress: InputProgress,
}

impl io::Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(into)?;
        self.progress.advance(len as u64);
        Ok(len)
    }
}

/// An archive to be read from, an entry at a time, by any number of threads. A clone is another handle of the same.
///
/// ```no_run
/// use manyfiles_archive::Archive;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tiles = Archive::open("tiles.tar.zst")?;
/// let tile = tiles.read("12/7/3.png")?;
/// println!("{} bytes; beside it:", tile.len());
/// for entry in tiles.read_dir("12/7")? {
///     println!("{} {}", entry.size, entry.path.display());
/// }
/// # Ok(()) }
/// ```
///
/// **Paths** are relative to the archive's root, as they would be below a folder that it was unpacked into. Symbolic
/// links are followed inside of the archive, and `..` is what it is in a folder. What leads out of the root is an
/// error.
///
/// **Checksums**: [`read`](Archive::read) compares an entry of a zip with its checksum, and so does the read that
/// reaches the end of a compressed one. A frame of zstd is compared with its own. A gzip's is compared by `open` only,
/// and so are the sums of a cpio archive of the format "crc"; a tar has none.
///
/// **An archive that changes**: a read that finds the archive's length or time changed is an error, whose source is
/// [`ErrorKind::Changed`]'s text. An archive that is replaced by another file is read on as it was.
///
/// **Memory**: the index, some 100 bytes for each entry and its name, and up to 64 MiB that were decoded last.
///
/// **Errors** of reading are [`manyfiles::Error`]s, with the path of the entry below that of the archive.
#[derive(Clone, Debug)]
pub struct Archive(Arc<Inner>);

/// What is in a folder of an [`Archive`]; its [`read_dir`](Archive::read_dir).
#[derive(Clone, Debug)]
pub struct ReadDir<'a> {
    index: &'a Index,
    children: std::slice::Iter<'a, Child>,
}

impl<'a> Iterator for ReadDir<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let child = self.children.next()?;
        Some(self.index.entry(crate::sys::path(self.index.name(child)), child.node))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.children.size_hint()
    }
}

impl ExactSizeIterator for ReadDir<'_> {}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    file: Arc<File>,
    stamp: Stamp,
    format: Format,
    index: Index,
    content: Content,
}

impl Archive {
    /// Opens the archive at `path` with default [options](ArchiveOptions).
    pub fn open(path: impl AsRef<Path>) -> Result<Archive> {
        ArchiveOptions::default().open(path)
    }

    /// The choices, to be followed by [`open`](ArchiveOptions::open).
    pub fn options() -> ArchiveOptions {
        ArchiveOptions::default()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What it is.
    pub fn format(&self) -> Format {
        self.0.format
    }

    /// How many of its entries cannot be reached, because they would not be unpacked: paths that lead out of the root,
    /// encrypted entries of a zip, sockets. [`Unpacker::list`](crate::Unpacker::list) tells why of each.
    pub fn refused(&self) -> u64 {
        self.0.index.refused
    }

    /// All of a file's content. Look at its [size](Archive::metadata) first where a file may be of any size: a few
    /// bytes of a tar make a hole of a terabyte.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, manyfiles::Error> {
        let path = path.as_ref();
        let read = || {
            let node = self.index().node(self.file_node(path)?);
            self.if_unchanged(self.0.content.read(&self.0.file, self.index(), node))
        };
        read().map_err(|cause| self.error(Operation::Read, path, cause))
    }

    /// Reads from a file's `offset` on until `buffer` is full or the file ends, and says how much that was.
    pub fn read_at(&self, path: impl AsRef<Path>, offset: u64, buffer: &mut [u8]) -> Result<usize, manyfiles::Error> {
        let path = path.as_ref();
        let read = self.file_node(path).and_then(|node| self.read_node(node, buffer, offset));
        read.map_err(|cause| self.error(Operation::Read, path, cause))
    }

    /// Opens a file to be read from front to back, or sought in.
    pub fn open_file(&self, path: impl AsRef<Path>) -> Result<ArchiveFile, manyfiles::Error> {
        let path = path.as_ref();
        self.file_at(path).map_err(|cause| self.error(Operation::Open, path, cause))
    }

    /// What a path leads to, through links. Its [path](Entry::path) is the one that is given.
    pub fn metadata<'a>(&'a self, path: &'a (impl AsRef<Path> + ?Sized)) -> Result<Entry<'a>, manyfiles::Error> {
        self.entry(path.as_ref(), true)
    }

    /// What a path is, which may be a symbolic link.
    pub fn symlink_metadata<'a>(
        &'a self,
        path: &'a (impl AsRef<Path> + ?Sized),
    ) -> Result<Entry<'a>, manyfiles::Error> {
        self.entry(path.as_ref(), false)
    }

    /// Whether a path leads to something.
    pub fn contains(&self, path: impl AsRef<Path>) -> bool {
        self.index().resolve(path.as_ref(), true).is_ok()
    }

    /// What is in a folder, sorted by name. The [path](Entry::path) of each is its name alone. The root is the empty
    /// path.
    pub fn read_dir(&self, path: impl AsRef<Path>) -> Result<ReadDir<'_>, manyfiles::Error> {
        let path = path.as_ref();
        self.folder_at(path).map_err(|cause| self.error(Operation::List, path, cause))
    }

    /// Shows everything below a folder, each folder before what is in it, sorted. Links are not followed. The
    /// [path](Entry::path) of each begins with `path`.
    pub fn walk(&self, path: impl AsRef<Path>, visit: &mut dyn FnMut(&Entry<'_>)) -> Result<(), manyfiles::Error> {
        let path = path.as_ref();
        let index = self.index();
        let start = self.folder_node(path).map_err(|cause| self.error(Operation::List, path, cause))?;
        // The folders above, each with what is still to be shown of it.
        let mut open = vec![index.children(start).iter()];
        let mut at = path.to_path_buf();
        while let Some(children) = open.last_mut() {
            let Some(child) = children.next() else {
                open.pop();
                at.pop();
                continue;
            };
            at.push(crate::sys::path(index.name(child)));
            visit(&index.entry(&at, child.node));
            match index.node(child.node).is {
                Type::Folder => open.push(index.children(child.node).iter()),
                _ => {
                    at.pop();
                }
            }
        }
        Ok(())
    }

    /// Whether it was opened from the file that this is of, and the file is as it was.
    pub(super) fn is_of(&self, metadata: &std::fs::Metadata) -> bool {
        let is_same = self.0.file.metadata().is_ok_and(|opened| crate::sys::is_same_file(&opened, metadata));
        is_same && self.0.stamp.is_of(metadata)
    }

    pub(crate) fn index(&self) -> &Index {
        &self.0.index
    }

    pub(super) fn file_at(&self, path: &Path) -> io::Result<ArchiveFile> {
        Ok(ArchiveFile::new(self.clone(), self.file_node(path)?))
    }

    pub(super) fn folder_at(&self, path: &Path) -> io::Result<ReadDir<'_>> {
        let index = self.index();
        Ok(ReadDir { index, children: index.children(self.folder_node(path)?).iter() })
    }

    pub(crate) fn read_node(&self, node: u32, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let node = self.index().node(node);
        self.if_unchanged(self.0.content.read_at(&self.0.file, self.index(), node, buffer, offset))
    }

    fn entry<'a>(&'a self, path: &'a Path, follow: bool) -> Result<Entry<'a>, manyfiles::Error> {
        let number =
            self.index().resolve(path, follow).map_err(|cause| self.error(Operation::Metadata, path, cause))?;
        Ok(self.index().entry(path, number))
    }

    fn file_node(&self, path: &Path) -> io::Result<u32> {
        let number = self.index().resolve(path, true)?;
        match self.index().entry(path, number).kind {
            Kind::File => Ok(number),
            Kind::Folder => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device or a FIFO, which has no content")),
        }
    }

    fn folder_node(&self, path: &Path) -> io::Result<u32> {
        let number = self.index().resolve(path, true)?;
        match self.index().node(number).is {
            Type::Folder => Ok(number),
            _ => Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder")),
        }
    }

    /// What was read may be anything, and so may be the reason of an error, if another process has changed the archive.
    fn if_unchanged<T>(&self, read: io::Result<T>) -> io::Result<T> {
        self.0
            .stamp
            .check(&self.0.file)
            .and_then(|()| self.0.content.check())
            .map_err(|kind| io::Error::other(kind.to_string()))?;
        read
    }

    fn error(&self, operation: Operation, path: &Path, cause: io::Error) -> manyfiles::Error {
        manyfiles::Error::new(operation, self.0.path.join(path), cause)
    }
}
