//! The bytes of a file, in the forms that cost no copy.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::window::Window;
use crate::sys::{self, Dir, Handle, Identity};

/// The bytes of a file that are known when it is handed over. Streams go through [`create`](super::TreeWriter::create).
///
/// Made from `Vec<u8>`, `String`, `Box<[u8]>`, `Arc<[u8]>` and whatever else owns bytes
/// ([`from_owner`](Content::from_owner)) without a copy, from `&[u8]` and `&str` with one, from
/// [`MappedFile::slice`](super::MappedFile::slice), from a file that another one is to be a copy of or to share, and from
/// pieces with holes between.
pub struct Content(pub(super) Kind);

pub(super) enum Kind {
    Bytes(Bytes),
    CopyOf(Source),
    Sparse { len: u64, pieces: Vec<(u64, Bytes)> },
}

pub(super) enum Bytes {
    Owned(Box<[u8]>),
    Vec(Vec<u8>),
    Shared(Arc<[u8]>),
    Static(&'static [u8]),
    Mapped(Window),
    Owner(Owner),
}

/// A value of the program's that has the bytes, and how many there were when it was handed over: all that is reckoned
/// before the bytes are written goes by that.
pub(super) struct Owner {
    /// `None` only while it is dropped.
    owner: Option<Box<dyn AsRef<[u8]> + Send + Sync>>,
    len: usize,
}

impl Owner {
    /// Asks the program's code, which may panic, or have another number of bytes than before.
    fn bytes(&self) -> io::Result<&[u8]> {
        let Some(owner) = &self.owner else { return Ok(&[]) };
        let bytes = catch_unwind(AssertUnwindSafe(|| (**owner).as_ref()));
        let bytes =
            bytes.map_err(|_| io::Error::other("the program's `as_ref` panicked when it was asked for the bytes"))?;
        if bytes.len() == self.len {
            return Ok(bytes);
        }
        let why = format!("its owner had {} bytes when it was handed over, and has {} now", self.len, bytes.len());
        Err(io::Error::new(io::ErrorKind::InvalidData, why))
    }
}

impl Drop for Owner {
    /// A panic in the program's own drop does not touch what becomes of the file.
    fn drop(&mut self) {
        let owner = self.owner.take();
        catch_unwind(AssertUnwindSafe(|| drop(owner))).unwrap_or(());
    }
}

/// A mapped file has changed since.
pub(super) fn cut_short() -> io::Error {
    let why = "the file that it is written from was cut short, or cannot be read there";
    io::Error::new(io::ErrorKind::UnexpectedEof, why)
}

/// The file that another one is to be a copy of.
#[derive(Clone)]
pub(super) struct Source {
    path: PathBuf,
    /// The folder below which it is opened, and its path there.
    below: Option<(Arc<Dir>, Box<Path>)>,
    /// Why a relative path could not be made absolute.
    lost: Option<Arc<io::Error>>,
    pub(super) by: By,
}

/// What the new file and its source may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Blocks, if they are many.
    Copy,
    /// Blocks, if there are any.
    Clone,
    /// Blocks; where they cannot be shared, all.
    Link,
    /// All.
    HardLink,
}

impl Source {
    /// A relative path leads from the folder that is the current one now.
    fn new(path: PathBuf, by: By) -> Source {
        if path.is_absolute() {
            return Source { path, below: None, lost: None, by };
        }
        match std::path::absolute(&path) {
            Ok(path) => Source { path, below: None, lost: None, by },
            Err(error) => Source { path, below: None, lost: Some(Arc::new(error)), by },
        }
    }

    /// Whether the new file may be the source itself, under another name.
    pub(super) fn may_be_shared(&self) -> bool {
        matches!(self.by, By::Link | By::HardLink)
    }

    /// For messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it to be read. A symbolic link is an error.
    pub(super) fn open(&self) -> io::Result<Handle> {
        match &self.below {
            Some((root, path)) => root.open_source_below(path),
            None => sys::open_source(self.absolute()?),
        }
    }

    pub(super) fn absolute(&self) -> io::Result<&Path> {
        match &self.lost {
            None => Ok(&self.path),
            Some(error) => {
                let why = format!("the current folder, which it is relative to, cannot be found: {error}");
                Err(io::Error::new(error.kind(), why))
            }
        }
    }
}

impl Bytes {
    /// Where the bytes are. Not a slice: those of a mapped file may vanish, and only a system call survives that.
    pub(super) fn as_raw(&self) -> io::Result<*const [u8]> {
        Ok(match self {
            Bytes::Owned(bytes) => &**bytes,
            Bytes::Vec(bytes) => bytes.as_slice(),
            Bytes::Shared(bytes) => &**bytes,
            Bytes::Static(bytes) => *bytes,
            Bytes::Mapped(window) => window.as_raw(),
            Bytes::Owner(owner) => owner.bytes()?,
        })
    }

