//! What a follower looks for: more records, a next file, and another log under the name of the one that it was in.

use std::collections::VecDeque;

use crate::appender::log::common;
use crate::appender::log::header::HEADER;
use crate::appender::log::losses::Missing;
use crate::appender::log::opened::{Next, Opened, open_file};
use crate::appender::position::Position;
use crate::appender::reading::current::Current;
use crate::appender::reading::records::{Records, Seen};
use crate::{Error, Operation, Result};

impl Records {
    /// Whether something has come behind the last record, or a next file. Takes some microseconds; reading, which finds
    /// out what stands there in place of a record, takes a hundred times as much where there is
    /// [room](crate::appender::Options::framed) behind it.
    pub(in crate::appender) fn glance(&mut self) -> Result<bool> {
        let Some(current) = &mut self.current else { return Ok(true) };
        if current.has_read_on() {
            return Ok(true);
        }
        if !current.has_nothing().map_err(|cause| current.error(cause))? {
            if current.is_cut().map_err(|cause| current.error(cause))? {
                self.find_file_again()?;
                return Ok(true);
            }
            current.look_at_length().map_err(|cause| current.error(cause))?;
            return Ok(true);
        }
        let Some(behind) = current.next_number() else { return Ok(false) };
        Ok(open_file(&*self.storage, &self.series, behind)?.file().is_some())
    }

    /// At the end of the last file that is known: whether there is more now, in it or in a next one.
    pub(in crate::appender) fn find_next(&mut self) -> Result<bool> {
        let Some(behind) = self.current.as_ref().map(Current::next_number) else { return Ok(false) };
        // In this order: what the file has before the next one is there is read before that.
        let next = match behind {
            Some(number) => open_file(&*self.storage, &self.series, number)?.file(),
            None => None,
        };
        if next.is_some() || self.is_cut()? {
            self.find_file_again()?;
        }
        let Some(current) = &mut self.current else { return Ok(false) };
        let has_grown = current.look_again().map_err(|cause| current.error(cause))?;
        if let Some(next) = next {
            if !current.link_next(&next) && !has_grown && self.finds_another_log() {
                return Ok(true);
            }
            self.numbers.extend(behind);
            return Ok(true);
        }
        Ok(has_grown)
    }

    /// Looks whether files were removed: the one that is followed, or those that were still to be read. What is there
    /// in their place is read next. An error tells what is not in the log any more.
    pub(in crate::appender) fn look_around(&mut self) -> Result<()> {
        if !self.numbers.is_empty() {
            return Ok(());
        }
        let Some(seen) = self.seen else {
            // There was nothing but a file to which nothing had been written.
            self.numbers = self.series.numbers(&*self.storage)?.into();
            return Ok(());
        };
        let Seen { number, header, .. } = seen;
        let behind = number.checked_add(1);
        if let Some(behind) = behind
            && let Ok(Opened::File(next)) = open_file(&*self.storage, &self.series, behind)
            && next.header.follows(&header)
        {
            return Ok(());
        }
        // Names are listed when the file was found to be gone: whatever had to come before it went is among them.
        let there = open_file(&*self.storage, &self.series, number)?;
        let all = self.series.numbers(&*self.storage)?;
        let is_gone = match there {
            Opened::File(file) if file.header.salt == header.salt => {
                self.go_on_in(file)?;
                self.seen = Some(Seen { is_told: false, ..seen });
                if !behind.is_some_and(|behind| all.contains(&behind)) {
                    self.numbers.extend(all.into_iter().filter(|&other| other > number));
                }
                return Ok(());
            }
            Opened::File(_) => false,
            // It is about to come, or to go.
            Opened::Empty | Opened::Gone if all.contains(&number) => return Ok(()),
            Opened::Empty | Opened::Gone => true,
        };
        if is_gone
            && let Some(&first) = all.first().filter(|&&first| first > number && Some(first) != behind)
            && let Opened::File(first) = open_file(&*self.storage, &self.series, first)?
            && first.header.base >= self.position
        {
            // The oldest files were removed, this one too.
            self.numbers = all.into();
            return Ok(());
        }
        self.go_to_another_log(seen, all)
    }

