//! [`ArchiveWriter`]: takes entries, in the order of the calls, and hands them over in batches.

use std::fmt;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use manyfiles::tree::{Metadata, Node, Refusal};
use manyfiles::{Error, Operation, Result};

use super::compress::batch_size;
use super::destination::Destination;
use super::engine::{Engine, Order, Shared};
use super::entry::{Head, Item};
use super::options::WriterOptions;
use super::report::{NotWritten, Written, count};
use super::source::{Opened, SourceFile};
use crate::format::Format;
use crate::owners::Names;
use crate::sys;

/// Writes one archive: many files become one. The calls are those of a [`TreeWriter`](manyfiles::tree::TreeWriter), and
/// may come from any thread. Entries are in the archive in the order of the calls.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let name = temp.path().join("tiles.tar.zst");
/// use manyfiles::tree::Metadata;
/// use manyfiles_archive::ArchiveWriter;
///
/// let archive = ArchiveWriter::create(&name)?;
/// for n in 0..1000 {
///     archive.file(format!("tiles/{n}"), vec![n as u8; 4096], Metadata::default())?;
/// }
/// let written = archive.finish()?; // now it is there
/// assert_eq!((written.files, written.bytes), (1000, 4_096_000));
/// # Ok(()) }
/// ```
///
/// - **Fast**: files are read, and batches of entries compressed, on one thread per core.
/// - **Bounded**: at most two batches a thread are on their way, some megabytes each. A zip's directory is kept in
///   memory until the end: some 100 bytes for each entry, and its name.
/// - **Reproducible**: the same calls give the same bytes, on any number of threads. (Dates in a zip are also stored in
///   the user's time zone.)
/// - **Whole or not there**: [`finish`](ArchiveWriter::finish) gives the archive its name. Dropped before that, or
///   after a failed write, nothing of it stays; a process that is killed leaves `.NAME.partial` beside it, which the
///   next run removes. A file of this user's that has that name and begins as an archive is taken for one; another is an
///   error, and stays.
/// - **Honest**: a file that cannot be read is not in the archive, and is named by `finish`. Of a file that changes
///   while it is read, the archive has what was read, and zeros for what was cut off; it is named, too. No link is
///   followed to a file.
///
/// An entry without a mode gets 0644, or 0755 if it is a folder. One without an owner belongs to number 0, one without
/// a time is of 1970. A tar stores extended attributes that [`Metadata::xattr`] gives, and access control lists, which
/// are two of them, as text; to store what a file has, see [`SourceFile::keep`]. In a zip an entry with attributes is a
/// failure.
pub struct ArchiveWriter {
    engine: Engine,
    batch: Mutex<Batch>,
    format: Format,
    partial: Option<PathBuf>,
    keeps_holes: bool,
    names: Option<Arc<Names>>,
    /// How many bytes make a batch.
    most: u64,
}

/// Entries that are not handed over yet.
#[derive(Default)]
struct Batch {
    items: Vec<Item>,
    bytes: u64,
}

/// What an entry costs beside its content.
const ENTRY: u64 = 1024;

impl ArchiveWriter {
    /// The choices, to be followed by a call that begins.
    pub fn options() -> WriterOptions {
        WriterOptions::default()
    }

    /// [`WriterOptions::create`] with default options.
    pub fn create(path: impl AsRef<Path>) -> Result<ArchiveWriter> {
        ArchiveWriter::options().create(path)
    }

    pub(super) fn begin(path: &Path, options: WriterOptions) -> Result<ArchiveWriter> {
        let error = |why: String| Error::new(Operation::Create, path, io::Error::new(io::ErrorKind::InvalidInput, why));
        let format = options.format.or_else(|| Format::of_name(path)).ok_or_else(|| {
            error(format!("its name says no format that can be written; the endings are {}", Format::ENDINGS))
        })?;
        let level = options.checked_level(format).map_err(error)?;
        let destination = Destination::create(path, options.replace, options.durable)?;
        if (options.verify || options.durable) && destination.partial().is_none() {
            return Err(error("it is no file, and can neither be read back nor be made durable".into()));
        }
        ArchiveWriter::start(destination, format, level, path, &options)
    }

