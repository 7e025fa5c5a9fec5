//! What all threads share under one lock, as plain data: records that wait, how far the others have come, who does what.
//!
//! Records are counted from 1 in the order in which they were appended. `appended`, `written` and `durable` say how many are that
//! far: `durable <= written <= appended`.
//!
//! Two roles go from thread to thread. The **writer** takes what is buffered and hands it to the system. The **leader** closes the
//! group of those who wait to be durable, writes what of theirs is still buffered, and syncs. Each role has one holder at most.

use std::time::Duration;

use super::asynchronous::Wakers;
use super::batch::Batch;
use super::frame;
use super::options::Options;
use crate::{Error, Operation};

/// Where a place in a file is: bytes of it that are written, or durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Files are counted as they are begun.
    pub(super) file: u64,
    pub(super) offset: u64,
}

pub(super) struct State {
    // Records.
    /// What waits for a write.
    pub(super) batch: Batch,
    /// An empty batch that has its memory already, while nobody writes.
    pub(super) spare: Batch,
    pub(super) appended: u64,
    pub(super) written: u64,
    pub(super) durable: u64,

    // Files.
    /// The salt of the file that the next record goes to; `None` without framing.
    salt: Option<u32>,
    /// Where the next record goes.
    end: u64,
    /// When the file was begun that it goes to, and its age then.
    begun: Duration,
    age: Duration,
    /// How far the file that is written to has come.
    pub(super) written_place: Place,
    pub(super) durable_place: Place,

    // Roles.
    /// Somebody writes.
    pub(super) writing: bool,
    /// The leader is next to write.
    pub(super) reserved: bool,
    /// There is a leader.
    pub(super) leading: bool,
    /// Groups closed so far. Those who wait for the group that is closed, and those who gather for the next, sleep apart.
    pub(super) groups: u64,
    /// The last record of the group that was closed last.
    pub(super) closed: u64,
    pub(super) gathering: Gathering,
    pub(super) sleepers: Sleepers,

    pub(super) wakers: Wakers,
    /// A thread waits on behalf of tasks.
    pub(super) helper: bool,

    // The end.
    pub(super) failure: Option<Error>,
    /// Somebody has been told of the failure.
    pub(super) told: bool,
}

/// How many threads sleep where, so that nobody is woken, which is a system call, where nobody sleeps.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    pub(super) turn: usize,
    pub(super) groups: [usize; 2],
}

/// How many wait, and how many are expected to.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// Who waits for the next group to be durable.
    pub(super) arrived: usize,
    /// Who waits for the group that is closed.
    pub(super) covered: usize,
    /// Who waited when the last sync was done; most come back at once with their next record.
    pub(super) expected: usize,
    /// The leader sleeps until those are there.
    pub(super) sleeping: bool,
    /// What a sync takes, averaged.
    pub(super) sync_time: Duration,
    /// How often in a row waiting for them was in vain.
    vain: u32,
    /// Groups to let pass before waiting for them is tried again.
    pause: u32,
}

/// What an append finds.
pub(super) enum Room {
    /// The record is in the batch, with this number.
    Taken(u64),
    /// The batch is full.
    Full,
    /// The record is too large to be copied: the caller writes it.
    Large,
}

impl State {
    /// Begins behind what is in the file already.
    pub(super) fn new(salt: Option<u32>, end: u64, begun: Duration, age: Duration) -> State {
        let place = Place { file: 0, offset: end };
        State {
            batch: Batch::default(),
            spare: Batch::default(),
            appended: 0,
            written: 0,
            durable: 0,
            salt,
            end,
            begun,
            age,
            written_place: place,
            durable_place: place,
            writing: false,
            reserved: false,
            leading: false,
            groups: 0,
            closed: 0,
            gathering: Gathering::default(),
            sleepers: Sleepers::default(),
            wakers: Wakers::default(),
            helper: false,
            failure: None,
            told: false,
        }
    }

    /// Whether the writer's role can be had.
    pub(super) fn may_write(&self) -> bool {
        !self.writing && !self.reserved
    }

    /// Takes a record, if there is room. `sum` is its checksum where there is framing.
    pub(super) fn append(
        &mut self,
        record: &[u8],
        sum: u32,
        options: &Options,
        now: impl FnOnce() -> Duration,
    ) -> Room {
        let overhead = if self.salt.is_some() { frame::FRAME + frame::MARK } else { 0 };
        if record.len() > options.largest_copy() {
            return Room::Large;
        }
        if !self.batch.is_empty() && self.batch.len() + record.len() + overhead > options.capacity {
            return Room::Full;
        }
        self.begin_piece(record.len(), options, now);
        if let Some(salt) = self.salt {
            // Lengths were checked against the largest that fits.
            self.batch.push(&frame::frame(salt, self.end, record.len() as u32, sum));
            self.end += frame::FRAME as u64;
        }
        self.batch.push(record);
        self.end += record.len() as u64;
        Room::Taken(self.ends_piece())
    }

