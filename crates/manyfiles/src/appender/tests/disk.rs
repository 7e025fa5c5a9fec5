//! A model of a disk and of the system's memory of it: what was written, what a sync made durable, what a failed sync lost, and
//! what a kill, a power cut, a torn sector or a full disk leaves. Its calls fail when told to.
//!
//! What it takes for true of systems, each checked against real ones by `tests/appender_devices.rs`:
//!
//! - Until a sync, each sector is on the disk in any version that it ever had, or not at all; so is the length, and each name.
//! - A failed sync leaves pages that programs see and the disk does not have. No later sync tells of them. A page that was new to
//!   the file then is not mended by being written again, only by being cut off.
//! - A kill stops between two pages of a long write, and leaves all else as programs see it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::appender::storage::{Measure, ReadAt, Storage, StoredFile};

/// What a disk writes as a whole or not at all.
const SECTOR: usize = 512;
/// What the system keeps and loses as a whole.
const PAGE: usize = 4096;

/// A generator of numbers that a seed gives again: Knuth's MMIX, upper bits.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0 >> 16 << 16) * u128::from(limit)) >> 64) as u64
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Create,
    Write,
    SetLen,
    Sync,
    SyncFolder,
    Rename,
    Remove,
    Close,
}

/// What a call does instead of what it should.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It fails with this number, and so do all of its kind after it if `for_good`.
    Fail { errno: i32, for_good: bool },
    /// It panics, as a call with a bug in it would.
    Panic,
    /// It writes a part: of `n` bytes `n / 2`, or one.
    Short,
}

/// How everything stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Kill,
    Cut,
}

/// What is left of all files.
pub type Remains = BTreeMap<PathBuf, Vec<u8>>;

#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<Inner>>);

/// Holds up syncs until it is opened.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<(bool, u64)>, Condvar)>);

impl Gate {
    /// Returns when a sync has been held up.
    pub fn wait_until_one_is_held(&self) {
        let (state, changed) = &*self.0;
        drop(changed.wait_while(state.lock().unwrap(), |(_, held)| *held == 0).unwrap());
    }

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
    remains: Option<Remains>,
}

impl Default for Random {
    fn default() -> Random {
        Random(1)
    }
}

enum NameChange {
    Made(PathBuf, usize),
    Renamed(PathBuf, PathBuf, usize),
    Removed(PathBuf),
}

/// A file's bytes.
#[derive(Clone, Default)]
struct Content {
    /// As programs see them.
    now: Vec<u8>,
    /// As they are on the disk for certain.
    durable: Vec<u8>,
    since: Changes,
    /// A sync in flight: the bytes when it began, and the changes that led there.
    syncing: Option<(Vec<u8>, Changes)>,
    /// Pages that a failed sync lost when they were new.
    lost: BTreeSet<usize>,
    /// When it was written to last.
    changed: Duration,
}

/// What may or may not be on the disk.
#[derive(Clone, Default)]
struct Changes {
    sectors: BTreeMap<usize, Vec<[u8; SECTOR]>>,
    lengths: Vec<usize>,
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A disk with these files on it.
    pub fn holding(files: &Remains) -> Disk {
        let mut inner = Inner::default();
        for (id, (path, bytes)) in files.iter().enumerate() {
            inner.files.push(Content { now: bytes.clone(), durable: bytes.clone(), ..Content::default() });
            inner.names.insert(path.clone(), id);
        }
        inner.durable_names = inner.names.clone();
        Disk(Arc::new(Mutex::new(inner)))
    }

    /// Holds up every sync that begins from now on, until the gate is opened.
    pub fn hold_syncs(&self) -> Gate {
        self.lock().gate.get_or_insert_default().clone()
    }

    /// Chance, for what failed syncs and stops leave.
    pub fn seed(&self, random: Random) {
        self.lock().random = random;
    }

    /// Stops everything so many steps from now.
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

    /// The next process finds what programs see. Nothing fails any more: what was full is free.
    pub fn next_process(&self) {
        let mut inner = self.lock();
        (inner.is_over, inner.stop_at) = (false, None);
        inner.faults.clear();
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.lock().steps
    }

    /// What a power cut left, if it came.
    pub fn remains(&self) -> Option<Remains> {
        self.lock().remains.clone()
    }

    /// What a power cut leaves that comes now.
    pub fn cut(&self, random: Random) -> Remains {
        let mut inner = self.lock();
        inner.random = random;
        inner.cut()
    }

    pub fn inject(&self, call: Call, nth: u64, fault: Fault) {
        let mut inner = self.lock();
        inner.counts.clear();
        inner.faults.push((call, nth, fault));
    }

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
                    self.remains = Some(self.cut());
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