    pub(super) fn begin_stream(
        stream: Box<dyn Write + Send>,
        name: &Path,
        options: WriterOptions,
    ) -> Result<ArchiveWriter> {
        let error = |why: String| Error::new(Operation::Create, name, io::Error::new(io::ErrorKind::InvalidInput, why));
        let format = options.format.ok_or_else(|| error("a stream needs a format to be chosen".into()))?;
        let level = options.checked_level(format).map_err(error)?;
        if options.verify || options.durable {
            return Err(error("a stream can neither be read back nor be made durable".into()));
        }
        let destination = Destination::Stream { stream, name: name.to_path_buf() };
        ArchiveWriter::start(destination, format, level, name, &options)
    }

    fn start(
        destination: Destination,
        format: Format,
        level: i32,
        name: &Path,
        options: &WriterOptions,
    ) -> Result<ArchiveWriter> {
        let order = Order {
            format,
            level,
            utc: options.utc,
            verify: options.verify,
            threads: options.threads,
            progress: options.progress.clone(),
            name: name.to_path_buf(),
        };
        let most = match format {
            Format::Tar(compression) => batch_size(compression),
            _ => 1 << 20,
        };
        let partial = destination.partial().map(Path::to_path_buf);
        let keeps_holes = options.holes && format != Format::Zip;
        let names = (options.owner_names && format != Format::Zip).then(Arc::default);
        let engine = Engine::start(order, destination)?;
        Ok(ArchiveWriter { engine, batch: Mutex::default(), format, partial, keeps_holes, names, most })
    }

    /// The kind of archive.
    pub fn format(&self) -> Format {
        self.format
    }

    /// A folder. Folders on the way to other entries need not be given.
    pub fn folder(&self, path: impl AsRef<Path>, metadata: Metadata) -> Result<()> {
        let head = self.head(Operation::CreateFolder, path.as_ref(), &metadata, 0o755)?;
        self.add([Item::Folder(head)], 0)
    }

    /// A file with these bytes.
    pub fn file(&self, path: impl AsRef<Path>, bytes: impl Into<Arc<[u8]>>, metadata: Metadata) -> Result<()> {
        let head = self.head(Operation::Create, path.as_ref(), &metadata, 0o644)?;
        let bytes = bytes.into();
        let len = bytes.len() as u64;
        match len > self.most {
            true => self.add_pieces(head, Opened::bytes(bytes)),
            false => self.add([Item::Bytes(head, bytes)], len),
        }
    }

    /// A file with the content of another one. A small one is read when its turn comes, and a failure is told by
    /// [`finish`](ArchiveWriter::finish). A large one, with more than a megabyte or with holes, is opened now.
    pub fn file_from(&self, path: impl AsRef<Path>, source: SourceFile, metadata: Metadata) -> Result<()> {
        if source.len() > self.most || source.is_open() || self.keeps_holes && source.may_have_holes() {
            return self.file_opened(path, source, metadata);
        }
        let head = self.head(Operation::Create, path.as_ref(), &metadata, 0o644)?;
        let len = source.len();
        self.add([Item::Small(head, source, len)], len)
    }

    /// The same, but the file is opened now, whatever its size, and read now if it is small: so that an error says at
    /// once that it will not be in the archive. For files that hard links will be made to.
    pub fn file_opened(&self, path: impl AsRef<Path>, source: SourceFile, metadata: Metadata) -> Result<()> {
        let head = self.head(Operation::Create, path.as_ref(), &metadata, 0o644)?;
        if !source.is_open() && source.len() > self.most {
            self.leave_handles()?;
        }
        let counts = (self.format != Format::Zip).then(|| self.engine.shared().counts());
        let opened = source.open(self.keeps_holes, counts, &|| self.check().is_ok());
        let (mut opened, found) = opened.inspect_err(|error| self.fail(error.clone()))?;
        let head = match found {
            Some(found) => head.with_found(&found),
            None => head,
        };
        if opened.stored() <= self.most {
            let changed = opened.read_now().inspect_err(|error| self.fail(error.clone()))?;
            changed.into_iter().for_each(|error| self.fail(error));
        }
        self.add_pieces(head, opened)
    }

