//! What all threads share under one lock, as plain data: records that wait, how far the others have come, and which
//! thread does what.
//!
//! How far records have come is [`Progress`].
//!
//! Two roles go from thread to thread. The **writer** takes what is buffered and hands it to the system. The **leader**
//! closes the group of records that threads wait for, writes those that are still buffered, and syncs. Each role has
//! one holder at most.

use std::time::Duration;

use crate::appender::commit::batch::{Batch, NewFile};
use crate::appender::commit::progress::Progress;
use crate::appender::commit::wakers::Wakers;
use crate::appender::log::frame;
use crate::appender::log::header::{HEADER, Header};
use crate::appender::options::Options;

pub(in crate::appender) struct State {
    // Records.
    /// What waits for a write.
    pub(in crate::appender) batch: Batch,
    /// An empty batch that has its memory already, while no thread writes.
    pub(in crate::appender) spare: Batch,
    pub(in crate::appender) progress: Progress,

    // Files.
    /// What the file says at its beginning that the next record goes to; `None` without framing.
    header: Option<Header>,
    /// Where the next record goes.
    end: u64,
    /// When the file was begun that it goes to, and its age then.
    begun: Duration,
    age: Duration,

    // Roles.
    /// A thread is writing.
    pub(in crate::appender) writing: bool,
    /// The leader is next to write.
    pub(in crate::appender) reserved: bool,
    /// There is a leader.
    pub(in crate::appender) leading: bool,
    /// Number of closed groups. Its parity picks the condvar, so that waking one group leaves the next asleep.
    pub(in crate::appender) groups: u64,
    /// The last record of the group that was closed last.
    pub(in crate::appender) closed: u64,
    pub(in crate::appender) gathering: Gathering,
    pub(in crate::appender) sleepers: Sleepers,

    /// When the buffered records are to be written, if no thread has written them by then.
    pub(in crate::appender) flush_at: Option<Duration>,
    /// There is a thread that waits for that.
    pub(in crate::appender) has_flusher: bool,
    /// Nothing is appended any more.
    pub(in crate::appender) is_closing: bool,

    pub(in crate::appender) wakers: Wakers,
    /// Threads that wait on behalf of tasks: for writes, and for syncs.
    pub(in crate::appender) helpers: [bool; 2],
}

/// A record that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::appender) struct Taken {
    pub(in crate::appender) number: u64,
    /// Where it begins in the log; `None` without framing.
    pub(in crate::appender) position: Option<u64>,
}

/// How many threads sleep on each condvar. Waking is a system call, so it is left out where no thread sleeps.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::appender) struct Sleepers {
    pub(in crate::appender) turn: usize,
    /// Heirs are not among them.
    pub(in crate::appender) groups: [usize; 2],
    /// The groups whose heirs sleep.
    pub(in crate::appender) heirs: [Option<u64>; 2],
}

/// How many wait, and how many are expected to.
#[derive(Debug, Default)]
pub(in crate::appender) struct Gathering {
    /// Threads that wait for the next group to be durable.
    pub(in crate::appender) arrived: usize,
    /// Threads that wait for the group that is closed.
    pub(in crate::appender) covered: usize,
    /// Threads that waited when the last sync was done. Most come back at once with their next record.
    pub(in crate::appender) expected: usize,
    /// The leader sleeps until those are there.
    pub(in crate::appender) sleeping: bool,
    /// What a sync takes, averaged.
    pub(in crate::appender) sync_time: Duration,
    /// How often in a row waiting for them was in vain.
    vain: u32,
    /// Groups to let pass before waiting for them is tried again.
    pause: u32,
}

/// What an append finds.
pub(in crate::appender) enum Room {
    /// The record is in the batch.
    Taken(Taken),
    /// The batch is full.
    Full,
    /// The record is too large to be copied: the caller writes it.
    Large,
}

impl State {
    /// Begins behind what is in the file already, which is durable.
    pub(in crate::appender) fn new(header: Option<Header>, end: u64, begun: Duration, age: Duration) -> State {
        State {
            batch: Batch::default(),
            spare: Batch::default(),
            progress: Progress::new(end),
            header,
            end,
            begun,
            age,
            writing: false,
            reserved: false,
            leading: false,
            groups: 0,
            closed: 0,
            gathering: Gathering::default(),
            sleepers: Sleepers::default(),
            flush_at: None,
            has_flusher: false,
            is_closing: false,
            wakers: Wakers::default(),
            helpers: [false; 2],
        }
    }

    /// Whether the writer's role can be had.
    pub(in crate::appender) fn may_write(&self) -> bool {
        !self.writing && !self.reserved
    }

