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
    /// Whether what a package has before its files is damaged or odd. Nothing of it is unpacked.
    pub odd_package: AtomicBool,
}

/// A reader with a buffer that can be looked into.
pub(crate) struct Input {
    inner: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    progress: InputProgress,
    /// Bytes that stand before the buffer's and are none of the input's.
    prefix: Vec<u8>,
    has_ended: bool,
    /// An error that was met while looking ahead. It is told when all before it has been taken.
    error: Option<io::Error>,
    /// Whether it is a part of another input.
    is_part: bool,
    /// Whether it is handed over as it is, whatever it is.
    pub is_plain: bool,
    /// How many threads may decode it.
    pub threads: usize,
    /// How many bytes a call of its decoder may return.
    pub step: usize,
    pub state: Arc<State>,
}

impl Input {
    pub(crate) fn new(inner: Box<dyn Read + Send>, progress: InputProgress) -> Input {
        Input {
            inner,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            progress,
            prefix: Vec::new(),
            has_ended: false,
            error: None,
            is_part: false,
            is_plain: false,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            step: usize::MAX,
            state: Arc::default(),
        }
    }

    /// Its next `len` bytes. Where there are fewer, that is damage.
    pub(super) fn part(mut self, len: u64) -> Input {
        // The part counts from here on.
        let state = std::mem::take(&mut self.state);
        let (threads, step) = (self.threads, self.step);
        let part = Input::new(Box::new(Part { input: self, left: len }), InputProgress::default());
        Input { state, threads, step, is_part: true, ..part }
    }

    /// Has it decoded by so many threads. Default: one per core.
    pub(crate) fn with_threads(mut self, threads: usize) -> Input {
        self.threads = threads;
        self
    }

    /// Has it handed over as it is: it has been decoded.
    pub(crate) fn plain(mut self) -> Input {
        self.is_plain = true;
        self
    }

    /// Has it decoded a little at a time: what a decoder has decoded in the call that fails is lost.
    pub(crate) fn in_small_steps(mut self) -> Input {
        self.step = 512;
        self
    }

    /// What has been read and not been taken.
    pub(super) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reads more behind what is [`buffered`](Input::buffered). `false`: there is no more, or an error stands there.
    pub(super) fn grow(&mut self) -> bool {
        if self.has_ended || self.error.is_some() {
            return false;
        }
        if self.start >= self.buffer.len() / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        self.buffer.resize(self.buffer.len().max(self.end + BUFFER), 0);
        match self.read_more() {
            Ok(len) => len > 0,
            Err(error) => {
                self.error = Some(error);
                false
            }
        }
    }

    /// Sets `prefix` before the next byte, of which the `bits` highest are replaced by those of `mixed`.
    pub(super) fn put_before(&mut self, prefix: Vec<u8>, mixed: u8, bits: u32) {
        let mask = u8::MAX.checked_shr(bits).unwrap_or(0);
        if let Some(byte) = self.buffer[self.start..self.end].first_mut() {
            *byte = mixed & !mask | *byte & mask;
        }
        self.prefix = prefix;
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
        let read = match self.error.take() {
            Some(error) => Err(error),
            None if self.has_ended => Ok(0),
            None => self.read_more(),
        };
        if read.as_ref().is_err_and(|error| !self.is_part || error.kind() != io::ErrorKind::UnexpectedEof) {
            self.state.failed.store(true, Relaxed);
        }
        read
    }

    fn read_more(&mut self) -> io::Result<usize> {
        loop {
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(len) => {
                    self.end += len;
                    self.has_ended = len == 0;
                    self.progress.advance(len as u64);
                    return Ok(len);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A part of an input.
struct Part {
    input: Input,
    left: u64,
}

impl Read for Part {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = self.left.min(into.len() as u64) as usize;
        let len = self.input.read(&mut into[..most])?;
        if len == 0 && most > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the package is cut short"));
        }
        self.left -= len as u64;
        Ok(len)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if !self.prefix.is_empty() {
            return Ok(&self.prefix);
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.read_inner()?;
        }
        // Some decoders notice damage at the end of what they are given. So that this is the same place however far was
        // looked ahead, they are given no more than up to the next multiple.
        let most = BUFFER - (self.state.used.load(Relaxed) % BUFFER as u64) as usize;
        Ok(&self.buffer[self.start..self.end.min(self.start + most)])
    }

    fn consume(&mut self, len: usize) {
        if !self.prefix.is_empty() {
            self.prefix.drain(..len);
            return;
        }
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