    fn add_pieces(&self, head: Head, opened: Opened) -> Result<()> {
        let opened = Arc::new(opened);
        let whole = [(0, opened.len())];
        let pieces = opened.data.as_deref().unwrap_or(&whole);
        let mut batch = self.lock();
        self.push(&mut batch, Item::Begin(head, Arc::clone(&opened)), ENTRY)?;
        for &(mut offset, mut left) in pieces {
            while left > 0 {
                let len = left.min(self.most);
                self.push(&mut batch, Item::Piece(Arc::clone(&opened), offset, len), len)?;
                (offset, left) = (offset + len, left - len);
            }
        }
        let end = Item::End(Arc::clone(&opened));
        self.push(&mut batch, end, 0)
    }

    /// A symbolic link that says `target`, which is not looked at.
    pub fn symlink(&self, path: impl AsRef<Path>, target: impl AsRef<Path>, metadata: Metadata) -> Result<()> {
        let head = self.head(Operation::Symlink, path.as_ref(), &metadata, 0o777)?;
        let target = sys::bytes_of(target.as_ref()).filter(|target| !target.contains(&0));
        let target = target.ok_or_else(|| self.refuse(Operation::Symlink, path.as_ref(), Refusal::NotUnicode))?;
        self.add([Item::Symlink(head, target)], 0)
    }

    /// A second name for the file that is in the archive at `existing`. A zip knows no such names: use
    /// [`file_from`](ArchiveWriter::file_from) there.
    pub fn hard_link(&self, path: impl AsRef<Path>, existing: impl AsRef<Path>, metadata: Metadata) -> Result<()> {
        let head = self.head(Operation::HardLink, path.as_ref(), &metadata, 0o644)?;
        if self.format == Format::Zip {
            return Err(self.unsupported(Operation::HardLink, path.as_ref(), "a zip can have no hard links"));
        }
        let existing =
            name_of(existing.as_ref()).map_err(|refusal| self.refuse(Operation::HardLink, path.as_ref(), refusal))?;
        self.add([Item::HardLink(head, existing)], 0)
    }

    /// A device or a FIFO. A zip can have none.
    pub fn node(&self, path: impl AsRef<Path>, node: Node, metadata: Metadata) -> Result<()> {
        let head = self.head(Operation::CreateNode, path.as_ref(), &metadata, 0o644)?;
        if self.format == Format::Zip {
            return Err(self.unsupported(
                Operation::CreateNode,
                path.as_ref(),
                "a zip can have no devices and no FIFOs",
            ));
        }
        self.add([Item::Node(head, node)], 0)
    }

    /// Adds a failure to the report: of something that could not be found or read before it was handed over.
    pub fn fail(&self, error: Error) {
        self.engine.shared().fail(error);
    }

    /// The file that is being written beside the archive's name, so that it need not be packed into itself. `None` for
    /// a stream, a device or a pipe.
    pub fn partial_path(&self) -> Option<&Path> {
        self.partial.as_deref()
    }

    /// To stop the writing from another thread.
    pub fn canceller(&self) -> WriterCanceller {
        WriterCanceller(self.engine.shared_handle())
    }

    /// Fails if the archive cannot be written any more, so that nothing more need be handed over.
    pub fn check(&self) -> Result<()> {
        self.engine.shared().check()
    }

    /// Waits until everything is written, and gives the archive its name.
    pub fn finish(self) -> std::result::Result<Written, NotWritten> {
        let handed = {
            let mut batch = self.lock();
            self.hand(&mut batch)
        };
        handed.map_err(NotWritten::Archive)?;
        self.engine.finish()
    }

