//! An open file that knows its path.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Stdio;

use super::OpenOptions;
use crate::close::{self, FastClose};

/// [`std::fs::File`], closed by the global [`Closer`](crate::close::Closer) when it is dropped; what the system says then
/// arrives at [`close::wait`](crate::close::wait), with the path that the file was opened by.
///
/// It has all that std's has: the methods of that are reached through this. A clone
/// ([`try_clone`](std::fs::File::try_clone)) is a file of std's. A file that Windows removes when it is closed
/// (`FILE_FLAG_DELETE_ON_CLOSE`) is closed on the spot: until then its name is not free, and who opened it would lose it.
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
// A `FastClose` has no room for a path, and one that the system is asked for at close would be a guess: files are renamed.
pub struct File {
    /// `None` only while it is dropped.
    file: Option<std::fs::File>,
    path: Option<Box<Path>>,
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

    /// [`std::fs::File::create`]: for writing; what was in it goes away.
    ///
    /// # Errors
    /// As in std: when it cannot be made or opened for writing.
    pub fn create<P: AsRef<Path>>(path: P) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path)
    }

    /// [`std::fs::File::create_new`]: for reading and writing; there must be none yet.
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

    pub(super) fn opened(file: std::fs::File, path: &Path, close_here: bool) -> File {
        File { file: Some(file), path: Some(path.into()), close_here }
    }
}

const HELD: &str = "held until the drop";

impl Drop for File {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        if self.close_here {
            close::close_here_at(file, self.path.take());
        } else {
            close::close_at(file, self.path.take());
        }
    }
}

impl Deref for File {
    type Target = std::fs::File;

    #[inline]
    fn deref(&self) -> &std::fs::File {
        self.inner()
    }
}

impl DerefMut for File {
    #[inline]
    fn deref_mut(&mut self) -> &mut std::fs::File {
        self.file.as_mut().expect(HELD)
    }
}

/// As [`std::fs::File`].
impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().fmt(f)
    }
}

/// What a file can do, those methods included that have a default of their own.
macro_rules! pass_on {
    ($($file:ty),*) => {$(
        impl Read for $file {
            #[inline]
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                self.inner().read(buf)
            }

            fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.inner().read_vectored(bufs)
            }

            fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
                self.inner().read_to_end(buf)
            }

            fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
                self.inner().read_to_string(buf)
            }
        }

        impl Write for $file {
            #[inline]
            fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
                self.inner().write(buf)
            }

            fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                self.inner().write_vectored(bufs)
            }

            #[inline]
            fn flush(&mut self) -> io::Result<()> {
                self.inner().flush()
            }
        }

        impl Seek for $file {
            fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
                self.inner().seek(pos)
            }

            fn stream_position(&mut self) -> io::Result<u64> {
                self.inner().stream_position()
            }
        }
    )*};
}

pass_on!(File, &File);

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
    use std::os::unix::fs::FileExt;

    use super::File;

    impl AsFd for File {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.inner().as_fd()
        }
    }

    impl AsRawFd for File {
        fn as_raw_fd(&self) -> RawFd {
            self.inner().as_raw_fd()
        }
    }

    impl IntoRawFd for File {
        fn into_raw_fd(self) -> RawFd {
            self.into_inner().into_raw_fd()
        }
    }

    impl From<File> for OwnedFd {
        fn from(file: File) -> OwnedFd {
            file.into_inner().into()
        }
    }

    impl FileExt for File {
        fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
            self.inner().read_at(buf, offset)
        }

        fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
            self.inner().write_at(buf, offset)
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::io;
    use std::os::windows::fs::FileExt;
    use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, IntoRawHandle, OwnedHandle, RawHandle};

    use super::File;

    impl AsHandle for File {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            self.inner().as_handle()
        }
    }

    impl AsRawHandle for File {
        fn as_raw_handle(&self) -> RawHandle {
            self.inner().as_raw_handle()
        }
    }

    impl IntoRawHandle for File {
        fn into_raw_handle(self) -> RawHandle {
            self.into_inner().into_raw_handle()
        }
    }

    impl From<File> for OwnedHandle {
        fn from(file: File) -> OwnedHandle {
            file.into_inner().into()
        }
    }

    impl FileExt for File {
        fn seek_read(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
            self.inner().seek_read(buf, offset)
        }

        fn seek_write(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
            self.inner().seek_write(buf, offset)
        }
    }
}

impl From<std::fs::File> for File {
    /// A file whose path nobody gave.
    fn from(file: std::fs::File) -> File {
        File { file: Some(file), path: None, close_here: false }
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
