//! A model of a disk and of the system's memory of it: what was written, what a sync made durable, what a failed sync
//! lost, and what a kill, a power cut, a torn sector or a full disk leaves. Its calls fail when told to.
//!
//! A test puts the model where its subject makes its calls: behind a trait, or behind the system calls themselves.
//!
//! The model's assumptions about systems, each checked against real ones by `tests/appender_devices.rs` of `manyfiles`:
//!
//! - Until a sync, each sector is on the disk in any version that it ever had, or not at all; so is the length, and
//!   each name. Changes of one name come in their order. A rename is there as a whole or not at all, in two folders
//!   too.
//! - A failed sync leaves pages that programs see and the disk does not have. No later sync tells of them. A page that
//!   was new to the file then is not mended by being written again, only by being cut off, or by being read anew.
//! - So does a failed write-back that has not been reported yet: the next sync reports it to each handle that was open
//!   then, and to a later handle only if no handle was told before.
//! - A failed sync of a folder loses nothing: the next one that succeeds has all of its names. (A file system that
//!   could not write its folders takes nothing more.)
//! - A kill stops between two pages of a long write, and leaves all else as programs see it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

mod calls;
mod content;
mod names;
mod random;
#[cfg(target_os = "linux")]
mod record;

pub use calls::{FileId, HandleAge};
pub use random::Random;
#[cfg(target_os = "linux")]
pub use record::{Node, Record, Remnant};

use content::Content;
use names::{NameChange, with_those_before};

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Making a file, or another name of one.
    Create,
    /// One write.
    Write,
    /// Cutting or lengthening a file.
    SetLen,
    /// Syncing a file.
    Sync,
    /// Syncing a folder.
    SyncFolder,
    /// Giving a file another name.
    Rename,
    /// Taking a name away.
    Remove,
    /// Closing a file.
    Close,
}

/// A fault in place of a call's work.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It fails with this number, and so do all of its kind after it if `for_good`.
    Fail {
        /// The system's number of the error.
        errno: i32,
        /// Whether it goes on failing.
        for_good: bool,
    },
    /// It panics, as a call with a bug in it would.
    Panic,
    /// It writes a part: of `n` bytes `n / 2`, or one.
    Short,
}

/// How everything stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The process is gone.
    Kill,
    /// The power is.
    Cut,
}

/// What is left of all files.
pub type Remains = BTreeMap<PathBuf, Vec<u8>>;

/// The disk. Copies of it are the same one.
#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<Inner>>);

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Disk");
        if let Ok(inner) = self.0.try_lock() {
            shown.field("names", &inner.names).field("steps", &inner.steps);
        }
        shown.finish_non_exhaustive()
    }
}

/// Holds up syncs until it is opened.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<(bool, u64)>, Condvar)>);

impl Gate {
    /// Returns when a sync has been held up.
    pub fn wait_until_one_is_held(&self) {
        let (state, changed) = &*self.0;
        drop(changed.wait_while(state.lock().unwrap(), |(_, held)| *held == 0).unwrap());
    }

    /// Lets all syncs go on.
    pub fn open(&self) {
        let (state, changed) = &*self.0;
        state.lock().unwrap().0 = true;
        changed.notify_all();
    }

    fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.1 += 1;
        changed.notify_all();
        drop(changed.wait_while(state, |(is_open, _)| !*is_open).unwrap());
    }
}

#[derive(Default)]
struct Inner {
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    /// Changes of names since the folder was synced.
    name_changes: Vec<NameChange>,
    files: Vec<Content>,
    clock: Duration,
    /// Each for the nth call of a kind, from 1.
    faults: Vec<(Call, u64, Fault)>,
    counts: Vec<(Call, u64)>,
    /// Calls that have failed as they were told to.
    failed: u64,
    /// Everything stops at this step, counted from 1: each call is one, a sync two.
    stop_at: Option<(u64, Stop)>,
    steps: u64,
    /// It has stopped: calls do nothing and fail.
    is_over: bool,
    random: Random,
    gate: Option<Gate>,
    /// Numbers given away.
    unique: u64,
    /// Bytes that programs have read.
    read: u64,
    left: Option<Left>,
}

/// What a power cut has left: the names, and the bytes of each file.
#[derive(Clone)]
struct Left {
    names: BTreeMap<PathBuf, usize>,
    bytes: BTreeMap<usize, Vec<u8>>,
}

impl Left {
    fn remains(&self) -> Remains {
        self.names.iter().map(|(name, id)| (name.clone(), self.bytes[id].clone())).collect()
    }
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A disk with these files on it.
    pub fn holding(files: &Remains) -> Disk {
        let mut inner = Inner::default();
        for (id, (path, bytes)) in files.iter().enumerate() {
            let serial = inner.serial_for(path);
            inner.files.push(Content { serial, now: bytes.clone(), durable: bytes.clone(), ..Content::default() });
            inner.names.insert(path.clone(), id);
        }
        inner.durable_names = inner.names.clone();
        Disk(Arc::new(Mutex::new(inner)))
    }

    /// Holds up every sync that begins from now on, until the gate is opened.
    pub fn hold_syncs(&self) -> Gate {
        self.lock().gate.get_or_insert_default().clone()
    }

    /// The chance that decides what failed syncs and stops leave.
    pub fn seed(&self, random: Random) {
        self.lock().random = random;
    }

    /// Stops everything after `step` more steps.
    pub fn stop_at(&self, step: u64, stop: Stop) {
        let mut inner = self.lock();
        inner.stop_at = Some((inner.steps + step, stop));
    }

