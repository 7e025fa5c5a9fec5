//! Finding the frames of a file, and what is wrong with it.

use std::io;

use crate::appender::log::frame::{self, FRAME, MARK, Mark};
use crate::appender::log::header::{HEADER, Header, is_unfinished_header};
use crate::appender::log::losses::Damage;
use crate::appender::log::search;
use crate::appender::storage::ReadAt;

/// Reads frames one after the other.
#[derive(Debug)]
pub(in crate::appender) struct Scanner {
    header: Header,
    /// The file's length when it was looked at last.
    len: u64,
    /// Where the next frame is.
    at: u64,
    /// Everything before this place was durable once: the most that a mark says that was passed, or the next file.
    durable: u64,
    /// Behind the last record that was passed.
    records_end: u64,
    /// The head of the last record that was passed, and its place.
    last: Option<(u64, [u8; FRAME])>,
    /// Behind a closed mark that was passed.
    closed_end: u64,
    /// Bytes that were set aside, of those up to `aside_end`.
    aside: u64,
    aside_end: u64,
    /// Bytes of the file, from `buffer_at` on.
    buffer: Vec<u8>,
    buffer_at: u64,
    /// How much is read at once: little behind a place where nothing was, more and more while there is something.
    ahead: usize,
}

/// What is at a place of a file.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::appender) enum Found<'a> {
    Record(&'a [u8]),
    /// The file ends here.
    End,
    /// No whole frame.
    Broken,
}

/// What a broken frame is.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::appender) enum Break {
    /// The last group of records, which never became durable as far as the file tells. Behind this place are only
    /// zeros: room for records, or what a crash made of some.
    Torn { until: u64 },
    /// Bytes that were durable once. Frames go on at this place.
    Damaged { until: u64 },
}

/// What is behind a broken frame.
enum Beyond {
    /// A mark that says that the file was durable up to this place, which is behind the frame.
    Durable(u64),
    NoMark {
        zeros_from: u64,
    },
}

/// What a file begins with.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::appender) enum Start {
    /// A header, of which one copy may be damaged.
    Header(Header, Option<Damage>),
    /// Less than a header: nothing has been appended yet.
    Unfinished,
    /// Something else.
    Foreign,
}

/// How much is read at once.
const CHUNK: usize = 256 << 10;
/// How much is read at once at first where records have come that were not there before: mostly few have.
const FEW: usize = 4 << 10;

impl Scanner {
    /// Begins behind the header.
    pub(in crate::appender) fn new(header: Header, len: u64) -> Scanner {
        let at = HEADER as u64;
        let (buffer, buffer_at) = (Vec::new(), at);
        let durable = header.begin();
        Scanner {
            header,
            len,
            at,
            durable,
            records_end: at,
            last: None,
            closed_end: 0,
            aside: 0,
            aside_end: 0,
            buffer,
            buffer_at,
            ahead: CHUNK,
        }
    }

    /// Looks at the first bytes of a file.
    pub(in crate::appender) fn start(file: &(impl ReadAt + ?Sized), len: u64) -> io::Result<Start> {
        // One byte more than a header, to tell a longer file.
        let mut first = [0; HEADER + 1];
        let has = file.read_full(&mut first, 0)?;
        Ok(match first.first_chunk().and_then(Header::parse) {
            Some(header) if len >= HEADER as u64 => Start::Header(header, header.damaged_copy(&first[..HEADER])),
            _ if is_unfinished_header(&first[..has]) => Start::Unfinished,
            _ => Start::Foreign,
        })
    }

    pub(in crate::appender) fn header(&self) -> &Header {
        &self.header
    }

    /// Where the next frame is; after [`Found::Broken`], where that is.
    pub(in crate::appender) fn position(&self) -> u64 {
        self.at
    }

    /// Goes on elsewhere.
    pub(in crate::appender) fn go_to(&mut self, at: u64) {
        self.at = at;
    }

    /// Up to where the marks say that the file was durable.
    pub(in crate::appender) fn durable(&self) -> u64 {
        self.durable
    }

    /// Something else than a mark says that the file was durable up to here.
    pub(in crate::appender) fn set_durable_until(&mut self, end: u64) {
        self.durable = self.durable.max(end);
    }

    /// Behind the last record that was passed; behind the header if there was none.
    pub(in crate::appender) fn records_end(&self) -> u64 {
        self.records_end
    }

    /// The head of the last record that was passed, and its place.
    pub(in crate::appender) fn last(&self) -> Option<(u64, [u8; FRAME])> {
        self.last
    }

    /// How many bytes were passed that a repair has set aside.
    pub(in crate::appender) fn set_aside(&self) -> u64 {
        self.aside
    }

    /// Whether the file ends here, and was closed in order or has had nothing written to it.
    pub(in crate::appender) fn is_clean_end(&self) -> bool {
        self.at == self.len && (self.closed_end == self.at || self.at == self.header.begin())
    }

    /// The file may have grown. What was read beyond `at` is read again.
    pub(in crate::appender) fn look_again(&mut self, len: u64) {
        self.len = len;
        self.buffer.truncate(self.at.saturating_sub(self.buffer_at) as usize);
        self.ahead = FEW;
    }

    /// Whether the beginning of a frame was read already that is the next one. Zeros are none.
    pub(in crate::appender) fn has_read_on(&self) -> bool {
        let ahead = self.at.checked_sub(self.buffer_at).and_then(|at| self.buffer.get(at as usize..));
        ahead.and_then(<[u8]>::first_chunk::<FRAME>).is_some_and(|first| *first != [0; FRAME])
    }

