//! One folder is all there is to work on: one thread opens, another writes and closes.
//!
//! Two threads that create files in one folder wait for each other in the kernel, spinning. One that opens and hands
//! chunks of open files to another is as fast or faster with 30 % less CPU time (docs/measurements.md, "One folder").
//! Whichever half has nothing to do helps the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::counts::TELLING_SIZE;
use super::folders::OpenFolder;
use super::folders::{Folder, FolderId};
use super::job::Job;
use super::lane::Lane;
use super::lesson::{Ended, Lesson};
use super::lock::lock;
use super::look_away::look_away;
use super::own_thread::belongs_to_a_tree;
use super::pace::SLOW;
use super::placement::Opened;
use super::queue::{Batch, Done};
use super::step::{OpenOnce, SPLIT_EVERY, fill_job, open_job};
use super::stopwatch::Stopwatch;
use crate::sys::{self, Sleeps};

/// Files that are open at a time in each of the four places of a pipeline: being opened, handed over (two), being
/// written. 16 to 64 were as good as each other.
const CHUNK: usize = 32;

/// Files that the writing half opens at a time when it has nothing to write. Few, so that a chunk that comes meanwhile
/// need not wait. On ext4, where opening is three quarters of the work, that is 10 to 15 % less time.
const HELP: usize = 4;

/// Opening a chunk takes 60 µs on tmpfs and 400 on ext4.
const AWAKE: Duration = Duration::from_micros(500);

/// Files of one folder that are open, in the order in which they were.
struct Chunk {
    folder: FolderId,
    at: OpenOnce,
    files: Vec<Opened>,
    done: Done,
}

/// The writing half: a thread that shares the descriptors of the one that opens. Dropping it waits until it has written
/// all.
pub(super) struct Writer {
    /// `None` if no thread could be started: then the opening half writes too.
    chunks: Option<SyncSender<Chunk>>,
    thread: Option<JoinHandle<()>>,
    chunk: usize,
}

impl Writer {
    pub(super) fn start(opener: &Lane) -> Writer {
        let (send, receive) = sync_channel(2);
        let mut lane = Lane::new(opener.shared.clone());
        let thread = std::thread::Builder::new().name("manyfiles-write".into()).stack_size(256 << 10);
        let chunk = (sys::handle_limit() / 10).clamp(1, CHUNK);
        opener.make_room_for_handles(4 * chunk);
        let opening = sys::processor();
        let write = move || {
            belongs_to_a_tree();
            sys::leave_processor(opening);
            write_chunks(&mut lane, receive);
        };
        let thread = sys::spawn_quiet(thread, write).ok(); // No thread: see `chunks`.
        std::thread::yield_now(); // See `leave_processor`.
        Writer { chunks: thread.is_some().then_some(send), thread, chunk }
    }

    /// Opens the files of the batch, and of the same folder as long as nothing else is to be done.
    pub(super) fn write_folder(&self, lane: &mut Lane, batch: Batch) -> Ended {
        let Batch { folder, mut jobs, .. } = batch;
        let shared = lane.shared.clone();
        while !jobs.is_empty() {
            let slow = self.write_some(lane, &folder, &mut jobs);
            if slow {
                break;
            }
            if jobs.is_empty() {
                jobs = lock(&shared.state).queue.take_more(folder.id, self.chunk).unwrap_or_default();
            }
        }
        lane.flush_counts();
        Ended { folder: folder.id, rest: jobs, done: Done::default(), lesson: Lesson::default() }
    }

    /// Opens up to a chunk's worth and passes it on. True if the file system has turned slow.
    fn write_some(&self, lane: &mut Lane, folder: &Arc<Folder>, jobs: &mut VecDeque<Job>) -> bool {
        let (chunk, slow) = open_chunk(lane, folder, OpenOnce::new(), jobs, self.chunk);
        let chunk = match &self.chunks {
            Some(chunks) => match chunks.try_send(chunk) {
                Ok(()) => return slow,
                // The writing half has enough to do: this half writes as well.
                Err(TrySendError::Full(chunk) | TrySendError::Disconnected(chunk)) => chunk,
            },
            None => chunk,
        };
        write_chunk(lane, chunk);
        slow
    }
}

