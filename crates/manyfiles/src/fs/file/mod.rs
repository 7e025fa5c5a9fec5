//! An open file that knows its path.

mod opening;
#[cfg(any(unix, windows))]
mod raw;
mod read_write;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fmt;
use std::fs::{FileTimes, Metadata, Permissions};
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use super::open_options::OpenOptions;
use super::owner::Owner;
use crate::close::{self, Access, FastClose, Wrapper};

/// [`std::fs::File`], closed by the global [`Closer`](crate::close::Closer) when it is dropped, or by the one that
/// opened it; what the system says then arrives at [`close::wait`](crate::close::wait), or at that closer's own, with
/// the path that the file was opened by.
///
/// It has all methods of std's. Methods that only std's file has are reached through a reference to the file inside
/// ([`Deref`]).
///
/// These are closed on the spot, and not handed over:
///
/// - a file that holds a lock, because the lock must not outlive the `File`. Code that had the reference or the
///   descriptor may have locked the file. Linux says whether it is locked, on its own file systems. Elsewhere, and
///   where a server or a FUSE process keeps the locks, such a file counts as locked;
/// - what is not a regular file;
/// - a file that Windows removes when it is closed (`FILE_FLAG_DELETE_ON_CLOSE`). Until the close its name is not free,
///   and a program that opened it by the name would lose it.
///
/// [`io::copy`] lets the kernel copy between files of std's only. Between these, give it the files inside:
/// `io::copy(&mut &*from, &mut &*to)`, or use [`fs::copy`](super::copy).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("a.txt");
/// use manyfiles::{close, fs::File};
/// use std::io::{Read, Write};
///
/// let mut file = File::create(&path)?;
/// file.write_all(b"some text")?;
/// file.sync_all()?;
/// drop(file); // closed here, or soon, on another thread
///
/// let mut text = String::new();
/// File::open(&path)?.read_to_string(&mut text)?;
/// assert_eq!(text, "some text");
/// close::wait()?;
/// # Ok(()) }
/// ```
// A `FastClose` has no room for a path, and one that the system is asked for at close would be a guess: files are
// renamed.
pub struct File {
    /// `None` only while it is dropped.
    file: Option<std::fs::File>,
    path: Option<Box<Path>>,
    owner: Owner,
    access: Option<Access>,
    /// Whether code outside has had the file or its descriptor.
    is_lent: AtomicBool,
    close_here: bool,
}

impl File {
    /// [`std::fs::File::open`]: for reading.
    ///
    /// # Errors
    /// As in std: when there is no such file, or it may not be read.
    pub fn open<P: AsRef<Path>>(path: P) -> io::Result<File> {
        OpenOptions::new().read(true).open(path)
    }