    /// Adds what goes before a record of this length that its caller writes behind the batch. Returns the record's number.
    pub(super) fn append_large(
        &mut self,
        length: usize,
        sum: u32,
        options: &Options,
        now: impl FnOnce() -> Duration,
    ) -> u64 {
        self.begin_piece(length, options, now);
        if let Some(salt) = self.salt {
            self.batch.push(&frame::frame(salt, self.end, length as u32, sum));
            self.end += frame::FRAME as u64;
        }
        self.end += length as u64;
        self.ends_piece()
    }

    fn ends_piece(&mut self) -> u64 {
        self.appended += 1;
        self.batch.ends_with(self.appended);
        self.appended
    }

    /// Begins a piece if the record can't go to the newest one: there is none, or a new file is due.
    fn begin_piece(&mut self, length: usize, options: &Options, now: impl FnOnce() -> Duration) {
        let overhead = if self.salt.is_some() { frame::FRAME + frame::MARK } else { 0 };
        let first = self.salt.map_or(0, |_| frame::HEADER as u64);
        let after = self.end.saturating_add((length + overhead) as u64);
        let is_large = options.rotate_bytes.is_some_and(|most| after > most);
        // No file is left empty, however large the record.
        let is_begun = self.end > first;
        let mut rotate = is_begun && is_large;
        if let Some(age) = options.rotate_age {
            let now = now();
            rotate |= is_begun && now.saturating_sub(self.begun).saturating_add(self.age) >= age;
            if rotate || !is_begun {
                (self.begun, self.age) = (now, Duration::ZERO);
            }
        }
        if rotate {
            // Any number that its predecessor did not have will do.
            self.salt = self.salt.map(|salt| salt.wrapping_mul(0x2C92_77B5).wrapping_add(0xAC56_4B05));
            self.end = first;
            self.batch.begin(first, Some(self.salt.unwrap_or_default()), None);
        } else if self.batch.is_empty() {
            self.batch.begin(self.end, None, self.salt);
            self.end += self.salt.map_or(0, |_| frame::MARK as u64);
        }
    }

    /// The mark that a file ends with when it is closed in order, and its place.
    pub(super) fn last_mark(&mut self) -> Option<(u64, [u8; frame::MARK])> {
        let offset = self.end;
        let mark = frame::mark(self.salt?, offset, self.durable_place.offset);
        self.end += frame::MARK as u64;
        Some((offset, mark))
    }

    /// Takes what is buffered, to be written.
    pub(super) fn take_batch(&mut self) -> Batch {
        self.batch.set_mark(self.durable_place.offset);
        std::mem::replace(&mut self.batch, std::mem::take(&mut self.spare))
    }

    /// Everything up to this record and this place is durable, unless a sync failed meanwhile: then only what was durable
    /// before is.
    pub(super) fn is_durable(&mut self, record: u64, place: Place) {
        if self.failure.as_ref().is_some_and(|failure| failure.operation() == Operation::Sync) {
            return;
        }
        self.durable = self.durable.max(record);
        if place.file == self.written_place.file {
            self.durable_place = place;
        }
    }

    /// The first failure is the one that counts.
    pub(super) fn fail(&mut self, error: Error) {
        if self.failure.is_some() {
            return;
        }
        if error.operation() == Operation::Sync {
            // What was handed to the system may be gone: it forgets what it could not write out.
            self.written = self.durable;
        }
        self.failure = Some(error);
    }

    /// The failure, for somebody who asks.
    pub(super) fn failure(&mut self) -> Option<Error> {
        self.told |= self.failure.is_some();
        self.failure.clone()
    }
}

impl Gathering {
    /// Waiting for others costs at most this part of a sync, and saves a whole one: with 8 threads 7 times a lock's throughput
    /// instead of 4, with 64 threads 50 instead of 30 (docs/measurements.md, "Durable records").
    const PART: u32 = 2;
    /// A sync that is faster than this is over before a sleeper is awake.
    const SHORTEST: Duration = Duration::from_micros(100);

    /// How long the leader may wait for those who are expected.
    pub(super) fn patience(&mut self, options: &Options) -> Duration {
        if self.is_complete() {
            return Duration::ZERO;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return Duration::ZERO;
        }
        options.max_delay.unwrap_or(match self.sync_time {
            short if short < Gathering::SHORTEST => Duration::ZERO,
            time => time / Gathering::PART,
        })
    }

    /// Whether all who are expected are there.
    pub(super) fn is_complete(&self) -> bool {
        self.arrived >= self.expected
    }

    /// The leader has waited for this many, and perhaps not long enough for all. Who expects those who do not come waits ever
    /// more seldom.
    pub(super) fn waited(&mut self, missing: usize) {
        let still_missing = self.expected.saturating_sub(self.arrived);
        if still_missing <= missing / 2 {
            self.vain = 0;
        } else {
            self.vain = (self.vain + 1).min(6);
            self.pause = (1 << self.vain) - 2;
        }
    }

    /// The group is closed.
    pub(super) fn close(&mut self) {
        self.covered = std::mem::take(&mut self.arrived);
    }

    /// The closed group is durable.
    pub(super) fn synced(&mut self, took: Duration) {
        self.expected = self.covered + self.arrived;
        self.covered = 0;
        self.sync_time = if self.sync_time.is_zero() { took } else { (self.sync_time * 7 + took) / 8 };
    }
}
