//! Handles that are kept to be read.

use std::io;
use std::sync::Arc;

use super::Table;
use crate::vfs::file_key::FileKey;
use crate::vfs::index::FileId;
use crate::vfs::kept::KeptHandle;
use crate::vfs::readers::Reader;
use crate::vfs::sync::now;
use crate::{Operation, Result};

impl Table {
    /// What reads the file that the name leads to now, once nothing is buffered for it. `None` if the backend reads by
    /// path. `keep`: the same file is likely to be read again.
    pub(in crate::vfs) fn reader(&self, key: &FileKey, keep: bool) -> Result<Option<Arc<Reader>>> {
        // By the name it is known; what is buffered for a file that has moved may be what makes the name lead anywhere.
        let bound = self.read().get(key);
        if let Some((slot, _)) = bound {
            self.if_open(&slot, KeptHandle::write_out)?;
        }
        let reader = self.open_reader(key, keep).map_err(|cause| self.error(key, Operation::Read, cause))?;
        let Some(reader) = reader else {
            self.check(key, None)?;
            return Ok(None);
        };
        let identity = reader.identity.map(|identity| (key.backend, identity));
        if let Some(slot) = identity.and_then(|identity| self.read().by_identity(identity)) {
            self.if_open(&slot, KeptHandle::write_out)?;
        }
        self.check(key, identity)?;
        Ok(Some(reader))
    }

    pub(super) fn open_reader(&self, key: &FileKey, keep: bool) -> io::Result<Option<Arc<Reader>>> {
        let now = now();
        let backend = self.backend(key);
        if let Some(kept) = self.readers.get(key, now) {
            if backend.identity(&key.path)? == kept.identity {
                return Ok(Some(kept));
            }
            self.readers.forget(|name, _| name == key);
        }
        let Some(input) = self.with_room(|| backend.open(&key.path))? else { return Ok(None) };
        // What cannot be told from another file that has its name later is not kept.
        let permit = if keep && input.identity().is_some() { self.spare_permit() } else { None };
        let is_kept = permit.is_some();
        let reader = Arc::new(Reader::new(input, now, permit));
        if is_kept {
            self.readers.keep(key, &reader, now);
        }
        Ok(Some(reader))
    }

    /// Lets go of a file that is kept to be read.
    pub(in crate::vfs) fn forget_readers(&self, key: &FileKey, identity: Option<FileId>) {
        self.readers.forget(|name, other| {
            name == key || (identity.is_some() && other.map(|other| (name.backend, other)) == identity)
        });
    }
}
