//! A thread that writes: takes entries of one folder, writes them, says so, and takes the next.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::counts::{Stopwatch, TELLING_SIZE};
use super::fill::Unfilled;
use super::job::{Folder, FolderId, Job};
use super::lane::{Lane, OpenFolder};
use super::pace::SLOW;
use super::pipeline::Writer;
use super::place::Opened;
use super::queue::{Batch, Done};
use super::{Shared, lock};
use crate::sys::{self, Sleeps};
use crate::{Error, Operation};

/// A thread without work looks again this often by itself, so that a caller that hands over one file now and then need not
/// wake it; after this many times it sleeps until it is told.
const LINGER: Duration = Duration::from_millis(1);
const LINGERINGS: u32 = 40;

/// At first it looks as often as this without sleeping: what comes next mostly comes at once, and a processor that has gone to
/// sleep takes 50–100 µs to wake up in a virtual machine.
const LOOK: Duration = Duration::from_micros(10);
const LOOKS: u32 = 20;

/// Of so many files in a row one is measured operation by operation.
pub(super) const SPLIT_EVERY: usize = 8;

/// `leave` is the processor of the thread that started this one, if that goes on at once.
pub(super) fn run(shared: Arc<Shared>, leave: Option<usize>) {
    leave.into_iter().for_each(sys::leave_processor);
    let mut lane = Lane::own(shared.clone());
    let mut writer = None;
    let mut ended = None;
    while let Some(batch) = next_batch(&shared, ended.take()) {
        ended = Some(if batch.hot {
            let writer = writer.get_or_insert_with(|| Writer::start(&lane));
            writer.write_folder(&mut lane, batch)
        } else {
            writer = None;
            write_batch(&mut lane, batch)
        });
    }
}

/// A thread leaves a folder: what came of its batch, and what it gives back.
pub(super) struct Ended {
    pub(super) folder: FolderId,
    pub(super) rest: VecDeque<Job>,
    pub(super) done: Done,
    pub(super) lesson: Lesson,
}

/// `None` when this thread is to end.
fn next_batch(shared: &Arc<Shared>, ended: Option<Ended>) -> Option<Batch> {
    let mut lingered = 0;
    let mut state = lock(&shared.state);
    // Under one lock with what follows: a folder that this thread goes on with looks free to nobody in between.
    match ended {
        Some(ended) => {
            shared.end_batch(&mut state, ended);
            state.busy -= 1;
        }
        None => state.beginning -= 1,
    }
    loop {
        shared.drop_if_cancelled(&mut state);
        let others = state.busy;
        if others < state.queue.target
            && let Some(batch) = state.queue.take(others)
        {
            state.busy += 1;
            state.peak = state.peak.max(state.busy);
            shared.tell(&mut state);
            return Some(batch);
        }
        // More threads than are wanted wait a while before they go: they may be wanted again.
        let surplus = state.threads > state.queue.target && lingered == LINGERINGS;
        if surplus || (state.closing && state.queue.unfinished == 0) {
            state.threads -= 1;
            shared.room.notify_all();
            return None;
        }
        state.idle += 1;
        if lingered < LINGERINGS {
            lingered += 1;
            state.lingering += 1;
            if lingered <= LOOKS && !state.queue.is_wide() {
                drop(state);
                look_away();
                state = lock(&shared.state);
            } else {
                state = shared.work.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner).0;
            }
            state.lingering -= 1;
        } else {
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.idle -= 1;
        // Whoever wakes first stands for the one that was told.
        state.told = state.told.saturating_sub(1);
    }
}

/// Lets other threads run for some microseconds, without going to sleep if there are none.
pub(super) fn look_away() {
    let begun = Instant::now();
    while begun.elapsed() < LOOK {
        std::thread::yield_now();
    }
}

/// What a batch taught about the file system.
#[derive(Default)]
pub(super) struct Lesson {
    files: u32,
    time: Duration,
    /// The shortest wait of a small file, and how many there were.
    least_wait: Option<Duration>,
    small: u32,
}

impl Lesson {
    pub(super) fn note(&mut self, time: Duration, small: bool, slept: bool) {
        self.files += 1;
        self.time += time;
        if small {
            let wait = if slept { time } else { Duration::ZERO };
            self.least_wait = Some(self.least_wait.map_or(wait, |least| least.min(wait)));
            self.small += 1;
        }
    }

    /// Adds it to what all threads know.
    pub(super) fn learn(&self, shared: &Shared, state: &mut super::State) {
        if self.files == 0 {
            return;
        }
        let per_file = self.time / self.files;
        // Fast files count once a batch, slow ones each: it shall be noticed soon.
        let slow = self.least_wait.is_some_and(|wait| wait >= SLOW);
        for _ in 0..if slow { self.small } else { 1 } {
            state.queue.learn(per_file, self.least_wait);
        }
        shared.slow.store(state.queue.is_wide(), Relaxed);
    }

    /// The same for the opening half of a file, which knows of slowness only: a close may be slow that it does not see.
    pub(super) fn learn_if_slow(&self, shared: &Shared) -> bool {
        let slow = self.least_wait.is_some_and(|wait| wait >= SLOW);
        if slow {
            self.learn(shared, &mut lock(&shared.state));
        }
        slow
    }
}

