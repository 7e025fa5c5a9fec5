//! The bytes of a file, in the forms that cost no copy.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::mapped::Window;

/// The bytes of a file that are known when it is handed over. Streams go through [`create`](super::TreeWriter::create).
///
/// Made from `Vec<u8>`, `String`, `Box<[u8]>`, `Arc<[u8]>` without a copy, from `&[u8]` and `&str` with one, from
/// [`MappedFile::slice`](super::MappedFile::slice), from a file that another one is to be a copy of, and from pieces with
/// holes between.
///
/// (Not from any `AsRef<[u8]>`: content is dropped on threads that have descriptor tables of their own, where a `Drop` that
/// closes a descriptor would close the wrong one.)
pub struct Content(pub(super) Kind);

pub(super) enum Kind {
    Bytes(Bytes),
    CopyOf(PathBuf),
    Sparse { len: u64, pieces: Vec<(u64, Bytes)> },
}

pub(super) enum Bytes {
    Owned(Box<[u8]>),
    Vec(Vec<u8>),
    Shared(Arc<[u8]>),
    Static(&'static [u8]),
    Mapped(Window),
}

impl Bytes {
    /// Where the bytes are. Not a slice: those of a mapped file may vanish, and only a system call survives that.
    pub(super) fn as_raw(&self) -> *const [u8] {
        match self {
            Bytes::Owned(bytes) => &**bytes,
            Bytes::Vec(bytes) => bytes.as_slice(),
            Bytes::Shared(bytes) => &**bytes,
            Bytes::Static(bytes) => *bytes,
            Bytes::Mapped(window) => window.as_raw(),
        }
    }

    /// Copies what is at `offset` into `to`. False if there is not as much, or it cannot be read.
    pub(super) fn copy_to(&self, offset: usize, to: &mut [u8]) -> bool {
        let bytes: &[u8] = match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Vec(bytes) => bytes,
            Bytes::Shared(bytes) => bytes,
            Bytes::Static(bytes) => bytes,
            Bytes::Mapped(window) => return window.copy_to(offset, to),
        };
        let Some(bytes) = offset.checked_add(to.len()).and_then(|end| bytes.get(offset..end)) else { return false };
        to.copy_from_slice(bytes);
        true
    }

    pub(super) fn len(&self) -> usize {
        self.as_raw().len()
    }
}

impl Content {
    /// A copy of the file at `source`: cloned where the file system can share the blocks, else copied inside the kernel, its
    /// holes kept. Permissions and times are the source's unless [`Metadata`](super::Metadata) gives others. Symbolic links
    /// at `source` itself are not followed: that is an error.
    pub fn copy_of(source: impl Into<PathBuf>) -> Content {
        Content(Kind::CopyOf(source.into()))
    }

    /// A file of `len` bytes that are zero but for the pieces, each with its offset, in rising order and without overlap.
    /// What is between them takes no space where the file system has holes.
    ///
    /// # Panics
    /// If a piece overlaps the one before, reaches past `len`, or is itself not plain bytes.
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
            Kind::CopyOf(source) => write!(f, "Content(copy of {source:?})"),
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
