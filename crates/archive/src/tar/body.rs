//! [`Body`]: the content of the entry that a walk is at.

use manyfiles::tree::Content;

use super::source::Source;
use crate::error::{ErrorKind, Result};

/// The bytes of an archive, and how many of the next ones belong to the entry.
pub(crate) struct Body<S> {
    pub source: S,
    /// Content that was not read, and the padding behind it.
    pub left: u64,
    pub padding: u64,
    /// The sum of the bytes of content so far, where an archive has one to compare it with. Then content is only handed
    /// out by [`chunk`](Body::chunk).
    pub sum: Option<u32>,
}

impl<S: Source> Body<S> {
    pub(crate) fn new(source: S) -> Body<S> {
        Body { source, left: 0, padding: 0, sum: None }
    }

    /// The next `len` bytes of content in one piece. `None`: the archive is cut short.
    pub(crate) fn content(&mut self, len: usize) -> Result<Option<Content>, ErrorKind> {
        let content = self.source.content(len)?;
        if content.is_some() {
            self.left -= len as u64;
        }
        Ok(content)
    }

    /// Some next bytes of content, at most `max`. None at all: the archive is cut short.
    pub(crate) fn chunk(&mut self, max: u64) -> Result<&[u8], ErrorKind> {
        let chunk = self.source.chunk(max.min(self.left))?;
        self.left -= chunk.len() as u64;
        if let Some(sum) = &mut self.sum {
            *sum = chunk.iter().fold(*sum, |sum, &byte| sum.wrapping_add(byte.into()));
        }
        Ok(chunk)
    }

    /// Reads some next bytes of content, only to know whether they can be read. `false`: the archive is cut short.
    pub(crate) fn read_over(&mut self) -> Result<bool, ErrorKind> {
        if self.sum.is_some() {
            return self.chunk(u64::MAX).map(|chunk| !chunk.is_empty());
        }
        let read = self.source.read_over(self.left)?;
        self.left -= read;
        Ok(read > 0)
    }

    /// Passes over what is left of the entry. `false`: the archive is cut short.
    pub(crate) fn skip_rest(&mut self) -> Result<bool, ErrorKind> {
        let rest = self.left + self.padding;
        let skipped = self.source.skip(rest)?;
        (self.left, self.padding, self.sum) = (0, 0, None);
        Ok(skipped == rest)
    }
}
