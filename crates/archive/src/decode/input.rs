//! The bytes of a compressed file or stream, with a look ahead, and counted.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::progress::InputProgress;

/// How much is read at a time.
const BUFFER: usize = 256 << 10;

/// What the decoding thread lets others know.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Bytes taken in by the decoder.
    pub used: AtomicU64,
    /// Whether reading the input failed, rather than decoding it.
    pub failed: AtomicBool,
    /// Whether bytes behind the compressed data were ignored, because they are no compressed data.
    pub trailing_garbage: AtomicBool,
    /// Whether zeros that the compression does not allow were passed over.
    pub odd_padding: AtomicBool,
    /// Whether a part of the content has no checksum, or one that cannot be computed.
    pub unchecked: AtomicBool,
    /// Whether a checksum is of a kind that is not known, so that nothing was compared with it.
    pub unknown_check: AtomicBool,
}

/// A reader with a buffer that can be looked into.
pub(crate) struct Input {
    inner: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    progress: InputProgress,
    pub state: Arc<State>,
}

impl Input {
    pub(crate) fn new(inner: Box<dyn Read + Send>, progress: InputProgress) -> Input {
        Input { inner, buffer: vec![0; BUFFER], start: 0, end: 0, progress, state: Arc::default() }
    }

    /// The next `count` bytes without taking them; fewer only at the end.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.end - self.start < count && self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < count {
            let more = self.read_inner()?;
            if more == 0 {
                break;
            }
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + count)])
    }

    fn read_inner(&mut self) -> io::Result<usize> {
        loop {
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(len) => {
                    self.end += len;
                    self.progress.advance(len as u64);
                    return Ok(len);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.state.failed.store(true, Relaxed);
                    return Err(error);
                }
            }
        }
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.read_inner()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, len: usize) {
        self.start += len;
        self.state.used.fetch_add(len as u64, Relaxed);
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.fill_buf()?.read(into)?;
        self.consume(len);
        Ok(len)
    }
}
