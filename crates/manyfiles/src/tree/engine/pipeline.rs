//! One folder is all there is to work on: one thread opens, another writes and closes.
//!
//! Two threads that create files in one folder wait for each other in the kernel, spinning. One that opens and hands
//! chunks of open files to another is as fast or faster with 30 % less CPU time (docs/measurements.md, "One folder").
//! Whichever half has nothing to do helps the other.
//!
//! Files that are open for later are handles that nobody closes while both halves wait for one. So a half that runs out
//! of handles writes such files first, its own and those that were handed over: see [`Ahead`].

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
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
use super::placement::Opened;
use super::queue::{Batch, Done};
use super::shared::Shared;
use super::step::{OpenOnce, SPLIT_EVERY, fill_job, open_job};
use super::stopwatch::Stopwatch;
use crate::sys::{self, Sleeps};
use crate::tree::pace::SLOW;

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
    open: OpenFiles,
    done: Done,
}

#[derive(Default)]
struct OpenFiles {
    /// The folder that they are in. `None` before the first of them.
    at: Option<OpenFolder>,
    files: Vec<Opened>,
}

/// What is open ahead of its writing, as one of the two halves sees it.
#[derive(Clone)]
struct Ahead {
    /// The files of the chunk that this half is just opening.
    own: Arc<Mutex<OpenFiles>>,
    /// What the opening half has handed over. The writing half holds this lock while it waits for a chunk: there is
    /// none then.
    handed_over: Arc<Mutex<Receiver<Chunk>>>,
}

/// The writing half: a thread that shares the descriptors of the one that opens. Dropping it waits until it has written
/// all.
pub(super) struct Writer {
    /// `None` if no thread could be started: then the opening half writes too.
    chunks: Option<SyncSender<Chunk>>,
    thread: Option<JoinHandle<()>>,
    /// Of the half that opens.
    ahead: Ahead,
    chunk: usize,
}

impl Ahead {
    fn new(lane: &mut Lane, handed_over: &Arc<Mutex<Receiver<Chunk>>>) -> Ahead {
        let ahead = Ahead { own: Arc::default(), handed_over: handed_over.clone() };
        let (lets_go, shared) = (ahead.clone(), lane.shared.clone());
        lane.when_out_of_handles(move || lets_go.let_go(&shared));
        ahead
    }

    /// Writes and closes files that are open for later. False if there are none. What the half itself is doing is half
    /// done, so this takes a lane of its own.
    fn let_go(&self, shared: &Arc<Shared>) -> bool {
        let own = std::mem::take(&mut *lock(&self.own));
        if let (Some(at), false) = (&own.at, own.files.is_empty()) {
            let mut lane = Lane::new(shared.clone());
            write_files(&mut lane, at, own.files);
            lane.flush_counts();
            return true;
        }
        let chunk = self.handed_over.try_lock().ok().and_then(|chunks| chunks.try_recv().ok());
        chunk.map(|chunk| write_chunk(&mut Lane::new(shared.clone()), chunk)).is_some()
    }
}

