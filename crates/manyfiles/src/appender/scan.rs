//! Finding the frames of a file, and what is wrong with it.

use std::io;

use super::frame::{self, FRAME, HEADER, MARK, MARK_LENGTH};
use super::storage::ReadAt;

/// Reads frames one after the other.
#[derive(Debug)]
pub(super) struct Scanner {
    salt: u32,
    /// The file's length when it was opened.
    len: u64,
    /// Where the next frame is.
    at: u64,
    /// Bytes of the file, from `buffer_at` on.
    buffer: Vec<u8>,
    buffer_at: u64,
}

/// What is at a place of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    Record(&'a [u8]),
    /// The file ends here.
    End,
    /// No whole frame.
    Broken,
}

/// What a broken frame is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// The last group of records, which never became durable as far as the file tells.
    Torn,
    /// Bytes that were durable once. Frames go on at this place.
    Damaged { until: u64 },
}

/// What a file begins with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// A header.
    Salt(u32),
    /// Less than a header: nothing has been appended yet.
    Unfinished,
    /// Something else.
    Foreign,
}

/// How much is read at once.
const CHUNK: usize = 256 << 10;

impl Scanner {
    /// Begins behind the header.
    pub(super) fn new(salt: u32, len: u64) -> Scanner {
        Scanner { salt, len, at: HEADER as u64, buffer: Vec::new(), buffer_at: 0 }
    }

    /// Looks at the first bytes of a file.
    pub(super) fn start(file: &(impl ReadAt + ?Sized), len: u64) -> io::Result<Start> {
        // One byte more than a header, to tell a longer file.
        let mut first = [0; HEADER + 1];
        let mut has = 0;
        while has < first.len() {
            match file.read_at(&mut first[has..], has as u64)? {
                0 => break,
                n => has += n,
            }
        }
        Ok(match first[..HEADER].try_into().ok().and_then(frame::salt_of) {
            Some(salt) if len >= HEADER as u64 => Start::Salt(salt),
            _ if frame::is_unfinished_header(&first[..has]) => Start::Unfinished,
            _ => Start::Foreign,
        })
    }

    /// Where the next frame is; after [`Found::Broken`], where that is.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    /// Goes on elsewhere.
    pub(super) fn go_to(&mut self, at: u64) {
        self.at = at;
    }