    /// Takes a record, if there is room. `sum` is its checksum where there is framing.
    pub(in crate::appender) fn append(
        &mut self,
        record: &[u8],
        sum: u32,
        options: &Options,
        now: impl FnOnce() -> Duration,
    ) -> Room {
        let overhead = if self.header.is_some() { frame::FRAME + frame::MARK } else { 0 };
        if record.len() > options.largest_copy() {
            return Room::Large;
        }
        if !self.batch.is_empty() && self.batch.len() + record.len() + overhead > options.capacity {
            return Room::Full;
        }
        let position = self.begin_record(record.len(), sum, options, now);
        self.batch.push(record);
        Room::Taken(self.end_record(record.len(), position))
    }

    /// Adds what goes before a record of this length that its caller writes behind the batch.
    pub(in crate::appender) fn append_large(
        &mut self,
        length: usize,
        sum: u32,
        options: &Options,
        now: impl FnOnce() -> Duration,
    ) -> Taken {
        let position = self.begin_record(length, sum, options, now);
        self.end_record(length, position)
    }

    /// Adds the frame, if there are frames. Returns where in the log the record begins.
    fn begin_record(
        &mut self,
        length: usize,
        sum: u32,
        options: &Options,
        now: impl FnOnce() -> Duration,
    ) -> Option<u64> {
        self.begin_piece(length, options, now);
        let position = self.header.map(|header| header.position(self.end));
        if let Some(header) = self.header {
            // Lengths were checked against the largest that fits.
            self.batch.push(&frame::frame(header.salt, self.end, length as u32, sum));
            self.end += frame::FRAME as u64;
        }
        self.end += length as u64;
        position
    }

    fn end_record(&mut self, length: usize, position: Option<u64>) -> Taken {
        let number = self.progress.appends(length);
        self.batch.ends_with(number);
        Taken { number, position }
    }

    /// Begins a piece if the record can't go to the newest one: there is none, or a new file is due.
    fn begin_piece(&mut self, length: usize, options: &Options, now: impl FnOnce() -> Duration) {
        let overhead = if self.header.is_some() { frame::FRAME + frame::MARK } else { 0 };
        let first = self.header.map_or(0, |header| header.begin());
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
            let next = |header: Header| header.next(header.salt.wrapping_mul(0x2C92_77B5).wrapping_add(1), self.end);
            self.header = self.header.map(next);
            let new_file = NewFile { header: self.header.unwrap_or_default(), old_end: self.end };
            self.end = self.header.map_or(0, |_| HEADER as u64);
            self.batch.begin(self.end, Some(new_file), None);
        } else if self.batch.is_empty() {
            let salt = self.header.map(|header| header.salt);
            self.batch.begin(self.end, None, salt);
            self.end += salt.map_or(0, |_| frame::MARK as u64);
        }
    }

    /// The file's salt, where the file is to end in a mark when it is closed in order, and the place behind the last
    /// record.
    pub(in crate::appender) fn closing(&self) -> (Option<u32>, u64) {
        (self.header.map(|header| header.salt), self.end)
    }

    /// Takes what is buffered, to be written.
    pub(in crate::appender) fn take_batch(&mut self) -> Batch {
        self.flush_at = None;
        self.batch.set_mark(self.progress.durable_offset());
        std::mem::replace(&mut self.batch, std::mem::take(&mut self.spare))
    }
}

impl Gathering {
    /// Waiting for others costs at most this part of a sync, and saves a whole one: with 8 threads 7 times a lock's
    /// throughput instead of 4, with 64 threads 50 instead of 30 (docs/measurements.md, "Durable records").
    const PART: u32 = 2;
    /// A sync that is faster than this is over before a sleeper is awake.
    const SHORTEST: Duration = Duration::from_micros(100);

    /// How long the leader may wait for the threads that are expected.
    pub(in crate::appender) fn next_pause(&mut self, options: &Options) -> Duration {
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

    /// Whether all threads that are expected are there.
    pub(in crate::appender) fn is_complete(&self) -> bool {
        self.arrived >= self.expected
    }

    /// The leader has waited for this many threads, and perhaps not long enough for all. Each time too few threads
    /// come, more of the next groups skip the wait: 0, 2, 6, 14, 30, 62.
    pub(in crate::appender) fn waited(&mut self, missing: usize) {
        let still_missing = self.expected.saturating_sub(self.arrived);
        if still_missing <= missing / 2 {
            self.vain = 0;
        } else {
            self.vain = (self.vain + 1).min(6);
            self.pause = (1 << self.vain) - 2;
        }
    }

    /// The group is closed.
    pub(in crate::appender) fn close(&mut self) {
        self.covered = std::mem::take(&mut self.arrived);
    }

    /// The closed group is durable.
    pub(in crate::appender) fn synced(&mut self, took: Duration) {
        self.expected = self.covered + self.arrived;
        self.covered = 0;
        self.sync_time = if self.sync_time.is_zero() { took } else { (self.sync_time * 7 + took) / 8 };
    }
}
