//! One file of a log, as it is read.

use std::io;
use std::path::{Path, PathBuf};

use crate::appender::log::common::Side;
use crate::appender::log::frame::{self, FRAME, MARK};
use crate::appender::log::header::{HEADER, Header};
use crate::appender::log::losses::Damage;
use crate::appender::log::opened::Next;
use crate::appender::log::scan::{Break, Found, Scanner};
use crate::appender::storage::ReadAt;
use crate::{Error, Operation};

/// The file that is read.
pub(in crate::appender) struct Current {
    pub(in crate::appender) number: u64,
    path: PathBuf,
    file: Box<dyn ReadAt>,
    len: u64,
    scanner: Scanner,
    /// Where it ends, as the next one says.
    end: Option<u64>,
    /// Where reading began.
    start: u64,
    /// Where the last record began.
    record: u64,
    /// Where the caller asked to begin, until a whole frame was found there.
    asked_for: Option<u64>,
}

/// How often a place is looked at before it is called damaged: a write that is under way may be seen in part.
const LOOKS: u32 = 6;

/// What is next.
pub(in crate::appender) enum Item {
    Record(Vec<u8>),
    Damage(Damage),
    /// The place where the caller asked to begin is the middle of a record. The record behind it is next.
    NoRecord(Error),
    End {
        torn_bytes: u64,
    },
}

impl Current {
    /// At its beginning, or at a position of the log. What it repeats of the file before begins at the same position
    /// there.
    pub(in crate::appender) fn new(next: Next, from: Option<u64>) -> Current {
        let Next { number, path, file, len, header, .. } = next;
        let mut scanner = Scanner::new(header, len);
        let asked_for = from.map(|position| header.offset(position));
        if let Some(offset) = asked_for {
            scanner.go_to(offset);
        }
        let start = scanner.position();
        Current { number, path, file, len, scanner, end: None, start, record: 0, asked_for }
    }

    /// At a place where a frame begins.
    pub(in crate::appender) fn at(next: Next, offset: u64) -> Current {
        let mut current = Current::new(next, None);
        current.scanner.go_to(offset);
        current.start = offset;
        current
    }