    /// [`std::fs::File::create`]: for writing; its old content goes away.
    ///
    /// # Errors
    /// As in std: when it cannot be made or opened for writing.
    pub fn create<P: AsRef<Path>>(path: P) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path)
    }

    /// [`std::fs::File::create_new`]: for reading and writing; there must be no such file yet.
    ///
    /// # Errors
    /// As in std: [`AlreadyExists`](io::ErrorKind::AlreadyExists), or when it cannot be made.
    pub fn create_new<P: AsRef<Path>>(path: P) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    /// [`OpenOptions::new`].
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// The file as std knows it. It will be closed as any of std's.
    pub fn into_inner(mut self) -> std::fs::File {
        self.file.take().expect(HELD)
    }

    #[inline]
    fn inner(&self) -> &std::fs::File {
        self.file.as_ref().expect(HELD)
    }

    /// Lends std's file to code outside. That code may lock or change it, so the close may not be delayed.
    #[inline]
    fn lend(&self) -> &std::fs::File {
        self.is_lent.store(true, Ordering::Relaxed);
        self.inner()
    }

    pub(super) fn opened(
        file: std::fs::File,
        path: &Path,
        owner: Owner,
        access: Option<Access>,
        close_here: bool,
    ) -> File {
        close::recognise_also(wrapper);
        let (file, path, is_lent) = (Some(file), Some(path.into()), AtomicBool::new(false));
        File { file, path, owner, access, is_lent, close_here }
    }

    /// [`std::fs::File::sync_all`].
    ///
    /// # Errors
    /// As in std.
    pub fn sync_all(&self) -> io::Result<()> {
        self.inner().sync_all()
    }

    /// [`std::fs::File::sync_data`].
    ///
    /// # Errors
    /// As in std.
    pub fn sync_data(&self) -> io::Result<()> {
        self.inner().sync_data()
    }

    /// [`std::fs::File::set_len`].
    ///
    /// # Errors
    /// As in std.
    pub fn set_len(&self, size: u64) -> io::Result<()> {
        self.inner().set_len(size)
    }

    /// [`std::fs::File::metadata`].
    ///
    /// # Errors
    /// As in std.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.inner().metadata()
    }

    /// [`std::fs::File::try_clone`]: another handle of this file, with the same path and closer. Both may have locked
    /// it.
    ///
    /// # Errors
    /// As in std.
    pub fn try_clone(&self) -> io::Result<File> {
        let file = super::pending::with_handles(|| self.inner().try_clone())?;
        // A lock belongs to both, whichever took it.
        self.is_lent.store(true, Ordering::Relaxed);
        Ok(File {
            file: Some(file),
            path: self.path.clone(),
            owner: self.owner.clone(),
            access: self.access,
            is_lent: AtomicBool::new(true),
            close_here: self.close_here,
        })
    }

    /// [`std::fs::File::set_permissions`].
    ///
    /// # Errors
    /// As in std.
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.inner().set_permissions(permissions)
    }

    /// [`std::fs::File::set_times`].
    ///
    /// # Errors
    /// As in std.
    pub fn set_times(&self, times: FileTimes) -> io::Result<()> {
        self.inner().set_times(times)
    }

    /// [`std::fs::File::set_modified`].
    ///
    /// # Errors
    /// As in std.
    pub fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.inner().set_modified(time)
    }
}

/// How closers recognise a file of this type.
fn wrapper() -> Wrapper {
    #[allow(clippy::useless_conversion, reason = "on some systems it is none")]
    Wrapper {
        path: |any| any.downcast_ref::<File>().and_then(|file| file.path.as_deref().map(Path::to_owned)),
        take: |any| any.downcast_mut::<Option<File>>()?.take().map(|file| file.into_inner().into()),
    }
}

const HELD: &str = "held until the drop";

impl Drop for File {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let (path, access) = (self.path.take(), self.access);
        let owner = &self.owner;
        if let Some(pool) = close::pool_that_closes() {
            // Part of a value that a closer is closing: its close is that closer's, too, unless another closer has
            // opened the file.
            owner.or(&pool).close_here(file, path, access);
        } else if self.close_here {
            owner.close_here(file, path, access);
        } else if *self.is_lent.get_mut() {
            owner.close_lent(file, path, access);
        } else {
            owner.close(file, path, access);
        }
    }
}

impl Deref for File {
    type Target = std::fs::File;

    #[inline]
    fn deref(&self) -> &std::fs::File {
        self.lend()
    }
}

impl DerefMut for File {
    #[inline]
    fn deref_mut(&mut self) -> &mut std::fs::File {
        *self.is_lent.get_mut() = true;
        self.file.as_mut().expect(HELD)
    }
}

/// As [`std::fs::File`].
impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().fmt(f)
    }
}

impl From<std::fs::File> for File {
    /// A file without a known path, which may have been locked.
    fn from(file: std::fs::File) -> File {
        close::recognise_also(wrapper);
        let is_lent = AtomicBool::new(true);
        File { file: Some(file), path: None, owner: Owner::default(), access: None, is_lent, close_here: false }
    }
}

impl From<File> for std::fs::File {
    fn from(file: File) -> std::fs::File {
        file.into_inner()
    }
}

impl From<File> for FastClose<std::fs::File> {
    /// Closed in the same way; its path is forgotten.
    fn from(file: File) -> FastClose<std::fs::File> {
        FastClose::new(file.into_inner())
    }
}

impl From<File> for Stdio {
    fn from(file: File) -> Stdio {
        file.into_inner().into()
    }
}
