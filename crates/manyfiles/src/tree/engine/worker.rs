//! A thread that writes: takes entries of one folder, writes them, says so, and takes the next.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::control::State;
use super::counts::TELLING_SIZE;
use super::fill::Unfilled;
use super::folders::{Folder, FolderId};
use super::job::{Job, Work};
use super::lane::{Lane, OpenFolder};
use super::lock::lock;
use super::name::Name;
use super::outcome::Astray;
use super::own_thread::belongs_to_a_tree;
use super::pace::SLOW;
use super::pipeline::Writer;
use super::placement::Opened;
use super::queue::{Batch, Done};
use super::shared::Shared;
use super::stopwatch::Stopwatch;
use crate::sys::{self, Sleeps};
use crate::tree::{EntryStat, Outcome};
use crate::{Error, Operation};

/// A thread without work looks again this often by itself, so that a caller that hands over one file now and then need
/// not wake it; after this many times it sleeps until it is told.
const LINGER: Duration = Duration::from_millis(1);
const LINGERINGS: u32 = 40;

/// At first it looks as often as this without sleeping: what comes next mostly comes at once, and a processor that has
/// gone to sleep takes 50–100 µs to wake up in a virtual machine.
const LOOK: Duration = Duration::from_micros(10);
const LOOKS: u32 = 20;

/// Of so many files in a row one is measured operation by operation.
pub(super) const SPLIT_EVERY: usize = 8;