impl Writer {
    pub(super) fn start(opener: &mut Lane) -> Writer {
        let (send, receive) = sync_channel(2);
        let receive = Arc::new(Mutex::new(receive));
        let mut lane = Lane::new(opener.shared.clone());
        let ahead = Ahead::new(opener, &receive);
        let thread = std::thread::Builder::new().name("manyfiles-write".into()).stack_size(256 << 10);
        let chunk = (sys::handle_limit() / 10).clamp(1, CHUNK);
        opener.make_room_for_handles(4 * chunk);
        let opening = sys::processor();
        let write = move || {
            belongs_to_a_tree();
            sys::leave_processor(opening);
            let ahead = Ahead::new(&mut lane, &receive);
            write_chunks(&mut lane, &ahead);
        };
        let thread = sys::spawn_quiet(thread, write).ok(); // No thread: see `chunks`.
        std::thread::yield_now(); // See `leave_processor`.
        Writer { chunks: thread.is_some().then_some(send), thread, ahead, chunk }
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
        let (chunk, slow) = open_chunk(lane, &self.ahead, folder, OpenOnce::new(), jobs, self.chunk);
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
    ahead: &Ahead,
    folder: &Arc<Folder>,
    at: OpenOnce,
    jobs: &mut VecDeque<Job>,
    most: usize,
) -> (Chunk, bool) {
    let mut watch = Stopwatch::start();
    let mut sleeps = Sleeps::default();
    sleeps.since_last();
    let mut done = Done::default();
    let mut lesson = Lesson::default();
    while done.jobs < most
        && let Some(job) = jobs.pop_front()
    {
        watch.split_this(done.jobs.is_multiple_of(SPLIT_EVERY));
        done.count(&job);
        if let Some(opened) = open_job(lane, folder, &at, job, &mut watch) {
            let mut own = lock(&ahead.own);
            if own.at.is_none() {
                own.files.reserve(most);
                own.at = at.get().and_then(|at| at.as_ref().ok()).cloned();
            }
            own.files.push(opened);
        }
        let time = watch.next_file(&mut lane.counts);
        if time >= SLOW && sleeps.since_last() && !std::mem::take(&mut lane.asked) {
            lesson.note(time, true, true);
            break;
        }
    }
    let slow = lesson.learn_if_slow(&lane.shared);
    (Chunk { folder: folder.id, open: std::mem::take(&mut *lock(&ahead.own)), done }, slow)
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join()); // A panic is reported where it is caught.
        }
    }
}

fn write_chunks(lane: &mut Lane, ahead: &Ahead) {
    let mut begun = Instant::now();
    let mut at = None;
    loop {
        let next = lock(&ahead.handed_over).try_recv();
        match next {
            Ok(chunk) => {
                at = write_chunk(lane, chunk);
                begun = Instant::now();
            }
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) => {
                if at.as_ref().is_some_and(|at| help(lane, ahead, at)) {
                    begun = Instant::now();
                } else if begun.elapsed() > AWAKE {
                    // No more will come.
                    let next = lock(&ahead.handed_over).recv();
                    let Ok(chunk) = next else { return };
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
fn help(lane: &mut Lane, ahead: &Ahead, at: &OpenFolder) -> bool {
    let shared = lane.shared.clone();
    let folder = at.folder.clone();
    let Some(mut jobs) = lock(&shared.state).queue.take_more(folder.id, HELP) else { return false };
    let (chunk, _) = open_chunk(lane, ahead, &folder, OpenOnce::from(Ok(at.clone())), &mut jobs, HELP);
    if !jobs.is_empty() {
        lock(&shared.state).queue.put_back(folder.id, jobs);
    }
    write_chunk(lane, chunk);
    true
}

/// Returns the folder, if a file of it was open.
fn write_chunk(lane: &mut Lane, chunk: Chunk) -> Option<OpenFolder> {
    let Chunk { folder, open: OpenFiles { at, files }, done } = chunk;
    let shared = lane.shared.clone();
    let lesson = at.as_ref().map(|at| write_files(lane, at, files)).unwrap_or_default();
    lane.flush_counts();
    let mut state = lock(&shared.state);
    lesson.learn(&shared, &mut state);
    shared.done_aside(&mut state, folder, &done);
    drop(state);
    at
}

fn write_files(lane: &mut Lane, at: &OpenFolder, files: impl IntoIterator<Item = Opened>) -> Lesson {
    let mut lesson = Lesson::default();
    let mut sleeps = Sleeps::default();
    sleeps.since_last();
    let mut watch = Stopwatch::start();
    for (n, opened) in files.into_iter().enumerate() {
        watch.split_this(n.is_multiple_of(SPLIT_EVERY));
        let bytes = lane.counts.bytes;
        fill_job(lane, at, opened, &mut watch);
        let time = watch.next_file(&mut lane.counts);
        let small = lane.counts.bytes - bytes <= TELLING_SIZE;
        lesson.note(time, small, time >= SLOW && sleeps.since_last());
    }
    lesson
}
