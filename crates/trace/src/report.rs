//! [`Report`]: the figures of a trace. Times are in nanoseconds, and sums are exact.

use crate::call::Kind;
use crate::format::Format;
use crate::human::counted;

/// What a `FileWriter` gathers before it writes: 256 KiB.
pub const BUFFER: u64 = 256 << 10;

/// Calls, and what they came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many returned.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How long they took together, in nanoseconds.
    pub nanos: u64,
    /// Bytes that they read or wrote.
    pub bytes: u64,
}

impl Sum {
    /// Calls count as well, so that a trace without times is ranked, too.
    pub(crate) fn weight(&self) -> u64 {
        self.nanos.saturating_add(self.calls)
    }

    pub(crate) fn plus(&mut self, other: &Sum) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.nanos = self.nanos.saturating_add(other.nanos);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    pub(crate) fn minus(&self, other: &Sum) -> Sum {
        Sum {
            calls: self.calls.saturating_sub(other.calls),
            failed: self.failed.saturating_sub(other.failed),
            nanos: self.nanos.saturating_sub(other.nanos),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

/// All figures and findings of a trace.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// The format that the trace was recognised as.
    pub format: Format,
    /// Bytes of the trace.
    pub bytes: u64,
    /// Lines of the trace.
    pub lines: u64,
    /// Lines that were not understood, and not counted.
    pub damage: Damage,
    /// All calls that returned.
    pub total: Sum,
    /// The calls on files ([`Kind::is_file`]).
    pub file_total: Sum,
    /// The calls on files without a known name: pipes, and files that were opened before the trace began.
    pub without_name: Sum,
    /// Whether the trace says how long calls took. If not, all times are 0.
    pub timed: bool,
    /// Calls without a time in a trace that has times: calls that end a thread, and calls that began before perf
    /// watched.
    pub untimed: u64,
    /// Calls that had not returned when their thread, or the trace, ended. Not among the others.
    pub never_returned: u64,
    /// How many digits after the point of a second the trace has.
    pub digits: u8,
    /// What tracing adds to each call, in nanoseconds, if that can be told: the median of calls that do nothing else.
    pub tracing: Option<u64>,
    /// The same of the cheapest tenth of these calls, to be compared with the cheapest of others.
    pub least_tracing: Option<u64>,
    /// Sums by kind of call.
    pub kinds: [(Kind, Sum); Kind::ALL.len()],
    /// What the cheapest tenth of all writes took at most.
    pub cheapest_write: Option<u64>,
    /// Sums by operation; the one that took longest first.
    pub operations: Vec<Operation>,
    /// How many threads there were; fewer than there were if there were more than 16,384.
    pub threads_seen: u64,
    /// The threads that took longest.
    pub threads: Top<Thread>,
    /// The files that took longest.
    pub files: Top<File>,
    /// The folders with the files that took longest, subfolders not included.
    pub folders: Top<Folder>,
    /// From the first call's begin to the last one's end, if the trace says when.
    pub span: Option<u64>,
    /// Time by kind of call over the run.
    pub timeline: Timeline,
    /// Closes, by what was done before.
    pub closes: Closes,
    /// Files that were opened again.
    pub again: Again,
    /// Small writes that follow one another.
    pub small_writes: SmallWrites,
    /// Syncs of files.
    pub syncs: Syncs,
    /// Files that were made.
    pub made: Made,
    /// Work on files that a trace of calls does not show.
    pub hidden: Hidden,
    /// Attempts to make folders that were there.
    pub folders_were_there: Sum,
    /// What would be saved, with the arithmetic; the largest saving first.
    pub findings: Vec<Finding>,
}

/// Work on files that is in no call of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Calls that hand work to io_uring: what files it opens, reads and writes is not in the trace.
    pub io_uring: u64,
    /// Files mapped to be written to: bytes go there without a call.
    pub mapped_to_write: u64,
    /// Files mapped to be read, programs and libraries left out: reading them takes page faults, and no call.
    pub mapped_to_read: u64,
}

impl Hidden {
    /// What is not seen, in sentences.
    pub(crate) fn in_words(&self) -> Vec<String> {
        // One or two mapped files are the habit of many programs, and little work.
        const A_FEW: u64 = 4;
        let mut told = Vec::new();
        if self.io_uring > 0 {
            let calls = counted(self.io_uring, "call handed", "calls handed");
            told.push(format!(
                "Not all is seen: {calls} work to io_uring. What that opens, reads, writes and closes is in no call of the trace."
            ));
        }
        if self.mapped_to_write > 0 {
            let times = counted(self.mapped_to_write, "time a file was", "times a file was");
            told.push(format!("Not all is seen: {times} mapped to be written to. Bytes go there without a call."));
        }
        if self.mapped_to_read > A_FEW {
            let times = counted(self.mapped_to_read, "time a file was", "times a file was");
            told.push(format!(
                "Not all is seen: {times} mapped to be read. Reading there takes page faults and no call."
            ));
        }
        told
    }
}

/// Lines that were not understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// How many.
    pub lines: u64,
    /// The first: its number, from 1, and how it begins.
    pub first: Option<(u64, String)>,
}

