//! The machinery below [`TreeWriter`](super::TreeWriter): threads that take entries of one folder at a time and write them.
//!
//! An entry comes in through [`admission`] and waits in the [`queue`] of its folder ([`folders`]). [`threads`] has somebody to take
//! it; [`pace`] says how many there should be. A thread runs [`worker`], with what it has for itself in a [`lane`]: [`place`] is
//! the first half of an entry (its name; [`conflict`] if that is taken, [`placement`] is what came of it), [`fill`] the second (its
//! bytes: [`write`], [`copy`], [`compare`]). [`make`] makes what has no bytes, [`link`] hard links in their order; [`access`] has
//! the rules of owners and permissions. [`pipeline`] gives the halves
//! to two threads where one folder is all there is. [`streams`] are files that callers write on their own threads. [`finish`] does
//! what comes last, and [`durable`] waits for the disk if asked to. [`outcome`] and [`counts`] are what came of it all.

mod access;
mod admission;
mod compare;
mod conflict;
mod control;
mod copy;
mod counts;
mod durable;
mod fill;
mod finish;
mod folders;
mod give_name;
mod job;
mod lane;
mod link;
mod make;
mod name;
mod outcome;
mod pace;
mod pipeline;
mod place;
mod placement;
mod questions;
mod queue;
mod streams;
mod temporary;
mod threads;
mod worker;
mod write;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use self::durable::Durable;
use self::outcome::Outcome;
use self::questions::Questions;
use self::queue::Queue;
use self::streams::Streams;
use super::options::{OnConflict, Options};
use crate::sys::{self, Dir};
use crate::{Error, Operation, Result};

pub(super) use self::control::Control;
pub(super) use self::copy::BUFFER;
pub(super) use self::job::{Job, Work};
pub(super) use self::streams::Stream;
pub(super) use self::temporary::Temporaries;
pub(super) use self::threads::is_of_the_engine;

/// All that a tree is made of. What has no handles is in [`Control`].
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) root: PathBuf,
    /// Whether this run made the root, so that nobody else has anything in it.
    root_is_new: bool,
    /// `None` once the tree is finished: nothing keeps its file system busy then.
    root_dir: Mutex<Option<Arc<Dir>>>,
    options: Options,
    /// The process's umask, once it is needed. `None` in it where the system doesn't say.
    umask: OnceLock<Option<u32>>,
    /// What has to be on the disk at the end, if anything has.
    durable: Mutex<Option<Arc<Durable>>>,
    /// The process that opened the tree. A child that was forked has copies of all this, and must not touch the files.
    process: u32,
    questions: Questions,
    /// What conflicts are settled with.
    numbers: conflict::Numbers,
    temporaries: temporary::Temporaries,
    streams: Streams,
    control: Arc<Control>,
}

impl Deref for Shared {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

/// As many threads as there are processors, and two where there is one: one can write while the other waits. Asked once, because
/// the answer takes several system calls.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(2, usize::from).max(2))
}

/// A poisoned lock means a bug in this crate. What it guards is consistent between any two statements that can panic, and the
/// report must still be made.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// `is_new`: the root was made for this run. Where it is not there, it is made here.
    pub(super) fn open(root: &Path, is_new: bool, options: Options) -> Result<Arc<Shared>> {
        let (root_dir, made, durable) = Durable::open(root, options.durability)?;
        let questions = match &options.on_conflict {
            OnConflict::Ask(answer) => {
                let answering = Questions::to(answer.clone());
                answering.map_err(|error| Error::new(Operation::Open, root, error))?
            }
            _ => Questions::default(),
        };
        let cores = options.threads.unwrap_or_else(cores);
        let mut queue = Queue::new(cores, root_dir.folds());
        queue.dropped = options.on_entry.is_some().then(Vec::new);
        Ok(Arc::new(Shared {
            root: root.to_path_buf(),
            root_is_new: is_new || made,
            control: Arc::new(Control::new(queue, Outcome::new(options.last_wins))),
            root_dir: Mutex::new(Some(Arc::new(root_dir))),
            umask: OnceLock::new(),
            durable: Mutex::new(durable.map(Arc::new)),
            process: std::process::id(),
            questions,
            numbers: conflict::Numbers::default(),
            temporaries: temporary::Temporaries::default(),
            streams: Streams::default(),
            options,
        }))
    }

    /// Whether this is a forked child of the process that has the tree.
    pub(super) fn is_a_child_s(&self) -> bool {
        self.process != std::process::id()
    }

    pub(super) fn control(&self) -> Arc<Control> {
        self.control.clone()
    }

    /// The root's handle. After the end there is none.
    fn root_dir(&self) -> Option<Arc<Dir>> {
        lock(&self.root_dir).clone()
    }

    fn ask(&self, path: PathBuf) -> Option<super::Answer> {
        self.questions.ask(path)
    }

    fn umask(&self) -> Option<u32> {
        *self.umask.get_or_init(sys::umask)
    }

    fn masked(&self) -> u32 {
        if self.options.exact_permissions { 0 } else { self.umask().unwrap_or(0o022) }
    }

    /// Closes all that the tree still has open, and ends the thread that answers questions.
    fn let_go(&self) {
        self.questions.end();
        self.streams.let_go();
        lock(&self.root_dir).take();
        lock(&self.durable).take();
    }
}
