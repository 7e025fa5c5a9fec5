//! [`System`]: rows become calls, and opens are matched with closes.

use std::rc::Rc;

use hashbrown::{DefaultHashBuilder, HashMap};

use super::Row;
use super::columns::Column;
use super::detail::Detail;
use super::operation::{Shape, classify};
use crate::analysis::Analysis;
use crate::call::{Call, Effect, Kind, ThreadId};
use crate::number::{self, Decimal, SECOND};
use crate::open_file::OpenFile;

type Map<K, V> = HashMap<K, V, DefaultHashBuilder>;
type OpenByPath = Map<Box<[u8]>, Vec<Rc<OpenFile>>>;

const DAY: u64 = 86_400 * SECOND;
/// The most open files that are followed at once. A trace that seems to have more began late or is damaged.
const MOST_OPEN: usize = 1 << 16;
/// More names than there are operations are no names of operations.
const MOST_NAMES: usize = 2000;

/// The files that are open, as far as rows tell.
#[derive(Default)]
pub(super) struct System {
    /// By process and path. Handles have no names here: of several on one path, the last opened is taken to be the
    /// first closed.
    open: Map<u32, OpenByPath>,
    opened: usize,
    operations: Map<Box<[u8]>, (Kind, Shape)>,
    first: Option<u64>,
    last: u64,
    days: u64,
}

impl System {
    /// Takes a row. Says whether it made sense.
    pub(super) fn row(&mut self, row: Row<'_>, analysis: &mut Analysis) -> bool {
        let Some(operation) = row.get(Column::Operation).filter(|name| !name.is_empty()) else { return false };
        let Ok(duration) = duration(&row) else { return false };
        let number = |column| {
            row.get(column).map_or(Some(0), |text| if text.is_empty() { Some(0) } else { number::whole(text) })
        };
        let (Some(pid), Some(tid)) = (number(Column::Pid), number(Column::Tid)) else { return false };
        let (Ok(pid), Ok(tid)) = (u32::try_from(pid), u32::try_from(tid)) else { return false };
        let time = match self.start(&row) {
            Ok(time) => time,
            Err(()) => return false,
        };
        let (kind, shape) = self.classify(operation);
        let result = row.get(Column::Result).unwrap_or(b"SUCCESS");
        let failed = is_failure(result);
        let path = row.get(Column::Path).filter(|path| !path.is_empty());
        let detail = Detail(row.get(Column::Detail).unwrap_or(b""));
        let (effect, file) = self.effect(pid, path, shape, detail, failed);
        if let Some(Decimal { digits, .. }) = duration {
            analysis.seen_digits(digits);
        }
        analysis.call(&Call {
            operation,
            kind,
            thread: ThreadId { process: pid, thread: tid },
            program: row.get(Column::ProcessName).unwrap_or(b""),
            start: time,
            duration: duration.map(|time| time.nanos),
            failed,
            path,
            file: file.as_deref(),
            effect,
        });
        true
    }

    /// After the last row.
    pub(super) fn finish(&mut self, analysis: &mut Analysis) {
        for file in self.open.drain().flat_map(|(_, files)| files.into_values().flatten()) {
            analysis.left_open(&file);
        }
    }

    fn classify(&mut self, operation: &[u8]) -> (Kind, Shape) {
        if let Some(&known) = self.operations.get(operation) {
            return known;
        }
        let class = classify(operation);
        if self.operations.len() < MOST_NAMES {
            self.operations.insert(operation.into(), class);
        }
        class
    }

    fn effect(
        &mut self,
        pid: u32,
        path: Option<&[u8]>,
        shape: Shape,
        detail: Detail<'_>,
        failed: bool,
    ) -> (Effect, Option<Rc<OpenFile>>) {
        let Some(path) = path.filter(|_| shape != Shape::None && !failed) else { return (Effect::None, None) };
        match shape {
            Shape::None => (Effect::None, None),
            Shape::Create => {
                let mut file = OpenFile::new(Some(path), pid);
                file.opened = true;
                file.for_writing = detail.for_writing();
                file.appends = detail.appends();
                file.was_empty = detail.was_empty();
                file.regular &= !detail.is_folder();
                file.durable = detail.is_durable();
                let file = Rc::new(file);
                self.put(pid, path, file.clone());
                (Effect::Opened, Some(file))
            }
            Shape::Close => match self.take(pid, path) {
                Some(file) => (Effect::Closed, Some(file)),
                None => (Effect::None, None),
            },
            Shape::Read if detail.is_paging() => (Effect::None, None),
            Shape::Write if detail.is_paging() => (Effect::None, None),
            Shape::Read => (Effect::Read(detail.length().unwrap_or(0)), self.latest(pid, path, |_| true)),
            Shape::Write => {
                let wrote = Effect::Wrote { bytes: detail.length().unwrap_or(0), at: detail.offset() };
                (wrote, self.latest(pid, path, |file| file.for_writing))
            }
            Shape::Flush => (Effect::Synced, self.latest(pid, path, |file| file.for_writing)),
        }
    }

    fn put(&mut self, pid: u32, path: &[u8], file: Rc<OpenFile>) {
        if self.opened >= MOST_OPEN {
            self.open.clear();
            self.opened = 0;
        }
        let files = self.open.entry(pid).or_default();
        match files.get_mut(path) {
            Some(open) => open.push(file),
            None => drop(files.insert(path.into(), vec![file])),
        }
        self.opened += 1;
    }