/// One kind of operation, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// As the trace has it.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// Its calls.
    pub sum: Sum,
    /// How their times are distributed. `None` without times.
    pub latencies: Option<Latencies>,
    /// Those of them that were on something with a name: files, and not pipes.
    pub on_files: OnFiles,
}

/// The calls of an operation that were on files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnFiles {
    /// These calls.
    pub sum: Sum,
    /// How their times are distributed. `None` without times.
    pub latencies: Option<Latencies>,
}

/// A distribution of times, in nanoseconds, precise to one in a hundred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// Half took no longer.
    pub p50: u64,
    /// Nine of ten took no longer.
    pub p90: u64,
    /// 99 of 100 took no longer.
    pub p99: u64,
    /// The longest; exact.
    pub max: u64,
    /// How many took up to 100 ns, 200 ns, 500 ns, 1 µs and so on to 500 s ([`Latencies::bound`]), and longer.
    pub buckets: [u64; Latencies::BUCKETS],
}

impl Latencies {
    /// Three in each of ten decades, and one for what is longer.
    pub const BUCKETS: usize = 31;

    /// The longest time that counts in a bucket; `None` for the last.
    pub fn bound(bucket: usize) -> Option<u64> {
        (bucket + 1 < Latencies::BUCKETS).then(|| [100, 200, 500][bucket % 3] * 10u64.pow(bucket as u32 / 3))
    }

    pub(crate) fn empty_buckets() -> [u64; Latencies::BUCKETS] {
        [0; Latencies::BUCKETS]
    }

    pub(crate) fn bucket_of(nanos: u64) -> usize {
        (0..Latencies::BUCKETS - 1)
            .find(|&bucket| Latencies::bound(bucket).is_some_and(|bound| nanos <= bound))
            .unwrap_or(Latencies::BUCKETS - 1)
    }
}

/// The heaviest of many, and the rest in one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top<R> {
    /// The heaviest first: at most 100, or as many as were asked for.
    pub rows: Vec<R>,
    /// The sum of all that have no row.
    pub others: Sum,
    /// How many there were, if `exact`. Else: how many were still counted one by one at the end.
    pub seen: u64,
    /// Whether each was counted by itself. If not, there were too many of them, and light ones were let go.
    pub exact: bool,
    /// No row's time is short by more nanoseconds than this, and none with more time than this is missing.
    pub missed_nanos: u64,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The process; 0 if the trace doesn't tell processes and threads apart.
    pub process: u32,
    /// The thread; 0 if the trace has no numbers.
    pub thread: u32,
    /// The program, where the trace tells; else empty.
    pub program: String,
    /// Its calls.
    pub sum: Sum,
    /// The time of those on files.
    pub file_nanos: u64,
}

/// A file, or a folder that was itself looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, as the trace has it.
    pub path: Box<[u8]>,
    /// Its calls.
    pub sum: Sum,
    /// Their time by kind, in the order of [`Kind::ALL`], of the kinds that are on files.
    pub nanos_by_kind: [u64; Kind::Wait as usize],
    /// How often it was opened.
    pub opens: u64,
}