    /// Waits for what is on its way if the process has hardly a handle left: a file that is open stays so until all of
    /// it is read, and others are opened in the meantime, by the threads and by who finds the files.
    fn leave_handles(&self) -> Result<()> {
        const OTHERS: usize = 4;
        if sys::has_handles(OTHERS) {
            return Ok(());
        }
        {
            let mut batch = self.lock();
            self.hand(&mut batch)?;
        }
        self.engine.settle();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Batch> {
        // Nothing panics while it is locked.
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add<const N: usize>(&self, items: [Item; N], bytes: u64) -> Result<()> {
        let mut batch = self.lock();
        let mut bytes = bytes + ENTRY;
        for item in items {
            self.push(&mut batch, item, std::mem::take(&mut bytes))?;
        }
        Ok(())
    }

    fn push(&self, batch: &mut Batch, item: Item, bytes: u64) -> Result<()> {
        if !matches!(item, Item::Piece(..) | Item::End(_)) {
            self.engine.shared().progress().saw_entry();
        }
        batch.items.push(item);
        batch.bytes += bytes;
        if batch.bytes >= self.most { self.hand(batch) } else { Ok(()) }
    }

    fn hand(&self, batch: &mut Batch) -> Result<()> {
        batch.bytes = 0;
        match std::mem::take(&mut batch.items) {
            items if items.is_empty() => Ok(()),
            items => self.engine.hand(items),
        }
    }

    /// The head of an entry, or why it can have none: that is in the report, too.
    fn head(&self, operation: Operation, path: &Path, metadata: &Metadata, mode: u32) -> Result<Head> {
        match name_of(path) {
            Ok(name) if self.format == Format::Zip && name.len() >= usize::from(u16::MAX) => {
                Err(self.refuse(operation, path, Refusal::TooLong))
            }
            Ok(_) if self.format == Format::Zip && metadata.xattrs().next().is_some() => Err(self.unsupported(
                operation,
                path,
                "a zip keeps neither extended attributes nor access control lists",
            )),
            Ok(name) => {
                if metadata.loses_attributes() {
                    count(&self.engine.shared().counts().not_kept);
                }
                Ok(Head { names: self.names.clone(), ..Head::new(name, metadata, mode) })
            }
            Err(refusal) => Err(self.refuse(operation, path, refusal)),
        }
    }

    fn unsupported(&self, operation: Operation, path: &Path, why: &str) -> Error {
        let error = Error::new(operation, path, io::Error::new(io::ErrorKind::Unsupported, why));
        self.fail(error.clone());
        error
    }

    fn refuse(&self, operation: Operation, path: &Path, refusal: Refusal) -> Error {
        let error = Error::refused(operation, path, refusal);
        self.fail(error.clone());
        error
    }
}

/// Stops the writing of an archive: calls fail from then on, and nothing of it stays. Cheap to clone.
#[derive(Clone)]
pub struct WriterCanceller(Arc<Shared>);

impl WriterCanceller {
    /// Stops it. What is done once [`finish`](ArchiveWriter::finish) has all bytes written is not stopped any more.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl fmt::Debug for WriterCanceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterCanceller").finish_non_exhaustive()
    }
}

impl fmt::Debug for ArchiveWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveWriter").field("format", &self.format).finish_non_exhaustive()
    }
}

/// A path as archives have it: names with slashes between.
fn name_of(path: &Path) -> std::result::Result<Vec<u8>, Refusal> {
    let mut name = Vec::new();
    for part in path.components() {
        let part = match part {
            Component::Normal(part) => part,
            Component::CurDir => continue,
            Component::ParentDir => return Err(Refusal::ParentFolder),
            Component::RootDir | Component::Prefix(_) => return Err(Refusal::Absolute),
        };
        if !name.is_empty() {
            name.push(b'/');
        }
        name.extend(sys::bytes_of(Path::new(part)).ok_or(Refusal::NotUnicode)?);
    }
    match () {
        () if name.is_empty() => Err(Refusal::Empty),
        () if name.contains(&0) => Err(Refusal::Nul),
        () => Ok(name),
    }
}