/// Writes the entries of a batch, or the first of them if they turn out slow: the rest goes back, for other threads to take.
pub(super) fn write_batch(lane: &mut Lane, batch: Batch) -> Ended {
    let Batch { folder, mut jobs, noted, .. } = batch;
    let mut done = Done { noted, ..Done::default() };
    let mut lesson = Lesson::default();
    write_jobs(lane, &folder, &mut jobs, &mut done, &mut lesson);
    lane.flush_counts();
    Ended { folder: folder.id, rest: jobs, done, lesson }
}

/// Runs one step of one entry. A panic in it would be a bug of this crate; it is reported like any failure, because a thread
/// that is gone would leave the caller waiting for ever.
fn contain<T>(lane: &mut Lane, folder: &Folder, step: impl FnOnce(&mut Lane) -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(|| step(lane))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
        let why = format!("a thread of manyfiles panicked, which is a bug: {}", message.unwrap_or("no message"));
        lane.shared.fail(Error::new(Operation::Write, &*folder.path, io::Error::other(why)));
        None
    })
}

/// The folder of a batch, opened when the first of its entries needs it, or why it cannot be.
pub(super) type OpenOnce = OnceCell<crate::Result<OpenFolder>>;

fn write_jobs(lane: &mut Lane, folder: &Arc<Folder>, jobs: &mut VecDeque<Job>, done: &mut Done, lesson: &mut Lesson) {
    let at = OpenOnce::new();
    let mut sleeps = Sleeps::default();
    sleeps.since_last();
    let mut watch = Stopwatch::start();
    while let Some(job) = jobs.pop_front() {
        watch.split_this(done.jobs.is_multiple_of(SPLIT_EVERY) || job.is_large());
        done.count(&job);
        let bytes = lane.counts.bytes;
        write_job(lane, folder, &at, job, &mut watch);
        let time = watch.next_file(&mut lane.counts);
        let small = lane.counts.bytes - bytes <= TELLING_SIZE;
        let slept = time >= SLOW && sleeps.since_last();
        let asked = std::mem::take(&mut lane.asked);
        if !asked {
            lesson.note(time, small, slept);
        }
        if slept && small && jobs.len() > 1 && !asked {
            return;
        }
    }
}

impl Done {
    pub(super) fn count(&mut self, job: &Job) {
        if self.noted {
            self.names.push(job.key);
        }
        self.jobs += 1;
        self.entries += usize::from(job.is_entry());
        self.weight += job.weight();
    }
}

/// Both halves of one entry.
fn write_job(lane: &mut Lane, folder: &Arc<Folder>, at: &OpenOnce, job: Job, watch: &mut Stopwatch) {
    contain(lane, folder, |lane| {
        let (at, opened) = try_open(lane, folder, at, job, watch)?;
        try_fill(lane, at, opened, watch);
        Some(())
    });
}

/// The first half. `None` if that was all, or it failed, which is reported.
pub(super) fn open_job(
    lane: &mut Lane,
    folder: &Arc<Folder>,
    at: &OpenOnce,
    job: Job,
    watch: &mut Stopwatch,
) -> Option<Opened> {
    contain(lane, folder, |lane| try_open(lane, folder, at, job, watch).map(|(_, opened)| opened))
}

fn try_open<'a>(
    lane: &mut Lane,
    folder: &Arc<Folder>,
    at: &'a OpenOnce,
    job: Job,
    watch: &mut Stopwatch,
) -> Option<(&'a OpenFolder, Opened)> {
    if lane.shared.is_cancelled() {
        lane.shared.totals.not_written.fetch_add(1, Relaxed);
        return None;
    }
    let at = match at.get_or_init(|| {
        let at = lane.folder(folder);
        lane.counts.times.folders += watch.lap();
        at
    }) {
        Ok(at) => at,
        Err(cause) => {
            let (path, cause) = (Lane::path_of(folder, &job.name), cause.clone());
            let error = if job.name.is_empty() { cause } else { cause.of(Operation::Create, path) };
            lane.shared.fail(error);
            return None;
        }
    };
    let opened = lane.begin(at, job);
    lane.counts.times.open += watch.lap();
    match opened {
        Ok(opened) => opened.map(|opened| (at, opened)),
        Err(error) => {
            lane.shared.fail(error);
            None
        }
    }
}

/// The second half. A failure is reported.
pub(super) fn fill_job(lane: &mut Lane, at: &OpenFolder, opened: Opened, watch: &mut Stopwatch) {
    contain(lane, &at.folder, |lane| {
        try_fill(lane, at, opened, watch);
        Some(())
    });
}

fn try_fill(lane: &mut Lane, at: &OpenFolder, opened: Opened, watch: &mut Stopwatch) {
    match lane.fill(at, opened, watch) {
        Ok(()) => {}
        Err(Unfilled::Failed(error)) => lane.shared.fail(error),
        Err(Unfilled::Cancelled) => {
            lane.shared.totals.not_written.fetch_add(1, Relaxed);
        }
    }
}
