//! What a file is on Windows: a handle.

use std::io;
use std::os::windows::fs::FileExt;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, IntoRawHandle, OwnedHandle, RawHandle};

use super::File;

impl AsHandle for File {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.lend().as_handle()
    }
}

impl AsRawHandle for File {
    fn as_raw_handle(&self) -> RawHandle {
        self.lend().as_raw_handle()
    }
}

impl IntoRawHandle for File {
    fn into_raw_handle(self) -> RawHandle {
        self.into_inner().into_raw_handle()
    }
}

impl From<OwnedHandle> for File {
    /// A file whose path is not known.
    fn from(handle: OwnedHandle) -> File {
        std::fs::File::from(handle).into()
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
