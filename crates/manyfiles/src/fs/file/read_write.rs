//! Reading, writing and seeking, by the file itself and by a reference to it.

use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};

use super::File;

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
