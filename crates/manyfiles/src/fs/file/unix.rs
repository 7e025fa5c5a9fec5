//! What a file is on Unix: a descriptor.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use super::File;

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lend().as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.lend().as_raw_fd()
    }
}

impl IntoRawFd for File {
    fn into_raw_fd(self) -> RawFd {
        self.into_inner().into_raw_fd()
    }
}

impl From<OwnedFd> for File {
    /// A file whose path is not known.
    fn from(fd: OwnedFd) -> File {
        std::fs::File::from(fd).into()
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