    /// Copies what is at `offset` into `to`.
    pub(super) fn copy_to(&self, offset: usize, to: &mut [u8]) -> io::Result<()> {
        let bytes: &[u8] = match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Vec(bytes) => bytes,
            Bytes::Shared(bytes) => bytes,
            Bytes::Static(bytes) => bytes,
            Bytes::Mapped(window) => return window.copy_to(offset, to),
            Bytes::Owner(owner) => owner.bytes()?,
        };
        let bytes = offset.checked_add(to.len()).and_then(|end| bytes.get(offset..end)).ok_or_else(cut_short)?;
        to.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Bytes::Owned(bytes) => bytes.len(),
            Bytes::Vec(bytes) => bytes.len(),
            Bytes::Shared(bytes) => bytes.len(),
            Bytes::Static(bytes) => bytes.len(),
            Bytes::Mapped(window) => window.as_raw().len(),
            Bytes::Owner(owner) => owner.len,
        }
    }

    /// Whether they are read from this very file while they are written.
    pub(super) fn is_read_from(&self, file: Identity) -> bool {
        matches!(self, Bytes::Mapped(window) if window.file() == file)
    }
}

impl Content {
    /// A copy of the file at `source`: above 64 KiB cloned where the file system can share the blocks, else copied inside
    /// the kernel, its holes kept. Permissions and times are the source's unless [`Metadata`](super::Metadata) gives
    /// others. Symbolic links at `source` itself are not followed: that is an error. A relative path leads from what is
    /// the current folder at this call.
    ///
    /// The file is read to its end, whatever it says of its length (those of `/proc` say 0). A source that cannot be
    /// read, or that changed while it was copied (another length or modification time), is a failure of the entry whose
    /// cause names the source; and so is a copy that would replace its own source, under whatever name.
    pub fn copy_of(source: impl Into<PathBuf>) -> Content {
        Content(Kind::CopyOf(Source::new(source.into(), By::Copy)))
    }

    /// As [`copy_of`](Content::copy_of), but cloned whatever the size: no space is taken for content until one of the two
    /// files changes, which the other doesn't show. At 3 KB cloning takes as long as copying on XFS and half as long on
    /// btrfs, at 60 KB a half and a sixth. But cloning waits until what was written to the source just now is on the
    /// disk: of sources that are that new `copy_of` is faster. Where blocks cannot be shared the file is copied.
    ///
    /// What became of each file, [`Outcome::Written`](super::Outcome::Written) tells, and how many were cloned the
    /// [report](super::Report::cloned).
    pub fn clone_of(source: impl Into<PathBuf>) -> Content {
        Content(Kind::CopyOf(Source::new(source.into(), By::Clone)))
    }

    /// The file at `source` again, at the least cost: cloned where the file system can
    /// ([`clone_of`](Content::clone_of)), else **shared** (a hard link: one file with two names), else copied. For the
    /// stores of package managers, and whatever else is only replaced and never written to: whoever writes into a file
    /// that is shared changes the source.
    ///
    /// What the file systems of source and target can is found out with the first file of each pair of them, and
    /// remembered while the tree is open. A single file that cannot be shared is copied: one that has as many names as
    /// it can have, one of another user's that the system protects (`fs.protected_hardlinks`).
    ///
    /// [`Metadata`](super::Metadata) that is given and differs from the source's never changes the source: such a file
    /// gets content of its own, and so does one that is given extended attributes. What is not given is the source's.
    ///
    /// A name that leads to the source already needs nothing: it is skipped by
    /// [`SkipIdentical`](super::OnConflict::SkipIdentical), and done where it would be replaced or written over. A name
    /// that is taken by something else is settled by the policy, and never written over in place.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let temp = tempfile::tempdir()?;
    /// # let store = temp.path().join("store");
    /// # std::fs::create_dir(&store)?;
    /// # std::fs::write(store.join("left-pad.js"), "module.exports = …")?;
    /// use manyfiles::tree::{Content, TreeWriter};
    /// let tree = TreeWriter::open(temp.path().join("node_modules"))?;
    /// tree.file("left-pad/index.js", Content::link_to(store.join("left-pad.js")))?;
    /// let report = tree.finish()?;
    /// println!("{} cloned, {} shared, of {} files", report.cloned, report.shared, report.files);
    /// # Ok(()) }
    /// ```
    pub fn link_to(source: impl Into<PathBuf>) -> Content {
        Content(Kind::CopyOf(Source::new(source.into(), By::Link)))
    }

