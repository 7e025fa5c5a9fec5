//! Bytes of a mapped file as content.

use std::io;
use std::sync::Arc;

use super::content::cut_short;
use crate::sys::{self, Identity};

/// A part of a file that is mapped, and the identity of that file.
#[derive(Debug)]
pub(super) struct Mapped {
    mapping: sys::Mapping,
    file: Identity,
}

impl Mapped {
    pub(super) fn new(mapping: sys::Mapping, file: Identity) -> Mapped {
        Mapped { mapping, file }
    }

    pub(super) fn mapping(&self) -> &sys::Mapping {
        &self.mapping
    }
}

/// Some bytes of a mapping, which stays mapped as long as one of its windows is there.
#[derive(Debug)]
pub(super) struct Window {
    mapped: Arc<Mapped>,
    offset: usize,
    len: usize,
}

impl Window {
    /// `offset` counts from the mapping's first byte.
    pub(super) fn new(mapped: Arc<Mapped>, offset: usize, len: usize) -> Window {
        Window { mapped, offset, len }
    }

    pub(super) fn as_raw(&self) -> *const [u8] {
        std::ptr::slice_from_raw_parts(self.mapped.mapping.as_ptr().wrapping_add(self.offset), self.len)
    }

    /// The file that the bytes are read from.
    pub(super) fn file(&self) -> Identity {
        self.mapped.file
    }

    /// Copies what is at `offset` of these bytes into `to`.
    pub(super) fn copy_to(&self, offset: usize, to: &mut [u8]) -> io::Result<()> {
        if offset.checked_add(to.len()).is_none_or(|end| end > self.len) {
            return Err(cut_short());
        }
        let copied = self.mapped.mapping.copy_to(self.offset + offset, to);
        copied.map_err(|error| if error.kind() == io::ErrorKind::UnexpectedEof { cut_short() } else { error })
    }
}