/// Opens up to `most` files. True if the file system has turned slow; then some may be left.
fn open_chunk(
    lane: &mut Lane,
    folder: &Arc<Folder>,
    at: OpenOnce,
    jobs: &mut VecDeque<Job>,
    most: usize,
) -> (Chunk, bool) {
    let mut watch = Stopwatch::start();
    let mut sleeps = Sleeps::default();
    sleeps.since_last();
    let mut chunk = Chunk { folder: folder.id, at, files: Vec::with_capacity(most), done: Done::default() };
    let mut lesson = Lesson::default();
    while chunk.done.jobs < most
        && let Some(job) = jobs.pop_front()
    {
        watch.split_this(chunk.done.jobs.is_multiple_of(SPLIT_EVERY));
        chunk.done.count(&job);
        chunk.files.extend(open_job(lane, folder, &chunk.at, job, &mut watch));
        let time = watch.next_file(&mut lane.counts);
        if time >= SLOW && sleeps.since_last() && !std::mem::take(&mut lane.asked) {
            lesson.note(time, true, true);
            break;
        }
    }
    let slow = lesson.learn_if_slow(&lane.shared);
    (chunk, slow)
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join()); // A panic is reported where it is caught.
        }
    }
}

fn write_chunks(lane: &mut Lane, chunks: Receiver<Chunk>) {
    let mut begun = Instant::now();
    let mut at = None;
    loop {
        match chunks.try_recv() {
            Ok(chunk) => {
                at = write_chunk(lane, chunk);
                begun = Instant::now();
            }
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) => {
                if at.as_ref().is_some_and(|at| help(lane, at)) {
                    begun = Instant::now();
                } else if begun.elapsed() > AWAKE {
                    // No more will come.
                    let Ok(chunk) = chunks.recv() else { return };
                    at = write_chunk(lane, chunk);
                    begun = Instant::now();
                } else {
                    // Waits awake for as long as opening a chunk takes: it comes then, and waking up a processor that
                    // has gone to sleep takes as long again, longer in a virtual machine. Not looking all the time,
                    // since to look for work takes the lock that callers hand over under.
                    look_away();
                }
            }
        }
    }
}

/// The writing half has nothing to write, and opens some files itself. False if no entries are waiting.
fn help(lane: &mut Lane, at: &OpenFolder) -> bool {
    let shared = lane.shared.clone();
    let folder = at.folder.clone();
    let Some(mut jobs) = lock(&shared.state).queue.take_more(folder.id, HELP) else { return false };
    let at = OpenOnce::from(Ok(OpenFolder { folder: folder.clone(), dir: at.dir.clone() }));
    let (chunk, _) = open_chunk(lane, &folder, at, &mut jobs, HELP);
    if !jobs.is_empty() {
        lock(&shared.state).queue.put_back(folder.id, jobs);
    }
    write_chunk(lane, chunk);
    true
}

/// Returns the folder, if it could be opened.
fn write_chunk(lane: &mut Lane, chunk: Chunk) -> Option<OpenFolder> {
    let Chunk { folder, at, files, done } = chunk;
    let shared = lane.shared.clone();
    let mut lesson = Lesson::default();
    let mut sleeps = Sleeps::default();
    sleeps.since_last();
    let mut watch = Stopwatch::start();
    let at = at.into_inner().and_then(crate::Result::ok);
    // Where the folder could not be opened no file was.
    for (n, (opened, at)) in files.into_iter().zip(at.iter().cycle()).enumerate() {
        watch.split_this(n.is_multiple_of(SPLIT_EVERY));
        let bytes = lane.counts.bytes;
        fill_job(lane, at, opened, &mut watch);
        let time = watch.next_file(&mut lane.counts);
        let small = lane.counts.bytes - bytes <= TELLING_SIZE;
        lesson.note(time, small, time >= SLOW && sleeps.since_last());
    }
    lane.flush_counts();
    let mut state = lock(&shared.state);
    lesson.learn(&shared, &mut state);
    shared.done_aside(&mut state, folder, &done);
    drop(state);
    at
}