    /// As [`link_to`](Content::link_to), but shared wherever it can be, also where the file system could clone: a hard
    /// link takes half the time of a clone, no inode, and its pages are in memory once. Where it cannot be shared the
    /// file is copied.
    pub fn hard_link_to(source: impl Into<PathBuf>) -> Content {
        Content(Kind::CopyOf(Source::new(source.into(), By::HardLink)))
    }

    /// A copy of the file that has this path below `root`: no link is followed on the way. `shown` is for messages.
    pub(super) fn copy_below(root: Arc<Dir>, path: &Path, shown: PathBuf) -> Content {
        Content(Kind::CopyOf(Source { path: shown, below: Some((root, path.into())), lost: None, by: By::Copy }))
    }

    /// The bytes of a value that owns them, without a copy: of a reference-counted buffer, of a mapping, of a type of
    /// your own. The value is asked for the bytes here, and again when they are written, on a thread of the tree's,
    /// where it is dropped too.
    ///
    /// An `as_ref` that panics then, or that returns another number of bytes than here, is a failure of the entry. An
    /// `as_ref` that waits holds up the other entries that its thread has taken, in the worst case all of its folder:
    /// it must not wait for another entry. Bytes that come late belong into [`create`](super::TreeWriter::create).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use manyfiles::tree::Content;
    /// let shared = Arc::new(vec![1, 2, 3]);
    /// # struct Shared(Arc<Vec<u8>>);
    /// # impl AsRef<[u8]> for Shared { fn as_ref(&self) -> &[u8] { &self.0 } }
    /// let one = Content::from_owner(Shared(shared.clone()));
    /// let other = Content::from_owner(Shared(shared));
    /// # drop((one, other));
    /// ```
    pub fn from_owner(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Content {
        let len = owner.as_ref().len();
        Content(Kind::Bytes(Bytes::Owner(Owner { owner: Some(Box::new(owner)), len })))
    }

    /// What it is to be a copy of.
    pub(super) fn source_path(&self) -> Option<&Path> {
        match &self.0 {
            Kind::CopyOf(source) => Some(source.path()),
            _ => None,
        }
    }

    /// A file of `len` bytes that are zero but for the pieces, each with its offset, in rising order and without
    /// overlap. What is between them takes no space where the file system has holes.
    ///
    /// # Panics
    /// If a piece overlaps the one before, reaches past `len`, or is itself not plain bytes. The length of a piece is
    /// the one that it has at this call.
    pub fn sparse(len: u64, pieces: impl IntoIterator<Item = (u64, Content)>) -> Content {
        let mut end = 0;
        let pieces = pieces
            .into_iter()
            .map(|(offset, content)| match content.0 {
                Kind::Bytes(bytes) => {
                    assert!(offset >= end, "a piece at {offset} overlaps the one before, which ends at {end}");
                    end = offset.checked_add(bytes.len() as u64).expect("a piece ends past 2^64");
                    (offset, bytes)
                }
                _ => panic!("a piece of a sparse file is plain bytes"),
            })
            .collect();
        assert!(end <= len, "the last piece ends at {end}, the file at {len}");
        Content(Kind::Sparse { len, pieces })
    }

    /// How many bytes there are to write, as far as is known before the source is opened.
    pub(super) fn weight(&self) -> usize {
        match &self.0 {
            Kind::Bytes(bytes) => bytes.len(),
            Kind::CopyOf(_) => 0,
            Kind::Sparse { pieces, .. } => pieces.iter().map(|(_, bytes)| bytes.len()).sum(),
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Bytes(bytes) => write!(f, "Content({} bytes)", bytes.len()),
            Kind::CopyOf(source) => write!(f, "Content(copy of {:?})", source.path()),
            Kind::Sparse { len, pieces } => write!(f, "Content({len} bytes, {} pieces)", pieces.len()),
        }
    }
}

macro_rules! content_from {
    ($($from:ty => |$it:ident| $bytes:expr;)*) => {
        $(impl From<$from> for Content {
            fn from($it: $from) -> Content {
                Content(Kind::Bytes($bytes))
            }
        })*
    };
}

content_from! {
    Vec<u8> => |it| Bytes::Vec(it);
    String => |it| Bytes::Vec(it.into_bytes());
    Box<[u8]> => |it| Bytes::Owned(it);
    Arc<[u8]> => |it| Bytes::Shared(it);
    &[u8] => |it| Bytes::Owned(it.into());
    &str => |it| Bytes::Owned(it.as_bytes().into());
}

impl<const N: usize> From<&[u8; N]> for Content {
    fn from(it: &[u8; N]) -> Content {
        Content::from(it.as_slice())
    }
}

impl Content {
    /// Bytes that live as long as the program.
    pub fn from_static(bytes: &'static [u8]) -> Content {
        Content(Kind::Bytes(Bytes::Static(bytes)))
    }
}
