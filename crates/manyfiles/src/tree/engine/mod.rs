//! The machinery below [`TreeWriter`](super::TreeWriter): threads that take entries of one folder at a time and write them.
//!
//! [`queue`] knows what waits and who takes what; [`pace`] how many threads there should be; a thread runs [`worker`], with
//! what it has for itself in a [`lane`]; [`place`] is the first half of an entry (its name), [`fill`] the second (its bytes);
//! [`pipeline`] gives the halves to two threads where one folder is all there is; [`finish`] does what comes last, and [`durable`]
//! waits for the disk if asked to.

mod counts;
mod durable;
mod fill;
mod finish;
mod hand;
mod job;
mod lane;
mod name;
mod pace;
mod pipeline;
mod place;
mod queue;
mod worker;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use self::counts::Totals;
use self::durable::Durable;
use self::job::FolderId;
use self::queue::{Done, Queue};
use self::worker::Ended;
use super::metadata::Metadata;
use super::options::{Answer, OnConflict, Options};
use super::report::{Progress, Report};
use crate::sys::{self, Dir};
use crate::{Error, Operation, Result};

pub(super) use self::fill::BUFFER;
pub(super) use self::finish::Link;
pub(super) use self::hand::FileInHand;
pub(super) use self::job::{Job, Work};
pub(super) use self::lane::Lane;

/// A question for the one who answers: about this path, to be answered there.
type Question = (PathBuf, Sender<Answer>);

pub(super) struct Shared {
    pub(super) root: PathBuf,
    root_dir: Arc<Dir>,
    options: Options,
    /// The process's umask, once it is needed. `None` in it where the system doesn't say.
    umask: OnceLock<Option<u32>>,
    state: Mutex<State>,
    /// Where threads wait for work.
    work: Condvar,
    /// Where callers wait for room, or for the end.
    room: Condvar,
    cancelled: AtomicBool,
    /// Whether the file system makes its callers wait, so that closes are worth showing.
    slow: AtomicBool,
    /// What has to be on the disk at the end, if anything has.
    durable: Option<Durable>,
    /// Whether nothing is left but to wait for the disk.
    syncing: AtomicBool,
    totals: Totals,
    outcome: Mutex<Outcome>,
    /// Where to ask, and the thread that answers.
    questions: Mutex<Option<(Sender<Question>, JoinHandle<()>)>>,
}

struct State {
    queue: Queue,
    /// Threads that exist, that begin, that are at work, that wait for work; of these, those that look again soon by themselves,
    /// and those that have been told to and have not woken up yet.
    threads: usize,
    beginning: usize,
    busy: usize,
    idle: usize,
    lingering: usize,
    told: usize,
    peak: usize,
    /// Callers that wait in `room`. Every folder that can be worked on is then worth a thread.
    waiting_callers: usize,
    /// Of these, those that wait for room, and those that wait for a name. The others wait for the end of all work.
    waiting_for_room: usize,
    waiting_for_names: usize,
    /// Nothing more comes: threads that find nothing to do end.
    closing: bool,
    handles: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Outcome {
    failures: Vec<Error>,
    renamed: Vec<(PathBuf, PathBuf)>,
}

/// As many threads as there are processors, and two where there is one: one can write while the other waits. Asked once, because
/// the answer takes several system calls.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(2, usize::from).max(2))
}