    /// The file that was followed is gone, or another file has its name. What there is of these numbers is read next,
    /// and an error tells of it.
    fn go_to_another_log(&mut self, seen: Seen, all: Vec<u64>) -> Result<()> {
        let Seen { number, header, is_told } = seen;
        // Where the file before it is still there, the log is, but for its end.
        let previous = header.previous.zip(number.checked_sub(1));
        let is_same_log = previous.is_some_and(|(previous, number)| {
            let before = open_file(&*self.storage, &self.series, number);
            matches!(before, Ok(Opened::File(before)) if before.header.salt == previous.salt)
        });
        let rest: VecDeque<u64> = all.into_iter().filter(|&other| !is_same_log || other >= number).collect();
        let missing = |to| {
            let missing = Missing { from: Position(self.position), to };
            Err(Error::new(Operation::Read, self.series.path(number), missing.into()))
        };
        let Some(&first) = rest.front() else {
            if is_told {
                return Ok(());
            }
            self.seen = Some(Seen { is_told: true, ..seen });
            return missing(None);
        };
        let Some(begin) = open_file(&*self.storage, &self.series, first)?.file() else { return Ok(()) };
        let told = missing(Some(Position(begin.header.base)));
        self.leave();
        (self.numbers, self.position) = (rest, begin.header.base);
        told
    }

    fn is_cut(&self) -> Result<bool> {
        let Some(current) = &self.current else { return Ok(false) };
        current.is_cut().map_err(|cause| current.error(cause))
    }

    /// Looks whether the name of the file that is read still leads to it, and whether it has what was read of it.
    fn find_file_again(&mut self) -> Result<()> {
        let Some(number) = self.current.as_ref().map(|current| current.number) else { return Ok(()) };
        match open_file(&*self.storage, &self.series, number) {
            Ok(Opened::File(there)) => self.go_on_in(there),
            // What is wrong with the name is told when the follower looks around.
            Ok(Opened::Empty | Opened::Gone) | Err(_) => Ok(()),
        }
    }

    /// This file has the name of the one that is read. If it is a copy of that one, or if that one was cut, reading
    /// goes on in it, behind the last record that was read and is there. An error tells that not all of them are there.
    fn go_on_in(&mut self, there: Next) -> Result<()> {
        let Some(current) = &self.current else { return Ok(()) };
        if *current.header() != there.header {
            return Ok(());
        }
        let error = |cause| there.error(cause);
        let read = current.read_until();
        // On some file systems a file that is opened twice seems to be two.
        let is_same = current.is_at(there.path()).map_err(error)? || !there.is_at(there.path()).map_err(error)?;
        let (end, is_all) = if !is_same {
            let common = common::end(current.side(), there.side(), read).map_err(error)?;
            (common.end, common.is_all)
        } else if !current.is_cut().map_err(error)? {
            return Ok(());
        } else if there.len() < read {
            // What is left is what was there.
            (common::end(there.side(), there.side(), read).map_err(error)?.end, false)
        } else {
            // It has grown since, and nothing tells from where on.
            (HEADER as u64, false)
        };
        let end = if is_all { read } else { end };
        let to = Position(there.header.position(end));
        let gone = there.error(Missing { from: Position(self.position), to: Some(to) }.into());
        self.leave();
        self.position = to.0;
        self.current = Some(Current::at(there, end));
        if is_all { Ok(()) } else { Err(gone) }
    }

    /// At the end of a file that the next one does not go on from: whether that is because there is another log under
    /// the name of the one that was followed. Then its beginning is what is read next.
    pub(in crate::appender) fn finds_another_log(&mut self) -> bool {
        let numbers = std::mem::take(&mut self.numbers);
        match self.look_around() {
            Err(error) if error.missing().is_some() => {
                self.pending.push_back(error);
                true
            }
            // Whatever else there is to say is said by reading on.
            Ok(()) | Err(_) => {
                self.numbers = numbers;
                false
            }
        }
    }
}
