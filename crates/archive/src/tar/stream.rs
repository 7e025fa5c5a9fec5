//! A tar that comes as blocks from the thread that decodes it.

use manyfiles::tree::Content;

use super::source::Source;
use crate::cancel::Cancel;
use crate::decode::{Blocks, Taken};
use crate::error::{ErrorKind, Position, Result};
use crate::limits::{Limits, check_ratio};

/// Content up to this length is handed over, and written by the tree's threads; longer content is written as it comes.
const LONGEST_CONTENT: usize = 512 << 10;

pub(crate) struct StreamSource {
    blocks: Blocks,
    /// The block being read, and how much of it has been.
    block: Vec<u8>,
    at: usize,
    position: u64,
    received: u64,
    /// Whether the stream is compressed: then its size is limited by the size of the compressed bytes.
    limits: Option<Limits>,
    cancel: Cancel,
    /// What was met when looking ahead.
    failed: Option<ErrorKind>,
}

impl StreamSource {
    pub(crate) fn new(blocks: Blocks, limits: Option<Limits>, cancel: Cancel) -> StreamSource {
        StreamSource { blocks, block: Vec::new(), at: 0, position: 0, received: 0, limits, cancel, failed: None }
    }

    /// The first bytes, without taking them: a whole block, or all that there are before the end or damage.
    pub(crate) fn peek(&mut self) -> &[u8] {
        // An error is one of the read that comes there.
        self.failed = self.fill().err();
        &self.block[self.at..]
    }

    /// Whether bytes behind the compressed data were ignored. Known at the end.
    pub(crate) fn trailing_garbage(&self) -> bool {
        self.blocks.trailing_garbage()
    }

    /// Whether zeros were passed over that the compression does not allow. Known at the end.
    pub(crate) fn odd_padding(&self) -> bool {
        self.blocks.odd_padding()
    }

    /// Whether a part of the content had no checksum, or one that could not be computed. Known at the end.
    pub(crate) fn unchecked(&self) -> bool {
        self.blocks.unchecked()
    }

    /// Whether a checksum was of a kind that is not known. Known at the end.
    pub(crate) fn unknown_check(&self) -> bool {
        self.blocks.unknown_check()
    }

    /// Whether what a package has before its files is damaged or odd. Known as soon as there is any content.
    pub(crate) fn odd_package(&self) -> bool {
        self.blocks.odd_package()
    }

    /// How many bytes of the input were taken by the decoder.
    pub(crate) fn used(&self) -> u64 {
        self.blocks.used()
    }

    /// Gets the next block if this one is used up. `false`: there is none.
    fn fill(&mut self) -> Result<bool, ErrorKind> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        while self.at == self.block.len() {
            let used = std::mem::take(&mut self.block);
            self.at = 0;
            let Taken { block, input } = match self.blocks.next(used, &self.cancel)? {
                Some(taken) => taken,
                None => return Ok(false),
            };
            self.received += block.len() as u64;
            if let Some(limits) = &self.limits {
                check_ratio(limits, self.received, input)?;
            }
            self.block = block;
        }
        Ok(true)
    }

    fn take(&mut self, max: u64) -> &[u8] {
        let len = max.min((self.block.len() - self.at) as u64) as usize;
        self.position += len as u64;
        self.at += len;
        &self.block[self.at - len..self.at]
    }
}

impl Source for StreamSource {
    fn position(&self) -> u64 {
        self.position
    }

    fn read(&mut self, mut buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        let mut sum = 0;
        while !buffer.is_empty() && self.fill()? {
            let bytes = self.take(buffer.len() as u64);
            let (filled, rest) = buffer.split_at_mut(bytes.len());
            filled.copy_from_slice(bytes);
            sum += filled.len();
            buffer = rest;
        }
        Ok(sum)
    }

    fn skip(&mut self, len: u64) -> Result<u64, ErrorKind> {
        let mut skipped = 0;
        while skipped < len && self.fill()? {
            skipped += self.take(len - skipped).len() as u64;
        }
        Ok(skipped)
    }

    fn chunk(&mut self, max: u64) -> Result<&[u8], ErrorKind> {
        self.fill()?;
        Ok(self.take(max))
    }

    fn content(&mut self, len: usize) -> Result<Option<Content>, ErrorKind> {
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            if !self.fill()? {
                return Ok(None);
            }
            let missing = len - bytes.len();
            bytes.extend_from_slice(self.take(missing as u64));
        }
        Ok(Some(bytes.into()))
    }

    fn longest_content(&self) -> usize {
        LONGEST_CONTENT
    }

    fn finish(&mut self) -> Result<(), ErrorKind> {
        // After the end of the tar padding follows, and after that perhaps a checksum. Also, a program that writes into
        // a pipe would fail if the rest was not read.
        while self.fill()? {
            self.take(u64::MAX);
        }
        Ok(())
    }

    fn damage(&self, position: u64, cause: &str) -> ErrorKind {
        let position = if self.limits.is_some() { Position::Unpacked(position) } else { Position::Archive(position) };
        ErrorKind::damaged(position, cause)
    }
}