    /// The next record.
    pub(in crate::appender) fn next(&mut self, file: &(impl ReadAt + ?Sized)) -> io::Result<Found<'_>> {
        let salt = self.header.salt;
        let (length, head) = loop {
            if self.at == self.len {
                return Ok(Found::End);
            }
            let Some(bytes) = self.peek::<FRAME>(file)? else { return Ok(Found::Broken) };
            let (length, check) = frame::parse(&bytes);
            if frame::is_mark(length) {
                let mark = self.peek::<MARK>(file)?;
                let Some(Mark { durable, closed }) = mark.and_then(|mark| frame::parse_mark(salt, self.at, &mark))
                else {
                    return Ok(Found::Broken);
                };
                self.at += MARK as u64;
                self.durable = self.durable.max(durable);
                if closed {
                    // It was durable, as a mark, before it was made a closed one.
                    (self.durable, self.closed_end) = (self.at, self.at);
                }
                continue;
            }
            match self.sum(file, length)? {
                Some(sum) if frame::check(salt, self.at, length, sum) == check => {
                    break (length as usize, bytes);
                }
                Some(sum) if frame::aside_check(salt, self.at, length, sum) == check => {
                    let total = FRAME as u64 + u64::from(length);
                    self.at += total;
                    if self.at > self.aside_end {
                        (self.aside, self.aside_end) = (self.aside + total, self.at);
                    }
                    // A repaired file has its name when all of it is on the disk.
                    self.durable = self.durable.max(self.at);
                }
                _ => return Ok(Found::Broken),
            }
        };
        let total = FRAME + length;
        if self.fill(file, total)? < total {
            return Ok(Found::Broken); // it was cut short since the sum was taken
        }
        let start = (self.at - self.buffer_at) as usize + FRAME;
        self.last = Some((self.at, head));
        self.at += total as u64;
        self.records_end = self.at;
        Ok(Found::Record(&self.buffer[start..start + length]))
    }

    /// What the broken frame here is, and where whole ones go on. Does not move.
    pub(in crate::appender) fn explain(&mut self, file: &(impl ReadAt + ?Sized)) -> io::Result<Break> {
        let broken = self.at;
        if self.durable <= broken {
            let found = self.find_mark_beyond(file, broken);
            self.at = broken;
            match found? {
                Beyond::Durable(durable) => self.durable = durable,
                Beyond::NoMark { zeros_from } => return Ok(Break::Torn { until: zeros_from }),
            }
        }
        // A frame ends there.
        let limit = self.durable;
        let by_length = self.next_by_length(file, limit);
        self.at = broken;
        // A length that is wrong may lead to a later frame: those before that are looked for too.
        let limit = by_length?.unwrap_or(limit);
        let next = search::next_frame(file, self.header.salt, broken + FRAME as u64, limit)?;
        Ok(Break::Damaged { until: next.unwrap_or(limit) })
    }

    /// The first mark behind `place` that says `place` was durable; if there is none, where the zeros at the end begin.
    fn find_mark_beyond(&mut self, file: &(impl ReadAt + ?Sized), place: u64) -> io::Result<Beyond> {
        let mut zeros_from = place;
        self.at = place;
        loop {
            let has = self.fill(file, CHUNK)?;
            let from = (self.at - self.buffer_at) as usize;
            let bytes = &self.buffer[from..from + has];
            let last = bytes.iter().rposition(|&byte| byte != 0);
            let Some(last) = last else {
                if has < CHUNK {
                    return Ok(Beyond::NoMark { zeros_from });
                }
                self.at += (has - MARK + 1) as u64;
                continue;
            };
            zeros_from = zeros_from.max(self.at + last as u64 + 1);
            for (n, bytes) in bytes.windows(MARK).enumerate() {
                let at = self.at + n as u64;
                // Nearly every place is passed over here.
                if bytes[0] < 0xFE || bytes[1..4] != [0xFF; 3] || at == place {
                    continue;
                }
                let bytes = bytes.first_chunk().expect("windows have this size");
                if let Some(Mark { durable, closed }) = frame::parse_mark(self.header.salt, at, bytes)
                    && durable > place
                {
                    // A closed one was durable, as a mark, before it was made a closed one.
                    return Ok(Beyond::Durable(if closed { at + MARK as u64 } else { durable }));
                }
            }
            if has < CHUNK {
                return Ok(Beyond::NoMark { zeros_from });
            }
            // A mark may begin in the last bytes of these.
            self.at += (has - MARK + 1) as u64;
        }
    }

    /// Where the frame behind the broken one is, if its length is right at least, and it is not behind `limit`.
    fn next_by_length(&mut self, file: &(impl ReadAt + ?Sized), limit: u64) -> io::Result<Option<u64>> {
        let Some(bytes) = self.peek::<FRAME>(file)? else { return Ok(None) };
        let (length, _) = frame::parse(&bytes);
        let total = if frame::is_mark(length) { MARK as u64 } else { FRAME as u64 + u64::from(length) };
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
            let most = (self.len - end.min(self.len)).min(want.max(self.ahead) as u64 - has as u64) as usize;
            self.buffer.resize(has + most, 0);
            let read = file.read_at(&mut self.buffer[has..], end);
            self.buffer.truncate(has + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                break;
            }
            self.ahead = CHUNK.min(2 * self.ahead);
        }
        Ok(self.buffer.len() - start)
    }
}
