//! What is in a file, and what is known of it.

use std::ffi::OsStr;
use std::io;

use super::Vfs;
use crate::vfs::backend::Metadata;
use crate::{Operation, Result};

impl Vfs {
    /// The whole of a file.
    pub fn read(&self, uri: impl AsRef<OsStr>) -> Result<Vec<u8>> {
        let key = self.key(Operation::Read, uri.as_ref())?;
        let reader = self.table.reader(&key, false)?;
        let read = self.table.with_room(|| {
            let backend = self.table.backend(&key);
            let size = backend.metadata(&key.path)?.size;
            let mut bytes = Vec::new();
            // One more, to see that it ends there.
            let mut wanted =
                usize::try_from(size).ok().and_then(|size| size.checked_add(1)).ok_or(io::ErrorKind::OutOfMemory)?;
            loop {
                let have = bytes.len();
                bytes.try_reserve_exact(wanted).map_err(|_| io::ErrorKind::OutOfMemory)?;
                bytes.resize(have + wanted, 0);
                let read = match &reader {
                    Some(reader) => reader.input.read_at(have as u64, &mut bytes[have..])?,
                    None => backend.read_at(&key.path, have as u64, &mut bytes[have..])?,
                };
                bytes.truncate(have + read);
                if read < wanted {
                    return Ok(bytes);
                }
                wanted = 64 << 10;
            }
        });
        read.map_err(|cause| self.error(&key, Operation::Read, cause))
    }

    /// Reads from `offset` on until `buffer` is full or the file ends, and says how much that was: less than asked for
    /// only at the end.
    ///
    /// The file stays open for the next such call, for up to a second; each one looks whether the name still leads to
    /// the same file. On a network file system what other machines write to a file is seen a second later at most,
    /// beside what the system itself keeps.
    pub fn read_at(&self, uri: impl AsRef<OsStr>, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let key = self.key(Operation::Read, uri.as_ref())?;
        if let Some(reader) = self.table.reader(&key, true)? {
            if let Ok(read) = reader.input.read_at(offset, buffer) {
                return Ok(read);
            }
            // A handle may have gone stale where the server has lost the file. If not, the error comes again.
            self.table.forget_readers(&key, None);
        }
        // A borrow for `with_room`, which may call twice.
        let buffer = std::cell::RefCell::new(buffer);
        let read = || self.table.backend(&key).read_at(&key.path, offset, &mut buffer.borrow_mut());
        self.table.with_room(read).map_err(|cause| self.error(&key, Operation::Read, cause))
    }

    /// How long a file is, what is buffered included.
    ///
    /// # Errors
    /// of the kind [`IsADirectory`](io::ErrorKind::IsADirectory) for a folder.
    pub fn size(&self, uri: impl AsRef<OsStr>) -> Result<u64> {
        let key = self.written_out(Operation::Metadata, uri.as_ref())?;
        match self.look_up(&key)? {
            Metadata { is_folder: true, .. } => {
                Err(self.error(&key, Operation::Metadata, io::ErrorKind::IsADirectory.into()))
            }
            Metadata { size, .. } => Ok(size),
        }
    }

    /// Whether it is a folder, and how long a file is.
    pub fn metadata(&self, uri: impl AsRef<OsStr>) -> Result<Metadata> {
        self.look_up(&self.written_out(Operation::Metadata, uri.as_ref())?)
    }

    /// Whether there is a file or folder. A path that leads through a file, or a folder that may not be looked into, is
    /// an error.
    pub fn exists(&self, uri: impl AsRef<OsStr>) -> Result<bool> {
        match self.look_up(&self.key(Operation::Metadata, uri.as_ref())?) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}