    /// What is in it, to compare it with another file.
    pub(in crate::appender) fn side(&self) -> Side<'_> {
        Side { file: &*self.file, header: *self.header(), len: self.len }
    }

    /// Behind the last record that was read, or where reading began.
    pub(in crate::appender) fn read_until(&self) -> u64 {
        self.records_end().max(self.start)
    }

    /// Whether the file does not have any more what was read of it: it was cut, and perhaps gone on with.
    pub(in crate::appender) fn is_cut(&self) -> io::Result<bool> {
        if self.file.len()? < self.read_until() {
            return Ok(true);
        }
        let Some((at, head)) = self.scanner.last() else { return Ok(false) };
        let mut now = [0; FRAME];
        self.file.read_full(&mut now, at)?;
        Ok(now != head)
    }

    pub(in crate::appender) fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.file.is_at(path)
    }

    /// The number that the file behind this one has.
    pub(in crate::appender) fn next_number(&self) -> Option<u64> {
        self.number.checked_add(1)
    }

    pub(in crate::appender) fn file(&self) -> &dyn ReadAt {
        &*self.file
    }

    pub(in crate::appender) fn header(&self) -> &Header {
        self.scanner.header()
    }

    pub(in crate::appender) fn error(&self, cause: io::Error) -> Error {
        Error::new(Operation::Read, &*self.path, cause)
    }

    /// Where in the log the next record begins.
    pub(in crate::appender) fn position(&self) -> u64 {
        self.header().position(self.scanner.position())
    }

    /// Where in the file the next record begins.
    pub(in crate::appender) fn offset(&self) -> u64 {
        self.scanner.position()
    }

    /// Where in the log the last record began.
    pub(in crate::appender) fn record_position(&self) -> u64 {
        self.record
    }

    /// The next file says where this one ends. Returns whether it does.
    pub(in crate::appender) fn link_next(&mut self, next: &Next) -> bool {
        if let Some(previous) = next.header.previous
            && next.header.follows(self.header())
            && self.next_number() == Some(next.number)
        {
            self.end = Some(previous.end.max(HEADER as u64));
            self.scanner.look_again(previous.end);
            self.scanner.set_durable_until(previous.end);
        }
        self.end.is_some()
    }

    /// Where this file ends, if the next one says so.
    pub(in crate::appender) fn end(&self) -> Option<u64> {
        self.end
    }

    /// Behind the last record that was passed.
    pub(in crate::appender) fn records_end(&self) -> u64 {
        self.scanner.records_end()
    }

    /// Where in the log the last record ends that was passed; where the file begins if there was none.
    pub(in crate::appender) fn records_end_position(&self) -> u64 {
        self.header().position(self.records_end())
    }

    /// How many bytes were passed that a repair has set aside.
    pub(in crate::appender) fn set_aside(&self) -> u64 {
        self.scanner.set_aside()
    }

    /// Whether the file ends here, and was closed in order or has had nothing written to it.
    pub(in crate::appender) fn is_clean_end(&self) -> bool {
        self.scanner.is_clean_end()
    }

    /// Whether there is nothing where the next frame will be: no bytes, or zeros, which no frame begins with. One short
    /// read tells.
    pub(in crate::appender) fn has_nothing(&self) -> io::Result<bool> {
        let mut first = [0; FRAME];
        self.file.read_at(&mut first, self.scanner.position())?;
        Ok(first == [0; FRAME])
    }

    /// Whether the beginning of what is next was read already.
    pub(in crate::appender) fn has_read_on(&self) -> bool {
        self.scanner.has_read_on()
    }

    /// Where the file's records end, if the place that was asked for is behind that.
    pub(in crate::appender) fn end_before_what_was_asked_for(&self) -> io::Result<Option<u64>> {
        let Some(asked_for) = self.asked_for.filter(|&offset| offset > self.header().begin()) else { return Ok(None) };
        if !self.has_nothing()? || ends_at(&*self.file, self.header(), asked_for)? {
            return Ok(None);
        }
        let mut scanner = Scanner::new(*self.header(), self.len);
        let end = loop {
            match scanner.next(&*self.file)? {
                Found::Record(_) => {}
                Found::End => break scanner.position(),
                Found::Broken => match scanner.explain(&*self.file)? {
                    Break::Damaged { until } => scanner.go_to(until),
                    Break::Torn { .. } => break scanner.position(),
                },
            }
        };
        Ok((end < asked_for).then(|| self.header().position(end)))
    }

    /// An appender has written since the file was read.
    pub(in crate::appender) fn look_at_length(&mut self) -> io::Result<()> {
        self.len = self.file.len()?;
        self.scanner.look_again(self.len);
        Ok(())
    }

    /// Whether the file is longer, or its end another, than when it was looked at last.
    pub(in crate::appender) fn look_again(&mut self) -> io::Result<bool> {
        self.look_at_length()?;
        let at = self.scanner.position();
        let found = self.scanner.next(&*self.file);
        let is_record = matches!(found?, Found::Record(_));
        if is_record {
            self.scanner.go_to(at);
        }
        Ok(is_record)
    }

    /// A place in the middle of a frame looks like damage. It is a mistake of the caller.
    fn no_record_at(&self, offset: u64, next: u64) -> Error {
        let (at, next) = (self.header().position(offset), self.header().position(next));
        let message = format!("no record begins at position {at}; reading goes on at position {next}");
        self.error(io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    pub(in crate::appender) fn next(&mut self, is_last: bool) -> io::Result<Item> {
        // A reader that was here before the next appender may be behind the end, in what that has repeated.
        if self.end.is_some_and(|end| self.scanner.position() >= end) {
            return Ok(Item::End { torn_bytes: 0 });
        }
        let mut looks = 0;
        loop {
            match self.scanner.next(&*self.file)? {
                Found::Record(record) => {
                    let record = record.to_vec();
                    let begin = self.scanner.position() - (FRAME + record.len()) as u64;
                    self.record = self.header().position(begin);
                    return Ok(Item::Record(record));
                }
                Found::End => return Ok(Item::End { torn_bytes: 0 }),
                Found::Broken => {}
            }
            let offset = self.scanner.position();
            if self.asked_for.take() == Some(offset) {
                let next = next_frame(&*self.file, *self.header(), self.len, offset)?;
                if next > offset {
                    self.scanner.go_to(next);
                    return Ok(Item::NoRecord(self.no_record_at(offset, next)));
                }
            }
            // Marks behind the end tell of what is before it too, as they did before there was a next file.
            self.scanner.look_again(self.len);
            let explained = self.scanner.explain(&*self.file);
            self.scanner.look_again(self.end.unwrap_or(self.len));
            let until = match (explained?, self.end) {
                // An appender may have written here since this was read, and further on, with marks that say so. Or it
                // writes just now. A second look tells; where an appender may be at work, what looks damaged gets a few
                // more looks.
                (found, end)
                    if looks == 0 || looks < LOOKS && end.is_none() && matches!(found, Break::Damaged { .. }) =>
                {
                    if looks > 0 {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    looks += 1;
                    self.len = self.file.len()?;
                    self.scanner.look_again(self.end.unwrap_or(self.len));
                    continue;
                }
                (Break::Damaged { until }, end) => end.map_or(until, |end| until.min(end)),
                // All of it was durable before the next one was made.
                (Break::Torn { .. }, Some(end)) => end,
                (Break::Torn { until }, None) => {
                    // The next file is missing, so where this one ended is not known.
                    let torn_bytes = if is_last { until - offset } else { 0 };
                    return Ok(Item::End { torn_bytes });
                }
            };
            self.scanner.go_to(until);
            return Ok(Item::Damage(Damage { offset, bytes: until - offset }));
        }
    }
}

/// Whether a record or a mark ends at `offset`, as far as a look at what is right before it can tell.
fn ends_at(file: &dyn ReadAt, header: &Header, offset: u64) -> io::Result<bool> {
    const LOOK: u64 = 64 << 10;
    let begin = offset.saturating_sub(LOOK).max(header.begin());
    let mut bytes = vec![0; (offset - begin) as usize];
    if file.read_full(&mut bytes, begin)? < bytes.len() {
        return Ok(false);
    }
    if let Some((_, mark)) = bytes.split_last_chunk::<MARK>()
        && frame::parse_mark(header.salt, offset - MARK as u64, mark).is_some()
    {
        return Ok(true);
    }
    Ok((0..=bytes.len().saturating_sub(FRAME)).rev().any(|at| {
        let Some((first, content)) = bytes[at..].split_first_chunk::<FRAME>() else { return false };
        let (length, check) = frame::parse(first);
        length as usize == content.len()
            && frame::check(header.salt, begin + at as u64, length, frame::sum(content)) == check
    }))
}

/// Where the first frame begins that is not before `offset`, found from the beginning of the file; `offset` itself
/// where that is not known: in damage, and behind the last record.
fn next_frame(file: &(impl ReadAt + ?Sized), header: Header, len: u64, offset: u64) -> io::Result<u64> {
    let mut scanner = Scanner::new(header, len);
    loop {
        let length = match scanner.next(file)? {
            Found::Record(record) => Some((FRAME + record.len()) as u64),
            Found::End | Found::Broken => None,
        };
        let behind = scanner.position();
        let begin = behind - length.unwrap_or(0);
        // Before it there may be marks. The caller has found no whole frame at `offset`, so no mark begins there.
        if offset <= begin {
            return Ok(begin);
        }
        if length.is_some() {
            if offset < behind {
                return Ok(behind);
            }
            continue;
        }
        match scanner.explain(file)? {
            Break::Damaged { until } if until <= offset => scanner.go_to(until),
            Break::Damaged { .. } | Break::Torn { .. } => return Ok(offset),
        }
    }
}