/// `leave` is the processor of the thread that started this one, if that goes on at once.
pub(super) fn run(shared: Arc<Shared>, leave: Option<usize>) {
    belongs_to_a_tree();
    leave.into_iter().for_each(sys::leave_processor);
    let mut lane = Lane::new(shared.clone());
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
    // Under one lock with what follows: no other thread can take the folder that this one goes on with.
    match ended {
        Some(ended) => {
            shared.end_batch(&mut state, ended);
            state.threads.busy -= 1;
        }
        None => state.threads.beginning -= 1,
    }
    loop {
        shared.drop_if_cancelled(&mut state);
        let others = state.threads.busy;
        if others < state.queue.target
            && let Some(batch) = state.queue.take(others)
        {
            state.threads.busy += 1;
            state.threads.peak = state.threads.peak.max(state.threads.busy);
            shared.tell_a_thread(&mut state);
            return Some(batch);
        }
        // More threads than are wanted wait a while before they go: they may be wanted again.
        let surplus = state.threads.count > state.queue.target && lingered == LINGERINGS;
        if surplus || (state.threads.closing && state.queue.unfinished == 0) {
            state.threads.count -= 1;
            shared.room.notify_all();
            return None;
        }
        // All queued entries may wait for a stream that a blocked caller must close. So the caller is let in.
        if state.waiting_callers > 0 && state.queue.waits_for_streams() {
            shared.room.notify_all();
        }
        state.threads.idle += 1;
        if lingered < LINGERINGS {
            lingered += 1;
            state.threads.lingering += 1;
            if lingered <= LOOKS && !state.queue.is_wide() {
                drop(state);
                look_away();
                state = lock(&shared.state);
            } else {
                state = shared.work.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner).0;
            }
            state.threads.lingering -= 1;
        } else {
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.threads.idle -= 1;
        // One notification, one decrement: it does not matter which thread woke.
        state.threads.told = state.threads.told.saturating_sub(1);
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
    pub(super) fn learn(&self, shared: &Shared, state: &mut State) {
        if self.files == 0 {
            return;
        }
        let per_file = self.time / self.files;
        // Fast files count once a batch, slow ones each: it shall be noticed soon.
        let slow = self.least_wait.is_some_and(|wait| wait >= SLOW);
        let before = state.queue.target;
        for _ in 0..if slow { self.small } else { 1 } {
            state.queue.learn(per_file, self.least_wait);
        }
        if state.queue.target < before {
            shared.work.notify_all(); // Those that sleep and are not wanted any more go.
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

/// Writes the entries of a batch, or the first of them if they turn out slow: the rest goes back, for other threads to
/// take.
pub(super) fn write_batch(lane: &mut Lane, batch: Batch) -> Ended {
    let Batch { folder, mut jobs, .. } = batch;
    let mut done = Done::default();
    let mut lesson = Lesson::default();
    write_jobs(lane, &folder, &mut jobs, &mut done, &mut lesson);
    lane.flush_counts();
    Ended { folder: folder.id, rest: jobs, done, lesson }
}

/// Runs one step of one entry. A panic in it would be a bug of this crate; it is reported like any failure, because a
/// thread that is gone would leave the caller waiting for ever.
fn contain<T>(lane: &mut Lane, path: impl FnOnce() -> PathBuf, step: impl FnOnce(&mut Lane) -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(|| step(lane))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
        let why = format!("a thread of manyfiles panicked, which is a bug: {}", message.unwrap_or("no message"));
        let (path, why) = (path(), io::Error::other(why));
        let error = Error::new(Operation::Write, &*path, why);
        lane.shared.tell(&path, Outcome::Failed(&error));
        lane.shared.fail(error);
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

/// Both halves of one entry.
fn write_job(lane: &mut Lane, folder: &Arc<Folder>, at: &OpenOnce, job: Job, watch: &mut Stopwatch) {
    let name = Name::from(&*job.name);
    contain(
        lane,
        || folder.join(&name),
        |lane| {
            let (own, opened) = try_open(lane, folder, at, job, watch)?;
            match &own {
                Some(own) => try_fill(lane, own, opened, watch),
                None => try_fill(lane, at.get()?.as_ref().ok()?, opened, watch),
            }
            Some(())
        },
    );
}

/// The first half. `None` if that was all, or it failed, which is reported.
pub(super) fn open_job(
    lane: &mut Lane,
    folder: &Arc<Folder>,
    at: &OpenOnce,
    job: Job,
    watch: &mut Stopwatch,
) -> Option<Opened> {
    let name = Name::from(&*job.name);
    contain(
        lane,
        || folder.join(&name),
        |lane| {
            match try_open(lane, folder, at, job, watch)? {
                (None, opened) => Some(opened),
                // It is a file of another folder than the chunk's.
                (Some(own), opened) => {
                    try_fill(lane, &own, opened, watch);
                    None
                }
            }
        },
    )
}

/// Opens the file of an entry, and its folder, if that is another than the batch's.
fn try_open(
    lane: &mut Lane,
    folder: &Arc<Folder>,
    at: &OpenOnce,
    mut job: Job,
    watch: &mut Stopwatch,
) -> Option<(Option<OpenFolder>, Opened)> {
    if lane.shared.is_cancelled() {
        if !job.is_entry() {
            return None;
        }
        let path = if let Work::Link(link) = &job.work { link.to.join(&link.name) } else { folder.join(&job.name) };
        not_written(lane, &path);
        return None;
    }
    if let Work::Reach(below) = &job.work {
        if below.needed.load(Relaxed) {
            drop(lane.folder(below)); // Whether it can be made is for its own entries to say.
        }
        return None;
    }
    if let Work::Link(link) = &job.work {
        let skipped = lane.counts.skipped;
        let made = lane.make_link(link);
        lane.counts.times.open += watch.lap();
        return match made {
            Ok(opened) => {
                if opened.is_none() {
                    made_or_skipped(lane, &link.to, &link.name, &link.name, skipped, None);
                }
                opened.map(|(at, opened)| (Some(at), opened))
            }
            Err(error) => {
                failed_to_open(lane, &link.to, &link.name, error);
                None
            }
        };
    }
    let at = match at.get_or_init(|| {
        let at = lane.folder(folder);
        lane.counts.times.folders += watch.lap();
        at
    }) {
        Ok(at) => at,
        Err(cause) => {
            let path = if job.name.is_empty() { folder.shown() } else { folder.join(&job.name) };
            let error = match cause.clone() {
                cause if cause.path() == Some(&path) => cause,
                cause if job.name.is_empty() => cause.of(Operation::CreateFolder, path),
                cause => cause.of(Operation::Create, path),
            };
            lane.shared.fail_entry(folder, &job.name, error);
            return None;
        }
    };
    let asked = Name::from(&*job.name);
    if job.is_entry()
        && let Some(other) = lane.shared.outcome.renamed_before(folder, &job.name)
    {
        job.name = Name::from(&*other);
    }
    let name = Name::from(&*job.name);
    let (is_entry, skipped) = (job.is_entry(), lane.counts.skipped);
    let digest = if let Work::GiveName(unnamed) = &mut job.work { unnamed.digest.take() } else { None };
    let opened = lane.begin(at, job);
    lane.counts.times.open += watch.lap();
    match opened {
        Ok(None) => {
            if is_entry {
                made_or_skipped(lane, folder, &name, &asked, skipped, digest);
            }
            None
        }
        Ok(Some(opened)) => Some((None, opened)),
        Err(error) => {
            failed_to_open(lane, folder, &asked, error);
            None
        }
    }
}

/// An entry that has no file to fill.
fn failed_to_open(lane: &Lane, folder: &Folder, name: &OsStr, error: Error) {
    if error.is_cancelled() {
        not_written(lane, &folder.join(name));
    } else {
        lane.shared.fail_entry(folder, name, error);
    }
}

/// A cancellation came before an entry.
fn not_written(lane: &Lane, path: &Path) {
    lane.shared.totals.not_written.fetch_add(1, Relaxed);
    lane.shared.tell(path, Outcome::Cancelled);
}

/// The end of an entry that was done in one half. `name` is the one it was to get, `asked` the one it was handed over
/// with.
fn made_or_skipped(
    lane: &mut Lane,
    folder: &Arc<Folder>,
    name: &OsStr,
    asked: &OsStr,
    skipped_before: u64,
    digest: Option<Vec<u8>>,
) {
    let shared = lane.shared.clone();
    if lane.counts.skipped != skipped_before {
        return shared.tell(&folder.join(asked), Outcome::Skipped);
    }
    let renamed = match shared.outcome.astray(folder, asked) {
        Some(Astray::Renamed(other)) => Some(other),
        _ => None,
    };
    let own = renamed.as_deref().unwrap_or(name);
    if !own.is_empty() {
        shared.outcome.is_there(folder, own);
    }
    if shared.tells() {
        let stat = if name.is_empty() { None } else { lane.folder(folder).ok().and_then(|at| at.dir.stat(own).ok()) };
        let renamed = renamed.as_ref().map(|other| folder.join(other));
        let (stat, digest) = (stat.map(EntryStat::from), digest.as_deref());
        let path = if name.is_empty() { folder.shown() } else { folder.join(asked) };
        shared.tell(&path, Outcome::Written { renamed: renamed.as_deref(), stat, digest });
    }
}

/// The second half. A failure is reported.
pub(super) fn fill_job(lane: &mut Lane, at: &OpenFolder, opened: Opened, watch: &mut Stopwatch) {
    let name = Name::from(&*opened.name);
    contain(
        lane,
        || at.folder.join(&name),
        |lane| {
            try_fill(lane, at, opened, watch);
            Some(())
        },
    );
}

fn try_fill(lane: &mut Lane, at: &OpenFolder, opened: Opened, watch: &mut Stopwatch) {
    let (name, asked) = (Name::from(&*opened.name), opened.asked.as_deref().map(Name::from));
    let skipped = lane.counts.skipped;
    let path = || at.folder.join(asked.as_deref().unwrap_or(&name));
    let filled = lane.fill(at, opened, watch);
    let (stat, digest) = (lane.stat.take(), lane.digested.take());
    match filled {
        Ok(()) => {
            lane.shared.outcome.is_there(&at.folder, &name);
            if !lane.shared.tells() {
            } else if lane.counts.skipped != skipped {
                lane.shared.tell(&path(), Outcome::Skipped);
            } else {
                let renamed = asked.as_ref().map(|_| at.folder.join(&name));
                let (renamed, digest) = (renamed.as_deref(), digest.as_deref());
                lane.shared.tell(&path(), Outcome::Written { renamed, stat, digest });
            }
        }
        Err(Unfilled::Failed(error)) => lane.shared.fail_entry(&at.folder, asked.as_deref().unwrap_or(&name), error),
        Err(Unfilled::Cancelled) => not_written(lane, &path()),
    }
}
