//! A file as content without a copy: [windows](Window) of it are mapped, written from, and unmapped after their last
//! use.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::content::{Bytes, Content, Kind};
use super::window::{Mapped, Window};
use crate::sys::{self, Identity};
use crate::{Error, Operation, Result};

/// How much is mapped at a time: pages of a mapping count as memory of the process once they have been used, so that
/// what is mapped must be bounded. With 32 MiB in flight some ten windows live at once.
const WINDOW: u64 = 4 << 20;

/// A file whose ranges can be the content of others: an archive that is not compressed. The bytes go from the page
/// cache of one file into that of the other with no copy between.
///
/// They are never looked at in this process, only handed to system calls, so that a file which another process cuts
/// short meanwhile is an error of the entries that it hits, not a crash. After the last entry,
/// [`check`](MappedFile::check) tells whether the file stayed as it was.
#[derive(Debug)]
pub struct MappedFile {
    file: Arc<File>,
    /// For errors.
    path: PathBuf,
    len: u64,
    modified: SystemTime,
    identity: Identity,
    window: Mutex<Option<Arc<Mapped>>>,
}

impl MappedFile {
    /// The longest slice: longer content is written piece by piece through [`create`](super::TreeWriter::create).
    pub const MAX_SLICE: usize = 32 << 20;

    /// Takes an open file. `path` is the one that errors name.
    ///
    /// # Errors
    /// Where it is no regular file, or cannot be mapped.
    pub fn new(file: File, path: impl AsRef<Path>) -> Result<MappedFile> {
        let path = path.as_ref();
        let failed = |cause| Error::new(Operation::Metadata, path, cause);
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            let why = io::Error::new(io::ErrorKind::InvalidInput, "only a regular file can be mapped");
            return Err(Error::new(Operation::Read, path, why));
        }
        let (len, modified) = (metadata.len(), metadata.modified().map_err(failed)?);
        let identity = sys::identity_of(&file).map_err(failed)?;
        let file = Arc::new(file);
        let mapped = MappedFile { file, path: path.to_path_buf(), len, modified, identity, window: Mutex::new(None) };
        if mapped.len > 0 {
            mapped.slice(0, 1)?;
        }
        Ok(mapped)
    }

    /// The length when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it was empty when it was opened.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The file, to be read in other ways.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// `len` bytes from `offset` on, as content.
    ///
    /// # Errors
    /// If the range reaches past the end, or is longer than [`MAX_SLICE`](Self::MAX_SLICE); what the system says if it
    /// cannot map it.
    pub fn slice(&self, offset: u64, len: usize) -> Result<Content> {
        let end = offset.checked_add(len as u64);
        if len > Self::MAX_SLICE || end.is_none_or(|end| end > self.len) {
            let why =
                format!("{len} bytes from {offset} on are not in a file of {} bytes, or too many at once", self.len);
            return Err(self.error(io::Error::new(io::ErrorKind::InvalidInput, why)));
        }
        if len == 0 {
            return Ok(Content::from_static(b""));
        }
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let mapped = match &*window {
            Some(mapped) if mapped.mapping().covers(offset, len) => mapped.clone(),
            _ => {
                // The next entries follow behind this one.
                let start = offset - offset % sys::Mapping::granularity();
                let end = (start + WINDOW).max(offset + len as u64).min(self.len);
                let mapping = sys::Mapping::new(&self.file, start, (end - start) as usize);
                let mapping = mapping.map_err(|cause| self.error(cause))?;
                window.insert(Arc::new(Mapped::new(mapping, self.identity))).clone()
            }
        };
        let offset = (offset - mapped.mapping().start()) as usize;
        Ok(Content(Kind::Bytes(Bytes::Mapped(Window::new(mapped, offset, len)))))
    }

    /// Whether the file is still what it was when it was opened.
    ///
    /// # Errors
    /// If it was cut short or changed: what was written from it meanwhile may be wrong.
    pub fn check(&self) -> Result<()> {
        let failed = |cause| Error::new(Operation::Metadata, &*self.path, cause);
        let now = self.file.metadata().map_err(failed)?;
        if now.len() < self.len {
            let why = format!("it was cut short meanwhile, from {} to {} bytes", self.len, now.len());
            return Err(self.error(io::Error::new(io::ErrorKind::UnexpectedEof, why)));
        }
        if now.modified().map_err(failed)? != self.modified {
            return Err(self.error(io::Error::new(io::ErrorKind::InvalidData, "it was changed meanwhile")));
        }
        Ok(())
    }

    fn error(&self, cause: io::Error) -> Error {
        Error::new(Operation::Read, &*self.path, cause)
    }
}