/// A poisoned lock means a bug in this crate. What it guards is consistent between any two statements that can panic, and the
/// report must still be made.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn open(root: &Path, options: Options) -> Result<Arc<Shared>> {
        let (root_dir, durable) = Durable::open(root, options.durability)?;
        let cores = options.threads.unwrap_or_else(cores);
        let shared = Shared {
            root: root.to_path_buf(),
            root_dir: Arc::new(root_dir),
            umask: OnceLock::new(),
            state: Mutex::new(State {
                queue: Queue::new(cores),
                threads: 0,
                beginning: 0,
                busy: 0,
                idle: 0,
                lingering: 0,
                told: 0,
                peak: 0,
                waiting_callers: 0,
                waiting_for_room: 0,
                waiting_for_names: 0,
                closing: false,
                handles: Vec::new(),
            }),
            work: Condvar::new(),
            room: Condvar::new(),
            cancelled: AtomicBool::new(false),
            slow: AtomicBool::new(false),
            durable,
            syncing: AtomicBool::new(false),
            totals: Totals::default(),
            outcome: Mutex::default(),
            questions: Mutex::new(None),
            options,
        };
        let shared = Arc::new(shared);
        shared.start_answering()?;
        Ok(shared)
    }

    /// Questions are answered on a thread that has the program's own descriptors, which those of the engine have not.
    fn start_answering(&self) -> Result<()> {
        let OnConflict::Ask(answer) = &self.options.on_conflict else { return Ok(()) };
        let (answer, (send, receive)) = (answer.clone(), channel());
        let answering = move |receive: Receiver<Question>| {
            for (path, reply) in receive {
                // If the thread that asked is gone, nothing depends on the answer.
                if reply.send(answer(&path)).is_err() {
                    continue;
                }
            }
        };
        let thread = std::thread::Builder::new().name("manyfiles-ask".into()).spawn(move || answering(receive));
        let thread = thread.map_err(|error| Error::new(Operation::Open, &self.root, error))?;
        *lock(&self.questions) = Some((send, thread));
        Ok(())
    }

    /// Asks what to do about a name that is taken. Where nobody answers any more, the answer is the one that changes nothing.
    fn ask(&self, path: PathBuf) -> Answer {
        let (reply, answer) = channel();
        let asked = lock(&self.questions).as_ref().is_some_and(|(questions, _)| questions.send((path, reply)).is_ok());
        if asked { answer.recv().unwrap_or(Answer::Error) } else { Answer::Error }
    }

    fn umask(&self) -> Option<u32> {
        *self.umask.get_or_init(sys::umask)
    }

    fn masked(&self) -> u32 {
        if self.options.exact_permissions { 0 } else { self.umask().unwrap_or(0o022) }
    }

    fn is_slow(&self) -> bool {
        self.slow.load(Relaxed)
    }

    fn wrote(&self, bytes: u64) {
        self.totals.wrote(bytes);
    }

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    pub(super) fn fail(&self, error: Error) {
        lock(&self.outcome).failures.push(error);
    }

    pub(super) fn failures_from(&self, from: usize) -> Vec<Error> {
        lock(&self.outcome).failures.get(from..).unwrap_or_default().to_vec()
    }

    fn renamed(&self, from: PathBuf, to: PathBuf) {
        lock(&self.outcome).renamed.push((from, to));
    }

    pub(super) fn progress(&self) -> Progress {
        let mut progress = Progress { failures: lock(&self.outcome).failures.len() as u64, ..Progress::default() };
        self.totals.fill_progress(&mut progress);
        progress.threads = lock(&self.state).busy;
        progress.syncing = self.syncing.load(Relaxed);
        progress
    }

    /// Counts an entry that never becomes a job: it was refused, or failed before.
    pub(super) fn refuse(&self, error: &Error) {
        self.totals.accepted.fetch_add(1, Relaxed);
        self.totals.done.fetch_add(1, Relaxed);
        self.fail(error.clone());
    }

    /// Counts an entry that becomes a job at the end.
    pub(super) fn accept(&self) {
        self.totals.accepted.fetch_add(1, Relaxed);
    }

    /// Takes an entry for a folder itself.
    pub(super) fn submit_folder(self: &Arc<Shared>, path: &OsStr, metadata: Metadata) -> Result<()> {
        let job = Job::new(OsStr::new(""), Work::MakeFolder);
        {
            let mut state = lock(&self.state);
            let id = state.queue.folder(path);
            state.queue.set_folder_metadata(id, metadata, metadata.mode.unwrap_or(0o777));
        }
        self.submit(path, job)
    }

    /// Takes a checked entry, as soon as there is room.
    pub(super) fn submit(self: &Arc<Shared>, folder: &OsStr, job: Job) -> Result<()> {
        let weight = job.weight();
        let mut state = self.wait_for_room(weight);
        if self.is_cancelled() {
            drop(state);
            return Err(self.cancelled(&Path::new(folder).join(&*job.name)));
        }
        // Hard links were counted when they came.
        if job.is_entry() && !matches!(job.work, Work::HardLink { .. }) {
            self.totals.accepted.fetch_add(1, Relaxed);
        }
        let id = state.queue.folder(folder);
        if let Work::Symlink { .. } = job.work
            && !state.queue.add_link(Path::new(folder).join(&*job.name).as_os_str())
        {
            drop(state);
            let why = std::io::Error::new(std::io::ErrorKind::AlreadyExists, "a folder of this tree has the name");
            let error = Error::new(Operation::Symlink, Path::new(folder).join(&*job.name), why);
            self.totals.done.fetch_add(1, Relaxed);
            self.fail(error.clone());
            return Err(error);
        }
        state.queue.push(id, job);
        self.tell(&mut state);
        Ok(())
    }

    pub(super) fn cancelled(&self, path: &Path) -> Error {
        self.totals.not_written.fetch_add(1, Relaxed);
        Error::new(Operation::Create, path, std::io::Error::other(crate::error::Cancelled))
    }

    fn wait_for_room(self: &Arc<Shared>, weight: usize) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        let limit = self.options.bytes_in_flight;
        if state.queue.has_room(weight, limit) {
            return state;
        }
        state.waiting_callers += 1;
        state.waiting_for_room += 1;
        while !state.queue.has_room(weight, limit) && !self.is_cancelled() {
            state = self.wait_in_room(state);
        }
        state.waiting_for_room -= 1;
        state.waiting_callers -= 1;
        state
    }

    /// One wait; every thread that could help is told first.
    fn wait_in_room<'a>(self: &'a Arc<Shared>, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while self.tell(&mut state) {}
        // No thread could be started: then the caller is one.
        if state.threads == 0
            && let Some(batch) = state.queue.take(0)
        {
            drop(state);
            let ended = worker::write_batch(&mut Lane::shared(self.clone()), batch);
            let mut state = lock(&self.state);
            self.end_batch(&mut state, ended);
            return state;
        }
        self.room.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes or starts one thread, if there is work for one more.
    fn tell(self: &Arc<Shared>, state: &mut State) -> bool {
        // One that looks by itself within a millisecond counts as busy until there is more than enough for it.
        let looking = state.told + state.beginning;
        if looking >= state.queue.free_folders() {
            return false; // Each of these will have a thread as it is.
        }
        let busy = state.busy + looking;
        let soon = usize::from(state.lingering > state.told);
        let urgent = state.waiting_callers > 0 || state.closing;
        if !state.queue.wants_thread(if urgent { busy } else { busy + soon }, urgent) {
            return false;
        }
        if state.idle > state.told {
            state.told += 1;
            self.work.notify_one();
            return true;
        }
        state.threads < state.queue.target && self.start_thread(state)
    }

    /// False if the system has no thread for us; those there are do the work then, or the caller does.
    fn start_thread(self: &Arc<Shared>, state: &mut State) -> bool {
        const STACK: usize = 256 << 10;
        // Ended ones are joined so that their handles don't pile up; it doesn't block.
        let (ended, running) = std::mem::take(&mut state.handles).into_iter().partition(JoinHandle::is_finished);
        state.handles = running;
        for handle in ended {
            let handle: JoinHandle<()> = handle;
            drop(handle.join()); // A panic was reported where it was caught.
        }
        let shared = self.clone();
        // The caller goes on handing over; the others come when it waits.
        let leave = (state.threads == 0).then(sys::processor);
        let thread = std::thread::Builder::new().name("manyfiles".into()).stack_size(STACK);
        match thread.spawn(move || worker::run(shared, leave)) {
            Ok(handle) => {
                if leave.is_some() {
                    std::thread::yield_now(); // See `leave_processor`.
                }
                state.handles.push(handle);
                state.threads += 1;
                state.beginning += 1;
                true
            }
            Err(_) => false,
        }
    }

    /// Notes what came of a batch.
    fn end_batch(&self, state: &mut State, ended: Ended) {
        ended.lesson.learn(self, state);
        state.queue.put_back(ended.folder, ended.rest);
        self.done(state, ended.folder, &ended.done);
        state.queue.leave(ended.folder);
    }

    /// Notes that jobs of this folder are done, and tells who waits for that.
    fn done(&self, state: &mut State, folder: FolderId, done: &Done) {
        self.totals.done.fetch_add(done.entries as u64, Relaxed);
        state.queue.done(folder, done);
        self.tell_that_all_is_done(state);
        let room = state.waiting_for_room > 0 && state.queue.has_plenty_of_room(self.options.bytes_in_flight);
        if room || state.waiting_for_names > 0 || (state.waiting_callers > 0 && state.queue.unfinished == 0) {
            self.room.notify_all();
        }
    }

    /// The same for a thread that does not look for work itself afterwards. Entries that waited for its names may go on now,
    /// and everybody who could write them may have gone to sleep meanwhile.
    fn done_aside(self: &Arc<Shared>, state: &mut State, folder: FolderId, done: &Done) {
        self.done(state, folder, done);
        if state.busy == 0 {
            self.tell(state);
        }
    }

    /// Threads that wait for work end when there is none any more.
    fn tell_that_all_is_done(&self, state: &State) {
        if state.closing && state.queue.unfinished == 0 {
            self.work.notify_all();
        }
    }

    /// Throws away what waits, if the writing was cancelled.
    fn drop_if_cancelled(&self, state: &mut State) {
        if self.is_cancelled() {
            let dropped = state.queue.drop_waiting();
            self.totals.not_written.fetch_add(dropped as u64, Relaxed);
            self.tell_that_all_is_done(state);
            if dropped > 0 || state.queue.unfinished == 0 {
                self.room.notify_all();
            }
        }
    }

    fn report(&self) -> Report {
        let mut report =
            Report { cancelled: self.is_cancelled(), peak_threads: lock(&self.state).peak, ..Report::default() };
        self.totals.fill(&mut report);
        let outcome = std::mem::take(&mut *lock(&self.outcome));
        report.failures = outcome.failures;
        report.renamed = outcome.renamed;
        report
    }
}
