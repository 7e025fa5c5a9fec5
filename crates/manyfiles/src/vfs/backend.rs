//! What a place for files has to offer.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

pub use crate::sys::Identity;
use crate::writer::output::Output;

/// A place for files: the local ones, memory, an object store. Given to [`Options::backend`](super::Options::backend)
/// with its scheme.
///
/// A path here is what [`locate`](Backend::locate) made of a URI. Errors are the backend's own; the [`Vfs`](super::Vfs)
/// adds the operation and the URI. No two calls for one path's [`Output`] run at once, everything else may.
///
/// `examples/vfs_object_store.rs` has one that keeps whole objects, and cannot add to one that is there.
pub trait Backend: Send + Sync {
    /// The path that `name`, the part of a URI behind `scheme://`, stands for. Two names of one file should give one
    /// path: then they share a handle.
    fn locate(&self, name: &str) -> io::Result<PathBuf> {
        Ok(PathBuf::from(name))
    }

    /// Opens a file to add at its end, and creates it if it is not there.
    fn append(&self, path: &Path) -> io::Result<Box<dyn Output>>;

    /// Whether [`append`](Backend::append) opens what is there already. If not, as in an object store, a kept handle is
    /// only closed when the caller says so, and there can be no more such files at a time than handles are kept.
    fn reopens(&self) -> bool {
        true
    }

    /// Opens a file to write it anew: what was there is gone.
    fn create(&self, path: &Path, choices: &Choices<'_>) -> io::Result<Box<dyn Output>>;

    /// The names of the options that [`create`](Backend::create) knows. Any other is refused before it is called.
    fn option_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// What the file or folder is that a path leads to, through links: two paths with the same identity are one file,
    /// whatever its names. `None`, from each call: a file is its path here, as in an object store.
    ///
    /// If there is one, an [`Output`] has it as well, and so has what [`open`](Backend::open) opens.
    fn identity(&self, _path: &Path) -> io::Result<Option<Identity>> {
        Ok(None)
    }

    /// How many names the file has that a path leads to, through links: more than one where there are hard links. Only
    /// asked where files have an [identity](Backend::identity).
    fn names(&self, _path: &Path) -> io::Result<u64> {
        Ok(1)
    }

    /// The one path among all that lead to a file or folder: no links, no `..`. Only asked where files have an
    /// [identity](Backend::identity).
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    /// Whether a path is a link to another one, which may be in any folder: what goes through folders does not go
    /// through those.
    fn is_link(&self, _path: &Path) -> bool {
        false
    }

    /// Opens a file to be read more than once. `None`, from each call: keeping anything open gains nothing here, and
    /// [`read_at`](Backend::read_at) is what reads.
    fn open(&self, _path: &Path) -> io::Result<Option<Box<dyn Input>>> {
        Ok(None)
    }

    /// Gives a file this content, whole and durable: whenever anybody looks, also after a crash, it has the old content
    /// or the new.
    fn put(&self, _path: &Path, _bytes: &[u8]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "nothing can be replaced as a whole here"))
    }

    /// Copies the content of a file. What was at `to` is replaced.
    fn copy(&self, from: &Path, to: &Path) -> io::Result<u64> {
        let read = |offset, buffer: &mut [u8]| self.read_at(from, offset, buffer);
        copy_by_pieces(read, || self.create(to, &Choices::default()))
    }

    /// Reads from `offset` on until `buffer` is full or the file ends, and says how much that was.
    fn read_at(&self, path: &Path, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// What `path` is; [`NotFound`](io::ErrorKind::NotFound) if it is nothing.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// The names in a folder, in any order.
    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Metadata)>>;

    /// Makes a folder and those above it; one that is there is fine.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// Removes a file or an empty folder.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Gives a file or folder another path. A file that has it is replaced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes durable what was written to a file before, and its name; of a folder, the names in it.
    fn sync(&self, path: &Path) -> io::Result<()>;
}

/// Copies what `read` reads from an offset on. Nothing is opened to be written before something could be read.
pub(super) fn copy_by_pieces(
    read: impl Fn(u64, &mut [u8]) -> io::Result<usize>,
    open: impl FnOnce() -> io::Result<Box<dyn Output>>,
) -> io::Result<u64> {
    let mut buffer = vec![0; 256 << 10];
    let mut len = read(0, &mut buffer)?;
    let mut output = open()?;
    let mut copied = 0;
    loop {
        output.write(&buffer[..len])?;
        copied += len as u64;
        if len < buffer.len() {
            output.close()?;
            return Ok(copied);
        }
        len = read(copied, &mut buffer)?;
    }
}

/// A file that is open to be read, by any number of threads.
pub trait Input: Send + Sync {
    /// Reads from `offset` on until `buffer` is full or the file ends, and says how much that was.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// What the file is, if that can be told: see [`Backend::identity`].
    fn identity(&self) -> Option<Identity> {
        None
    }
}

/// What is known of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Bytes in the file; 0 for a folder.
    pub size: u64,
}

impl Metadata {
    /// A file of so many bytes.
    pub const fn file(size: u64) -> Metadata {
        Metadata { is_folder: false, size }
    }

    /// A folder.
    pub const fn folder() -> Metadata {
        Metadata { is_folder: true, size: 0 }
    }
}

/// The options of one [`create`](Backend::create): names that the backend knows, each once, and values that it has to
/// judge.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices<'a> {
    pairs: &'a [(&'a str, &'a str)],
}

impl<'a> Choices<'a> {
    pub(super) fn checked(pairs: &'a [(&'a str, &'a str)], backend: &dyn Backend) -> io::Result<Choices<'a>> {
        let invalid = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        let own = backend.option_names();
        for (n, (name, _)) in pairs.iter().enumerate() {
            if !own.contains(name) {
                let known = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
                return invalid(format!("there is no option {name:?} here; known: {known}"));
            }
            if pairs[..n].iter().any(|(other, _)| other == name) {
                return invalid(format!("the option {name:?} is given twice"));
            }
        }
        Ok(Choices { pairs })
    }

    /// The value given for `name`.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// The value given for `name`, as `parse` reads it. If it returns `None`, the error names the option, its value,
    /// and what is `expected`.
    pub fn parse<T>(&self, name: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> io::Result<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        parse(value).map(Some).ok_or_else(|| {
            let message = format!("the option {name:?} is {expected}, not {value:?}");
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })
    }
}