    /// Whether it has stopped.
    pub fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// How many calls have failed as they were told to.
    pub fn failed(&self) -> u64 {
        self.lock().failed
    }

    /// The next process finds what programs see. No call fails any more: a full disk has room again.
    pub fn next_process(&self) {
        let mut inner = self.lock();
        (inner.is_over, inner.stop_at) = (false, None);
        inner.faults.clear();
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.lock().steps
    }

    /// How many bytes were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.lock().read
    }

    /// What a power cut left, if it came.
    pub fn remains(&self) -> Option<Remains> {
        self.lock().left.as_ref().map(Left::remains)
    }

    /// The files that are left if a power cut comes now.
    pub fn cut(&self, random: Random) -> Remains {
        let mut inner = self.lock();
        inner.random = random;
        inner.cut().remains()
    }

    /// The machine starts again with the bytes that the power cut has left. If no cut has come yet, one comes now. No
    /// call fails any more.
    pub fn next_start(&self) {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let Left { names, mut bytes } = inner.left.take().unwrap_or_else(|| inner.cut());
        for (id, file) in inner.files.iter_mut().enumerate() {
            let now = bytes.remove(&id).unwrap_or_default();
            *file = Content { serial: file.serial, now: now.clone(), durable: now, ..Content::default() };
        }
        (inner.durable_names, inner.names) = (names.clone(), names);
        inner.name_changes.clear();
        drop(guard);
        self.next_process();
    }

    /// The nth call of a kind from now on does this instead.
    pub fn inject(&self, call: Call, nth: u64, fault: Fault) {
        let mut inner = self.lock();
        inner.counts.clear();
        inner.faults.push((call, nth, fault));
    }

    /// Lets time pass.
    pub fn advance(&self, time: Duration) {
        self.lock().clock += time;
    }

    /// A file's bytes as programs see them, and how many of them are durable.
    pub fn file(&self, path: &Path) -> Option<(Vec<u8>, Vec<u8>)> {
        let inner = self.lock();
        let content = &inner.files[*inner.names.get(path)?];
        Some((content.now.clone(), content.durable.clone()))
    }

    /// All names that programs see.
    pub fn names(&self) -> Vec<PathBuf> {
        self.lock().names.keys().cloned().collect()
    }

    /// The names that would be there after a power cut.
    pub fn durable_names(&self) -> Vec<PathBuf> {
        self.lock().durable_names.keys().cloned().collect()
    }
}

impl Inner {
    /// A number for a new file of this name: the same for a disk that is set up again with what was left of another
    /// one.
    fn serial_for(&self, path: &Path) -> u64 {
        let bytes = path.as_os_str().as_encoded_bytes();
        let hash = bytes.iter().fold(1, |hash: u64, &byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let is_free = |serial: &u64| self.files.iter().all(|file| file.serial != *serial);
        (hash.max(1)..).find(is_free).expect("few have it")
    }

    /// Fails when everything has stopped, or stops now.
    fn step(&mut self) -> io::Result<()> {
        if self.is_over {
            return Err(io::Error::other("the process is gone"));
        }
        self.steps += 1;
        match self.stop_at {
            Some((step, stop)) if step <= self.steps => {
                self.is_over = true;
                if stop == Stop::Cut {
                    self.left = Some(self.cut());
                }
                Err(io::Error::other("the process is gone"))
            }
            _ => Ok(()),
        }
    }

    /// Counts a call, and says what it does instead.
    fn call(&mut self, call: Call) -> io::Result<Option<Fault>> {
        self.step()?;
        let n = match self.counts.iter_mut().find(|(other, _)| *other == call) {
            Some((_, n)) => {
                *n += 1;
                *n
            }
            None => {
                self.counts.push((call, 1));
                1
            }
        };
        for &(_, nth, fault) in self.faults.iter().filter(|fault| fault.0 == call) {
            match fault {
                Fault::Fail { errno, for_good } if n == nth || for_good && n > nth => {
                    self.failed += 1;
                    return Err(io::Error::from_raw_os_error(errno));
                }
                Fault::Panic if n == nth => panic!("call number {n} has a bug"),
                Fault::Short if n == nth => return Ok(Some(fault)),
                _ => {}
            }
        }
        Ok(None)
    }

    fn cut(&mut self) -> Left {
        let mut names = self.durable_names.clone();
        let chosen: Vec<bool> = self.name_changes.iter().map(|_| !self.random.one_in(2)).collect();
        for (change, is_made) in
            self.name_changes.iter().zip(with_those_before(&self.name_changes, NameChange::paths, chosen))
        {
            if is_made {
                change.make(&mut names);
            }
        }
        let mut bytes = BTreeMap::new();
        for &id in names.values() {
            bytes.entry(id).or_insert_with(|| self.files[id].after_a_cut(&mut self.random));
        }
        Left { names, bytes }
    }

    /// The names in a folder become durable, and earlier changes of the same names with them.
    fn sync_names(&mut self, folder: &Path) {
        let in_folder = |change: &NameChange| change.paths().iter().any(|path| path.parent() == Some(folder));
        let chosen = self.name_changes.iter().map(in_folder).collect();
        let is_durable = with_those_before(&self.name_changes, NameChange::paths, chosen);
        let changes = std::mem::take(&mut self.name_changes);
        for (change, is_durable) in changes.into_iter().zip(is_durable) {
            if is_durable {
                change.make(&mut self.durable_names);
            } else {
                self.name_changes.push(change);
            }
        }
    }
}