    fn take(&mut self, pid: u32, path: &[u8]) -> Option<Rc<OpenFile>> {
        let files = self.open.get_mut(&pid)?;
        let open = files.get_mut(path)?;
        let file = open.pop();
        if open.is_empty() {
            files.remove(path);
        }
        self.opened = self.opened.saturating_sub(usize::from(file.is_some()));
        file
    }

    fn latest(&self, pid: u32, path: &[u8], which: impl Fn(&OpenFile) -> bool) -> Option<Rc<OpenFile>> {
        self.open.get(&pid)?.get(path)?.iter().rev().find(|file| which(file)).cloned()
    }

    /// When it began, in nanoseconds since the first. `Err`: the text is no time.
    fn start(&mut self, row: &Row<'_>) -> Result<Option<u64>, ()> {
        let time = |column, read: fn(&[u8]) -> Option<u64>| match row.get(column).filter(|text| !text.is_empty()) {
            Some(text) => read(text).map(Some).ok_or(()),
            None => Ok(None),
        };
        let mut now = match time(Column::RelativeTime, time_of_day)? {
            Some(now) => now,
            None => match time(Column::TimeOfDay, time_of_day)? {
                Some(now) => now,
                None => match time(Column::DateAndTime, date_and_time)? {
                    Some(now) => now,
                    None => return Ok(None),
                },
            },
        };
        // Rows are in order, up to little; half a day back is midnight.
        if now + self.days + DAY / 2 < self.last {
            self.days += DAY;
        }
        now += self.days;
        self.last = now;
        let first = *self.first.get_or_insert(now);
        Ok(Some(now.saturating_sub(first)))
    }
}

/// Whether a result says that a call has not done what it was to do. Some say more than that it has: that there is more
/// than fits into the caller's memory (`BUFFER OVERFLOW`, with which a program asks how much it needs), or that all has
/// been read or listed. And a driver that does not take the short way (`FAST IO DISALLOWED`) is asked the long way.
fn is_failure(result: &[u8]) -> bool {
    const NONE: [&[u8]; 9] = [
        b"SUCCESS",
        b"BUFFER OVERFLOW",
        b"END OF FILE",
        b"NO MORE FILES",
        b"NO MORE ENTRIES",
        b"REPARSE",
        b"NOTIFY CLEANUP",
        b"NOTIFY ENUM DIR",
        b"FAST IO DISALLOWED",
    ];
    !NONE.contains(&result)
}

/// `Ok(None)` for an event that has none. Without the column, the time it ended may be there instead.
fn duration(row: &Row<'_>) -> Result<Option<Decimal>, ()> {
    if let Some(text) = row.get(Column::Duration) {
        return match text {
            b"" => Ok(None),
            text => match number::decimal(text, SECOND) {
                Some((time, b"")) => Ok(Some(time)),
                _ => Err(()),
            },
        };
    }
    let (Some(start), Some(end)) = (row.get(Column::TimeOfDay), row.get(Column::CompletionTime)) else {
        return Ok(None);
    };
    match (time_of_day(start), time_of_day(end)) {
        (Some(start), Some(end)) => {
            let nanos = if end + DAY / 2 < start { end + DAY - start } else { end.saturating_sub(start) };
            Ok(Some(Decimal { nanos, digits: 7 }))
        }
        _ => Ok(None),
    }
}

/// `12:57:15.0645467 AM`, `13:30:03.0979793`, in nanoseconds since midnight.
fn time_of_day(text: &[u8]) -> Option<u64> {
    let digits = text.iter().position(u8::is_ascii_digit)?;
    let (nanos, rest) = number::clock(&text[digits..])?;
    let half = 12 * 3600 * SECOND;
    // Some settings have it before the time.
    let before = text[..digits].trim_ascii();
    Some(match rest.trim_ascii().first().or(before.first()) {
        Some(b'P' | b'p') if nanos < half => nanos + half,
        Some(b'A' | b'a') if nanos >= half => nanos - half,
        _ => nanos,
    })
}

/// `1/2/2026 8:28:49 PM`: the time of it.
fn date_and_time(text: &[u8]) -> Option<u64> {
    time_of_day(&text[memchr::memchr(b' ', text)? + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_that_all_was_read_is_no_failure() {
        for (result, failed) in [
            ("SUCCESS", false),
            ("END OF FILE", false),
            ("BUFFER OVERFLOW", false),
            ("NO MORE FILES", false),
            ("NAME NOT FOUND", true),
            ("SHARING VIOLATION", true),
            ("ACCESS DENIED", true),
            ("BUFFER TOO SMALL", true),
        ] {
            assert_eq!(is_failure(result.as_bytes()), failed, "{result}");
        }
    }

    #[test]
    fn times_are_read_as_windows_writes_them() {
        let hours = |n: u64| n * 3600 * SECOND;
        for (text, nanos) in [
            ("12:57:15.0645467 AM", 57 * 60 * SECOND + 15_064_546_700),
            ("12:00:00.0000000 PM", hours(12)),
            ("1:00:00.0000001 PM", hours(13) + 100),
            ("PM 1:00:00.0000001", hours(13) + 100),
            ("am 12:00:01", SECOND),
            ("13:30:03.0979793", hours(13) + 30 * 60 * SECOND + 3_097_979_300),
            ("00:00:01.5000000", 1_500_000_000),
        ] {
            assert_eq!(time_of_day(text.as_bytes()), Some(nanos), "{text}");
        }
        assert_eq!(date_and_time(b"1/2/2026 8:28:49 PM"), Some(hours(20) + 28 * 60 * SECOND + 49 * SECOND));
        assert_eq!(time_of_day(b"yesterday"), None);
    }
}
