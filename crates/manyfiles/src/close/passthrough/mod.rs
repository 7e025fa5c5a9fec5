//! What a file can do, a wrapped file can do: every method is the handle's own, those included that have a default.

#[cfg(any(feature = "async-std", feature = "smol"))]
mod futures;
#[cfg(feature = "tokio")]
mod tokio;

use std::fmt::Arguments;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};

use super::FastClose;

impl<H: Read + Send + 'static> Read for FastClose<H> {
    #[inline]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (**self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (**self).read_vectored(bufs)
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        (**self).read_to_end(buf)
    }

    fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
        (**self).read_to_string(buf)
    }

    fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<()> {
        (**self).read_exact(buf)
    }
}

impl<H: Write + Send + 'static> Write for FastClose<H> {
    #[inline]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (**self).write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (**self).write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }

    #[inline]
    fn write_all(&mut self, buf: &[u8]) -> io::Result<()> {
        (**self).write_all(buf)
    }

    fn write_fmt(&mut self, args: Arguments<'_>) -> io::Result<()> {
        (**self).write_fmt(args)
    }
}

impl<H: Seek + Send + 'static> Seek for FastClose<H> {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        (**self).seek(pos)
    }

    fn rewind(&mut self) -> io::Result<()> {
        (**self).rewind()
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        (**self).stream_position()
    }

    fn seek_relative(&mut self, offset: i64) -> io::Result<()> {
        (**self).seek_relative(offset)
    }
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
    use std::os::unix::fs::FileExt;

    use super::FastClose;

    impl<H: AsFd + Send + 'static> AsFd for FastClose<H> {
        fn as_fd(&self) -> BorrowedFd<'_> {
            (**self).as_fd()
        }
    }

    impl<H: AsRawFd + Send + 'static> AsRawFd for FastClose<H> {
        fn as_raw_fd(&self) -> RawFd {
            (**self).as_raw_fd()
        }
    }

    impl<H: FileExt + Send + 'static> FileExt for FastClose<H> {
        fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
            (**self).read_at(buf, offset)
        }

        fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
            (**self).read_exact_at(buf, offset)
        }

        fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
            (**self).write_at(buf, offset)
        }

        fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
            (**self).write_all_at(buf, offset)
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::io;
    use std::os::windows::fs::FileExt;
    use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, RawHandle};

    use super::FastClose;

    impl<H: AsHandle + Send + 'static> AsHandle for FastClose<H> {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            (**self).as_handle()
        }
    }

    impl<H: AsRawHandle + Send + 'static> AsRawHandle for FastClose<H> {
        fn as_raw_handle(&self) -> RawHandle {
            (**self).as_raw_handle()
        }
    }

    impl<H: FileExt + Send + 'static> FileExt for FastClose<H> {
        fn seek_read(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
            (**self).seek_read(buf, offset)
        }

        fn seek_write(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
            (**self).seek_write(buf, offset)
        }
    }
}