    fn cut(&mut self) -> Remains {
        let mut names = self.durable_names.clone();
        for change in &self.name_changes {
            if self.random.one_in(2) {
                continue;
            }
            match change {
                NameChange::Made(path, id) => drop(names.insert(path.clone(), *id)),
                NameChange::Renamed(from, to, id) => {
                    names.remove(from);
                    names.insert(to.clone(), *id);
                }
                NameChange::Removed(path) => drop(names.remove(path)),
            }
        }
        names.into_iter().map(|(name, id)| (name, self.files[id].after_a_cut(&mut self.random))).collect()
    }
}

impl Content {
    fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if self.now.len() < end {
            self.now.resize(end, 0);
        }
        self.now[offset..end].copy_from_slice(bytes);
        for sector in offset / SECTOR..end.div_ceil(SECTOR) {
            let version = sector_of(&self.now, sector);
            self.since.sectors.entry(sector).or_default().push(version);
        }
        self.since.lengths.push(self.now.len());
    }

    fn set_len(&mut self, len: usize) {
        self.now.resize(len, 0);
        // What is cut off, and grows again later, is zeros.
        if !len.is_multiple_of(SECTOR) {
            let version = sector_of(&self.now, len / SECTOR);
            self.since.sectors.entry(len / SECTOR).or_default().push(version);
        }
        self.since.lengths.push(len);
        self.lost.retain(|page| page * PAGE < len);
    }

    /// The pages of a sync that succeeds, or of one that fails: then chance says of each page whether it is lost.
    fn synced(&mut self, random: Option<&mut Random>) {
        let (snapshot, changes) = self.syncing.take().expect("a sync was begun");
        let old_len = self.durable.len();
        let pages: BTreeSet<usize> = changes.sectors.keys().map(|sector| sector * SECTOR / PAGE).collect();
        let mut whole = self.durable.clone();
        whole.resize(old_len.max(snapshot.len()).next_multiple_of(PAGE), 0);
        let mut source = snapshot.clone();
        source.resize(whole.len(), 0);
        let mut random = random;
        for page in pages.into_iter().filter(|page| page * PAGE < source.len()) {
            if self.lost.contains(&page) {
                continue; // whatever is written to it
            }
            let range = page * PAGE..(page + 1) * PAGE;
            let is_lost = random.as_mut().is_some_and(|random| random.one_in(2));
            match &mut random {
                Some(random) if is_lost => {
                    if page * PAGE >= old_len.next_multiple_of(PAGE) {
                        self.lost.insert(page);
                        continue;
                    }
                    // Some of its sectors came that far.
                    for at in range.step_by(SECTOR) {
                        if random.one_in(2) {
                            whole[at..at + SECTOR].copy_from_slice(&source[at..at + SECTOR]);
                        }
                    }
                }
                _ => whole[range.clone()].copy_from_slice(&source[range]),
            }
        }
        let keeps_length = random.is_some_and(|random| random.one_in(2));
        whole.truncate(if keeps_length { old_len } else { snapshot.len() });
        self.durable = whole;
    }

    /// Each sector is as it was at some time since the last sync, or before it; so is the length.
    fn after_a_cut(&self, random: &mut Random) -> Vec<u8> {
        let changes: Vec<&Changes> =
            self.syncing.iter().map(|(_, changes)| changes).chain(std::iter::once(&self.since)).collect();
        let lengths: Vec<usize> = std::iter::once(self.durable.len())
            .chain(changes.iter().flat_map(|changes| changes.lengths.iter().copied()))
            .collect();
        let len = lengths[random.below(lengths.len() as u64) as usize];
        let mut bytes = self.durable.clone();
        bytes.resize(len.next_multiple_of(SECTOR), 0);
        for (sector, place) in bytes.chunks_mut(SECTOR).enumerate() {
            if self.lost.contains(&(sector * SECTOR / PAGE)) {
                continue;
            }
            let versions: Vec<&[u8; SECTOR]> =
                changes.iter().filter_map(|changes| changes.sectors.get(&sector)).flatten().collect();
            // Most often the newest or none: else nothing whole would ever be left.
            let which = match random.below(4) {
                0 => 0,
                1 | 2 => versions.len(),
                _ => random.below(versions.len() as u64 + 1) as usize,
            };
            if which > 0 {
                place.copy_from_slice(versions[which - 1]);
            }
        }
        bytes.truncate(len);
        bytes
    }
}

fn sector_of(bytes: &[u8], sector: usize) -> [u8; SECTOR] {
    let mut version = [0; SECTOR];
    let bytes = bytes.get(sector * SECTOR..).unwrap_or_default();
    let len = bytes.len().min(SECTOR);
    version[..len].copy_from_slice(&bytes[..len]);
    version
}