/// A folder, with what was done to the files in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its path.
    pub path: Box<[u8]>,
    /// The calls.
    pub sum: Sum,
}

/// What a timeline's bins are equal parts of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Nanoseconds of the run.
    Time,
    /// Calls, for a trace that doesn't say when.
    Calls,
}

/// Time by kind of call over the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// What a bin is a part of.
    pub axis: Axis,
    /// How many of that a bin holds.
    pub width: u64,
    /// Nanoseconds by kind, in the order of [`Kind::ALL`].
    pub bins: Vec<[u64; Kind::ALL.len()]>,
}

/// Closes of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseSum {
    /// How many.
    pub calls: u64,
    /// How long they took together.
    pub nanos: u64,
    /// How long the longest took.
    pub max_nanos: u64,
}

/// Closes of files, by what was done to the file since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closes {
    /// Nothing was written.
    pub unwritten: CloseSum,
    /// Something was written, and not known to have made the file longer.
    pub written: CloseSum,
    /// The file was made longer: it was empty, or opened to be appended to.
    pub appended: CloseSum,
    /// Of the last two: those of processes that made two or more, so that one could have gone on during another; and of
    /// the only process that made any.
    pub of_several: Sum,
}

/// Files on a disk that were opened again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Again {
    /// Opens of a file that had been opened before.
    pub opens: u64,
    /// How long they took.
    pub open_nanos: u64,
    /// Opens for writing by a process that had opened the same file for writing before, and had closed it since.
    pub kept_opens: u64,
    /// How long these took.
    pub kept_open_nanos: u64,
    /// How long the closes before them took.
    pub kept_close_nanos: u64,
    /// How many files were opened more than once.
    pub files: u64,
    /// Those opened most often, at most 100.
    pub most: Vec<OpenedAgain>,
    /// Whether every file was counted. If not, the numbers are the least there can be.
    pub exact: bool,
}

/// A file that was opened more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedAgain {
    /// Its path.
    pub path: Box<[u8]>,
    /// How often.
    pub opens: u64,
}

/// Writes of less than 64 KiB to files on a disk, each where the one before ended, with no read, seek, sync or close
/// between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmallWrites {
    /// Runs of two or more.
    pub runs: u64,
    /// Writes in these runs.
    pub calls: u64,
    /// Bytes they wrote.
    pub bytes: u64,
    /// How long they took.
    pub nanos: u64,
    /// How many writes it would take with a [`BUFFER`].
    pub calls_with_buffer: u64,
}

/// Files from which on a batch is worth a sync of the whole file system.
pub const A_BATCH: u64 = 16;

/// Syncs of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syncs {
    /// First syncs of a file: that many files were synced.
    pub first: Sum,
    /// Of these: those of processes that synced [`A_BATCH`] files or more each.
    pub in_batches: Sum,
    /// How many such processes there were.
    pub batches: u64,
    /// Further syncs of these files.
    pub again: Sum,
    /// Syncs of what seems to be a folder: opened to be read, and synced.
    pub folders: Sum,
    /// Writes to files that were opened with `O_SYNC` or `O_DSYNC`: each waits for the disk.
    pub durable_writes: Sum,
}

/// Files on a disk that were made, or emptied, to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// How many.
    pub files: u64,
    /// How long their opens, writes and closes took.
    pub nanos: u64,
    /// How many of them the thread made that made most.
    pub by_one_thread: u64,
}

/// Something that could be done better, or that was looked at and is well as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The part of manyfiles that does it.
    pub part: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What was seen, and what follows: sentences.
    pub told: Vec<String>,
    /// The reckoning, if there is one: `12 ms − 3 × 10 µs = 11.97 ms`.
    pub arithmetic: Option<String>,
    /// What would be saved at least, in nanoseconds. `None`: nothing, or the trace can't tell.
    pub saves_nanos: Option<u64>,
    /// How many calls would not be made, where the trace can't tell how long they take.
    pub saves_calls: Option<u64>,
}

impl Report {
    /// Whether all of the trace was understood, and it says how long calls took.
    pub fn is_complete(&self) -> bool {
        self.timed && self.damage.lines == 0
    }
}