    /// The next record.
    pub(super) fn next(&mut self, file: &(impl ReadAt + ?Sized)) -> io::Result<Found<'_>> {
        let length = loop {
            if self.at == self.len {
                return Ok(Found::End);
            }
            let Some(bytes) = self.peek::<FRAME>(file)? else { return Ok(Found::Broken) };
            let (length, check) = frame::parse(&bytes);
            if length == MARK_LENGTH {
                let mark = self.peek::<MARK>(file)?;
                if mark.and_then(|mark| frame::parse_mark(self.salt, self.at, &mark)).is_none() {
                    return Ok(Found::Broken);
                }
                self.at += MARK as u64;
                continue;
            }
            match self.sum(file, length)? {
                Some(sum) if frame::check(self.salt, self.at, length, sum) == check => break length as usize,
                _ => return Ok(Found::Broken),
            }
        };
        let total = FRAME + length;
        if self.fill(file, total)? < total {
            return Ok(Found::Broken); // it was cut short since the sum was taken
        }
        let start = (self.at - self.buffer_at) as usize + FRAME;
        self.at += total as u64;
        Ok(Found::Record(&self.buffer[start..start + length]))
    }

    /// What the broken frame here is, and where whole ones go on. Does not move.
    pub(super) fn explain(&mut self, file: &(impl ReadAt + ?Sized)) -> io::Result<Break> {
        let broken = self.at;
        let found = self.find_mark_beyond(file, broken);
        self.at = broken;
        let Some(mark) = found? else { return Ok(Break::Torn) };
        let next = self.next_by_length(file, mark);
        self.at = broken;
        Ok(Break::Damaged { until: next?.unwrap_or(mark) })
    }

    /// The first mark behind `place` that says `place` was durable.
    fn find_mark_beyond(&mut self, file: &(impl ReadAt + ?Sized), place: u64) -> io::Result<Option<u64>> {
        self.at = place + 1;
        loop {
            let has = self.fill(file, CHUNK)?;
            if has < MARK {
                return Ok(None);
            }
            let from = (self.at - self.buffer_at) as usize;
            for (n, bytes) in self.buffer[from..from + has].windows(MARK).enumerate() {
                let at = self.at + n as u64;
                let bytes = bytes.first_chunk().expect("windows have this size");
                if bytes[0] == 0xFF && frame::parse_mark(self.salt, at, bytes).is_some_and(|durable| durable > place) {
                    return Ok(Some(at));
                }
            }
            // A mark may begin in the last bytes of these.
            self.at += (has - MARK + 1) as u64;
        }
    }

    /// Where the frame behind the broken one is, if its length is right at least, and it is not behind `limit`.
    fn next_by_length(&mut self, file: &(impl ReadAt + ?Sized), limit: u64) -> io::Result<Option<u64>> {
        let Some(bytes) = self.peek::<FRAME>(file)? else { return Ok(None) };
        let (length, _) = frame::parse(&bytes);
        let total = if length == MARK_LENGTH { MARK as u64 } else { FRAME as u64 + u64::from(length) };
        let next = self.at + total;
        if next >= limit {
            return Ok(None);
        }
        self.at = next;
        Ok(matches!(self.next(file)?, Found::Record(_)).then_some(next))
    }

    /// The checksum of the content of a frame here with this length; `None` if the file is not that long.
    fn sum(&mut self, file: &(impl ReadAt + ?Sized), length: u32) -> io::Result<Option<u32>> {
        let total = FRAME as u64 + u64::from(length);
        if total > self.len - self.at {
            return Ok(None);
        }
        let total = total as usize;
        // A broken length may be anything, so a long content is not kept before it is known to be whole.
        if total <= CHUNK {
            let has = self.fill(file, total)?;
            let start = (self.at - self.buffer_at) as usize;
            return Ok((has >= total).then(|| frame::sum(&self.buffer[start + FRAME..start + total])));
        }
        let mut chunk = vec![0; CHUNK];
        let (mut sum, mut done) = (0, FRAME);
        while done < total {
            let most = CHUNK.min(total - done);
            match file.read_at(&mut chunk[..most], self.at + done as u64)? {
                0 => return Ok(None),
                n => {
                    sum = crc32c::crc32c_append(sum, &chunk[..n]);
                    done += n;
                }
            }
        }
        Ok(Some(sum))
    }

    fn peek<const N: usize>(&mut self, file: &(impl ReadAt + ?Sized)) -> io::Result<Option<[u8; N]>> {
        self.fill(file, N)?;
        let start = (self.at - self.buffer_at) as usize;
        Ok(self.buffer[start..].first_chunk().copied())
    }

    /// Reads until the buffer has `want` bytes of here, or the file ends. Returns how many it has.
    fn fill(&mut self, file: &(impl ReadAt + ?Sized), want: usize) -> io::Result<usize> {
        let end = self.buffer_at + self.buffer.len() as u64;
        if !(self.buffer_at..=end).contains(&self.at) {
            self.buffer.clear();
            self.buffer_at = self.at;
        }
        let mut start = (self.at - self.buffer_at) as usize;
        if self.buffer.len() - start >= want {
            return Ok(self.buffer.len() - start);
        }
        self.buffer.drain(..start);
        self.buffer_at = self.at;
        start = 0;
        while self.buffer.len() < want {
            let has = self.buffer.len();
            let end = self.at + has as u64;
            let most = (self.len - end.min(self.len)).min(want.max(CHUNK) as u64 - has as u64) as usize;
            self.buffer.resize(has + most, 0);
            let read = file.read_at(&mut self.buffer[has..], end);
            self.buffer.truncate(has + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                break;
            }
        }
        Ok(self.buffer.len() - start)
    }
}
