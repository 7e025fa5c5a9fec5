//! [`Shared`]: a tree, as its calls and its threads have it.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use super::conflict::Numbers;
use super::control::Control;
use super::durable::Durable;
use super::flags_at_the_end::FlagsAtTheEnd;
use super::folder_links::FolderLinks;
use super::lock::lock;
use super::outcome::Outcome;
use super::questions::Questions;
use super::queue::Queue;
use super::sharing::Pairs;
use super::streams::Streams;
use super::temporary::Temporaries;
use crate::origin::{Origin, get_or_make};
use crate::sys::{self, Dir};
use crate::tree::options::{Answer, OnConflict, Options};
use crate::{Error, Operation, Result};

/// All that a tree is made of. The parts without handles are in [`Control`].
#[derive(Debug)]
pub(in crate::tree) struct Shared {
    pub(in crate::tree) root: PathBuf,
    /// Whether this run made the root, so that no other program has anything in it.
    pub(super) root_is_new: bool,
    /// `None` once the tree is finished: no handle keeps the file system busy then.
    pub(super) root_dir: Mutex<Option<Arc<Dir>>>,
    pub(super) options: Options,
    /// The process's umask, once a call needs it. `None` in it where the system does not tell the umask.
    pub(super) umask: OnceLock<Option<u32>>,
    /// What has to be on the disk at the end, if anything has.
    pub(super) durable: Mutex<Option<Arc<Durable>>>,
    /// The process that opened the tree. A forked child has copies of all fields, and must not touch the files.
    pub(super) origin: Origin,
    pub(super) questions: Questions,
    /// For names that were taken: the number that the next file gets.
    pub(super) numbers: Numbers,
    pub(super) temporaries: Temporaries,
    pub(super) pairs: Pairs,
    pub(super) streams: Streams,
    pub(super) flags_at_the_end: FlagsAtTheEnd,
    pub(super) folder_links: FolderLinks,
    /// Whether a handle was waited for in vain, and none was free since.
    pub(super) starved: AtomicBool,
    pub(super) control: Arc<Control>,
}

impl Deref for Shared {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

/// As many threads as there are processors, and two where there is one: one can write while the other waits. Asked
/// once, because the answer takes several system calls.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *get_or_make(&CORES, || std::thread::available_parallelism().map_or(2, usize::from).max(2))
}

impl Shared {
    /// `made`: the root, if it was made for this run. Else it is opened by its path, and made if it is missing.
    pub(in crate::tree) fn open(root: &Path, made: Option<Dir>, options: Options) -> Result<Arc<Shared>> {
        let (root_dir, root_is_new, durable) = Durable::open(root, made, options.durability)?;
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
            root_is_new,
            control: Arc::new(Control::new(queue, Outcome::new(options.last_wins))),
            root_dir: Mutex::new(Some(Arc::new(root_dir))),
            umask: OnceLock::new(),
            durable: Mutex::new(durable.map(Arc::new)),
            origin: Origin::default(),
            questions,
            numbers: Numbers::default(),
            temporaries: Temporaries::default(),
            pairs: Pairs::default(),
            streams: Streams::default(),
            flags_at_the_end: FlagsAtTheEnd::default(),
            folder_links: FolderLinks::new(),
            starved: AtomicBool::new(false),
            options,
        }))
    }

    /// Whether the calling process is a forked child of the process that has the tree.
    pub(in crate::tree) fn is_a_child_s(&self) -> bool {
        self.origin.is_a_parent()
    }

    /// Has to come before a call takes a lock: a thread of the parent may have held it at the fork.
    pub(in crate::tree) fn check_call<P: Into<PathBuf>>(
        &self,
        operation: Operation,
        path: impl FnOnce() -> P,
    ) -> Result<()> {
        self.origin.check_call().map_err(|cause| Error::new(operation, path(), cause))
    }

    pub(in crate::tree) fn control(&self) -> Arc<Control> {
        self.control.clone()
    }

    /// The root's handle. After the end there is none.
    pub(in crate::tree) fn root_dir(&self) -> Option<Arc<Dir>> {
        lock(&self.root_dir).clone()
    }

    /// About how many more handles the process may have.
    pub(super) fn free_handles(&self) -> usize {
        self.root_dir().map_or(0, |root| sys::free_handles(&*root))
    }

    pub(super) fn ask(&self, path: PathBuf) -> Option<Answer> {
        self.questions.ask(path)
    }

    pub(super) fn umask(&self) -> Option<u32> {
        *self.umask.get_or_init(sys::umask)
    }

    pub(super) fn masked(&self) -> u32 {
        if self.options.exact_permissions { 0 } else { self.umask().unwrap_or(0o022) }
    }

    /// Closes all handles that the tree still has open, and ends the thread that answers questions.
    pub(super) fn let_go(&self) {
        self.questions.end();
        self.streams.let_go();
        lock(&self.root_dir).take();
        lock(&self.durable).take();
    }
}
