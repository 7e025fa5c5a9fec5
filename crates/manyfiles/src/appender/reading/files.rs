//! Going from one file of a log to the next.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use crate::appender::log::ending;
use crate::appender::log::losses::Missing;
use crate::appender::log::opened::{Next, Opened, not_framed, open_file};
use crate::appender::position::Position;
use crate::appender::reading::current::Current;
use crate::appender::reading::records::{Records, Seen};
use crate::{Error, Operation, Result};

impl Records {
    pub(in crate::appender) fn leave(&mut self) -> Option<Current> {
        let current = self.current.take();
        self.set_aside_bytes += current.as_ref().map_or(0, Current::set_aside);
        current
    }

    /// Goes to the next file, and in it to a position of the log or to its beginning. A follower gives its position. If
    /// `current` is `None` afterwards, there is no next file.
    pub(in crate::appender) fn open_next(&mut self, from: Option<u64>) -> Result<()> {
        let before = self.leave();
        let Some((number, next, missing)) = self.next_file(before.as_ref())? else { return Ok(()) };
        if let (Some(before), true) = (&before, from.is_some())
            && !next.header.follows(before.header())
            && self.finds_another_log()
        {
            return Ok(());
        }
        if let Some(missing) = missing
            && (before.is_some() || from.is_some())
        {
            // Marks may stand between the last record and the position.
            let read = before.as_ref().map_or(self.position, Current::records_end_position);
            self.pending.extend(gap(missing, read.min(self.position), self.position, &next));
        }
        if let Some(damage) = next.damage {
            self.pending.push_back(next.error(damage.into()));
        }
        let mut from = from;
        if let Some(before) = before {
            let follows = before.next_number() == Some(number);
            let goes_on = follows && next.header.follows(before.header());
            if follows && !goes_on {
                self.pending.push_back(next.error(ending::goes_not_on()));
            }
            // What a reader has seen of the file before is not read again. Records that have vanished since are not
            // repeated by any file.
            let begin = next.header.position(next.header.begin());
            if goes_on && from.is_some() && before.records_end_position() > begin {
                let gone = Missing { from: Position(self.position), to: Some(Position(begin)) };
                self.pending.push_back(next.error(gone.into()));
            }
            from = from.filter(|_| goes_on).map(|from| from.min(begin));
        }
        self.seen = Some(Seen { number, header: next.header, is_told: false });
        let mut current = Current::new(next, from);
        // Where this one ends, the next one says.
        if let Some(&number) = self.numbers.front()
            && let Ok(Opened::File(next)) = open_file(&*self.storage, &self.series, number)
        {
            current.link_next(&next);
        }
        self.position = current.position();
        self.current = Some(current);
        Ok(())
    }

    /// The next file that is there, with its number; and the path of the first that should be there before it and is
    /// not.
    fn next_file(&mut self, before: Option<&Current>) -> Result<Option<(u64, Next, Option<PathBuf>)>> {
        let mut expected = before.and_then(Current::next_number);
        let mut missing = None;
        let mut last = before.map(|before| before.number);
        loop {
            let Some(number) = self.numbers.pop_front() else {
                // All that were there when names were read last are gone. What has come since is to be read.
                let newer = |number: &u64| last.is_some_and(|last| *number > last);
                let Some(path) = missing.take() else { return Ok(None) };
                let numbers: VecDeque<u64> = self.series.numbers(&*self.storage)?.into_iter().filter(newer).collect();
                if numbers.is_empty() {
                    self.seen = self.seen.map(|seen| Seen { is_told: true, ..seen });
                    let gone = Missing { from: Position(self.position), to: None };
                    return Err(Error::new(Operation::Open, path, gone.into()));
                }
                (missing, self.numbers) = (Some(path), numbers);
                continue;
            };
            last = Some(number);
            if let Some(expected) = expected.take()
                && expected != number
            {
                missing.get_or_insert_with(|| self.series.path(expected));
            }
            match open_file(&*self.storage, &self.series, number)? {
                Opened::File(next) => return Ok(Some((number, next, missing))),
                Opened::Gone => drop(missing.get_or_insert_with(|| self.series.path(number))),
                Opened::Empty if self.numbers.is_empty() => return Ok(None),
                Opened::Empty => return Err(Error::new(Operation::Open, self.series.path(number), not_framed())),
            }
        }
    }
}

/// What is to be told where files from this one on are missing in front of one. The last record that was read ends at
/// `read`, and reading has come to `position`. Nothing, if the missing files had no records of their own: they only
/// repeated what is in the files before them.
fn gap(missing: PathBuf, read: u64, position: u64, next: &Next) -> Option<Error> {
    let base = next.header.base;
    if base < read {
        let message = format!(
            "it begins at position {base}, and the files before it end at {position}: it is an older file under a new \
             number, or another log's"
        );
        return Some(next.error(io::Error::new(io::ErrorKind::InvalidData, message)));
    }
    let gap = Missing { from: Position(position), to: Some(Position(base)) };
    (base > position).then(|| Error::new(Operation::Open, missing, gap.into()))
}