struct OpenFile {
    disk: Disk,
    id: usize,
}

impl OpenFile {
    fn with<R>(&self, f: impl FnOnce(&mut Content) -> R) -> R {
        f(&mut self.disk.lock().files[self.id])
    }
}

impl Storage for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.open_to_read(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        let mut inner = self.lock();
        inner.call(Call::Create)?;
        if inner.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        inner.files.push(Content::default());
        let id = inner.files.len() - 1;
        inner.names.insert(path.to_owned(), id);
        inner.name_changes.push(NameChange::Made(path.to_owned(), id));
        Ok(Box::new(OpenFile { disk: self.clone(), id }))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        let inner = self.lock();
        let id = *inner.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(OpenFile { disk: self.clone(), id }))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        std::path::absolute(path)
    }

    fn unique(&self) -> u64 {
        let mut inner = self.lock();
        inner.unique += 1;
        inner.unique
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::Rename)?;
        if inner.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let id = inner.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        inner.names.insert(to.to_owned(), id);
        inner.name_changes.push(NameChange::Renamed(from.to_owned(), to.to_owned(), id));
        Ok(())
    }

    fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::Rename)?;
        let id = inner.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        inner.names.insert(to.to_owned(), id);
        inner.name_changes.push(NameChange::Renamed(from.to_owned(), to.to_owned(), id));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::Remove)?;
        inner.names.remove(path).ok_or(io::ErrorKind::NotFound)?;
        inner.name_changes.push(NameChange::Removed(path.to_owned()));
        Ok(())
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::SyncFolder)?;
        inner.durable_names = inner.names.clone();
        inner.name_changes.clear();
        Ok(())
    }

    fn measure(&self, path: &Path) -> io::Result<Measure> {
        let inner = self.lock();
        let file = &inner.files[*inner.names.get(path).ok_or(io::ErrorKind::NotFound)?];
        Ok(Measure { bytes: file.now.len() as u64, unchanged: inner.clock.saturating_sub(file.changed) })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let inner = self.lock();
        let names = inner.names.keys().filter(|name| name.parent() == Some(folder));
        Ok(names.filter_map(|name| name.file_name().map(OsString::from)).collect())
    }

    fn now(&self) -> Duration {
        self.lock().clock
    }
}

impl ReadAt for OpenFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|content| {
            let bytes = content.now.get(offset as usize..).unwrap_or_default();
            let len = bytes.len().min(buffer.len());
            buffer[..len].copy_from_slice(&bytes[..len]);
            Ok(len)
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|content| Ok(content.now.len() as u64))
    }
}

impl StoredFile for OpenFile {
    fn age(&self) -> io::Result<Duration> {
        Ok(Duration::ZERO)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut inner = self.disk.lock();
        let was_over = inner.is_over;
        let len = match inner.call(Call::Write) {
            Ok(Some(Fault::Short)) => (bytes.len() / 2).max(1),
            Ok(_) => bytes.len(),
            Err(error) => {
                // The process is killed within the write.
                let pages = (bytes.len() / PAGE) as u64;
                if inner.is_over && !was_over && pages > 0 {
                    let end = (offset as usize / PAGE + 1 + inner.random.below(pages) as usize) * PAGE;
                    inner.files[self.id].write(&bytes[..end - offset as usize], offset as usize);
                }
                return Err(error);
            }
        };
        inner.files[self.id].write(&bytes[..len], offset as usize);
        inner.files[self.id].changed = inner.clock;
        Ok(len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut inner = self.disk.lock();
        inner.call(Call::SetLen)?;
        inner.files[self.id].set_len(len as usize);
        Ok(())
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        Ok(self.disk.lock().names.get(path) == Some(&self.id))
    }

    fn sync(&self) -> io::Result<()> {
        let mut inner = self.disk.lock();
        let result = inner.call(Call::Sync);
        if inner.is_over {
            return result.map(drop);
        }
        let content = &mut inner.files[self.id];
        assert!(content.syncing.is_none(), "one sync at a time");
        let changes = std::mem::take(&mut content.since);
        content.syncing = Some((content.now.clone(), changes));
        let gate = inner.gate.clone();
        drop(inner);
        // Others write meanwhile: that is not part of this sync.
        gate.map_or_else(std::thread::yield_now, |gate| gate.pass());
        let mut inner = self.disk.lock();
        // Who is killed within a sync hears nothing of it.
        let stopped = inner.step();
        let mut random = inner.random.clone();
        random.below(2);
        inner.random = random.clone();
        inner.files[self.id].synced(result.is_err().then_some(&mut random));
        stopped?;
        result.map(drop)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.disk.lock().call(Call::Close).map(drop)
    }
}
