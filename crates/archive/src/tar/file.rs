//! A tar that is a file: headers read by position into a small buffer, content handed over from a mapping that only the
//! kernel reads, so that an archive cut short by another process is an error and not a signal.

use std::fs::File;
use std::io;
use std::path::Path;

use manyfiles::tree::{Content, MappedFile};

use super::source::Source;
use crate::error::{ErrorKind, Position, Result};
use crate::progress::InputProgress;
use crate::read_at::read_at;
use crate::stamp::Stamp;
use crate::sys;
use crate::tar_header::BLOCK;

/// How much is read at a header after content was passed over: the header, and the next one if the file is tiny.
/// Copying more than that costs more than the call it saves.
const FIRST_READ: usize = 512;
/// How much is read where headers follow each other with such a gap at most. Doubles from [`FIRST_READ`] on.
const MOST_READ: usize = 64 << 10;
const SHORT_GAP: u64 = 8 << 10;
/// How much content is read at a time where the file cannot be mapped, or the content is too long for that.
const CHUNK: usize = 256 << 10;
/// Content that is only tested, and is as long as this, is fetched by the system and not copied.
const LEAST_FETCHED: u64 = 16 << 10;
const MOST_FETCHED: u64 = 4 << 20;

pub(crate) struct FileSource {
    file: File,
    /// `None` for archives on file systems that cannot map files.
    mapped: Option<MappedFile>,
    stamp: Stamp,
    position: u64,
    /// Bytes of the file from `buffer_start` on.
    buffer: Vec<u8>,
    buffer_start: u64,
    next_read: usize,
    fetcher: sys::Fetcher,
    progress: InputProgress,
    reported: u64,
}

impl FileSource {
    pub(crate) fn new(file: File, path: &Path, progress: InputProgress) -> io::Result<FileSource> {
        let stamp = Stamp::of(&file)?;
        let mapped = file.try_clone().ok().and_then(|file| MappedFile::new(file, path).ok());
        Ok(FileSource {
            file,
            // Without a mapping, reading by position does the same with one more copy.
            mapped,
            stamp,
            position: 0,
            buffer: Vec::with_capacity(MOST_READ),
            buffer_start: 0,
            next_read: FIRST_READ,
            fetcher: sys::Fetcher::default(),
            progress,
            reported: 0,
        })
    }

    fn buffered(&self) -> &[u8] {
        match self.position.checked_sub(self.buffer_start) {
            Some(at) if at < self.buffer.len() as u64 => &self.buffer[at as usize..],
            _ => &[],
        }
    }

    /// Reads `len` bytes or up to the end from the current position on into the buffer.
    fn fill(&mut self, len: usize) -> Result<(), ErrorKind> {
        let len = (self.stamp.len - self.position).min(len as u64) as usize;
        self.buffer_start = self.position;
        self.buffer.resize(len, 0);
        read_at(&self.file, &mut self.buffer, self.position)
    }

    fn report(&mut self) {
        self.progress.advance(self.position - self.reported);
        self.reported = self.position;
    }
}

impl Source for FileSource {
    fn position(&self) -> u64 {
        self.position
    }

    fn read(&mut self, mut buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        let mut sum = 0;
        while !buffer.is_empty() && self.position < self.stamp.len {
            if self.buffered().is_empty() {
                let end = self.buffer_start + self.buffer.len() as u64;
                let follows = (end..=end + SHORT_GAP).contains(&self.position);
                self.next_read = if follows { (self.next_read * 2).min(MOST_READ) } else { FIRST_READ };
                self.fill(self.next_read.max(buffer.len().min(CHUNK)))?;
                self.report();
            }
            let bytes = self.buffered();
            let len = bytes.len().min(buffer.len());
            buffer[..len].copy_from_slice(&bytes[..len]);
            buffer = &mut buffer[len..];
            self.position += len as u64;
            sum += len;
        }
        Ok(sum)
    }

    fn skip(&mut self, len: u64) -> Result<u64, ErrorKind> {
        let len = len.min(self.stamp.len - self.position);
        self.position += len;
        Ok(len)
    }

    fn chunk(&mut self, max: u64) -> Result<&[u8], ErrorKind> {
        if self.buffered().is_empty() {
            self.fill(max.min(CHUNK as u64) as usize)?;
            self.report();
        }
        let bytes = self.buffered();
        let len = max.min(bytes.len() as u64);
        self.position += len;
        let start = (self.position - len - self.buffer_start) as usize;
        Ok(&self.buffer[start..start + len as usize])
    }

    fn read_over(&mut self, len: u64) -> Result<u64, ErrorKind> {
        let len = len.min(self.stamp.len - self.position);
        if self.buffered().is_empty() && len >= LEAST_FETCHED {
            // One step, so that it can be cancelled. What the system does not fetch is read, which also says why.
            let fetched = self.fetcher.fetch(&self.file, self.position, len.min(MOST_FETCHED));
            if fetched > 0 {
                self.position += fetched;
                self.report();
                return Ok(fetched);
            }
        }
        if self.buffered().is_empty() {
            // With the header behind it.
            self.fill((len.next_multiple_of(BLOCK as u64) + BLOCK as u64).min(CHUNK as u64) as usize)?;
            self.report();
        }
        let len = len.min(self.buffered().len() as u64);
        self.position += len;
        Ok(len)
    }

    fn content(&mut self, len: usize) -> Result<Option<Content>, ErrorKind> {
        if self.stamp.len - self.position < len as u64 {
            self.position = self.stamp.len;
            return Ok(None);
        }
        let mapped = match &self.mapped {
            _ if len == 0 => Some(Content::from_static(b"")),
            // A mapping that fails (too many of them, a limit on memory) is no reason to fail: the file can be read.
            Some(mapped) => mapped.slice(self.position, len).ok(),
            None => None,
        };
        let content = match mapped {
            Some(content) => content,
            None => {
                let mut bytes = vec![0; len];
                read_at(&self.file, &mut bytes, self.position)?;
                bytes.into()
            }
        };
        self.position += len as u64;
        Ok(Some(content))
    }

    fn longest_content(&self) -> usize {
        MappedFile::MAX_SLICE
    }

    fn finish(&mut self) -> Result<(), ErrorKind> {
        self.position = self.stamp.len;
        self.report();
        self.stamp.check(&self.file)
    }

    fn damage(&self, position: u64, cause: &str) -> ErrorKind {
        ErrorKind::damaged(Position::Archive(position), cause)
    }
}
