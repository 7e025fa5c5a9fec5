//! A disk in memory that forgets at a power cut what was not synced, and whose calls fail when told to.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::appender::storage::{ReadAt, Storage, StoredFile};

/// What a disk writes as a whole or not at all.
const SECTOR: usize = 512;

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
    Close,
}

/// What a call does instead of what it should.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It fails with this number, and so do all of its kind after it if `for_good`.
    Fail { errno: i32, for_good: bool },
    /// It writes a part: of `n` bytes `n / 2`, or one.
    Short,
}

#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    files: Vec<Content>,
    clock: Duration,
    /// Each for the nth call of a kind, from 1.
    faults: Vec<(Call, u64, Fault)>,
    counts: Vec<(Call, u64)>,
    /// The power is cut at this step, counted from 1: each call is one, a sync two. What is left by then is kept.
    cut_at: Option<u64>,
    steps: u64,
    random: Option<Random>,
    remains: Option<BTreeMap<PathBuf, Vec<u8>>>,
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
}

/// What may or may not be on the disk.
#[derive(Clone, Default)]
struct Changes {
    sectors: BTreeMap<usize, Vec<[u8; SECTOR]>>,
    lengths: Vec<usize>,
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// A disk with these files on it.
    pub fn holding(files: &BTreeMap<PathBuf, Vec<u8>>) -> Disk {
        let mut inner = Inner::default();
        for (id, (path, bytes)) in files.iter().enumerate() {
            inner.files.push(Content { now: bytes.clone(), durable: bytes.clone(), ..Content::default() });
            inner.names.insert(path.clone(), id);
        }
        inner.durable_names = inner.names.clone();
        Disk(Arc::new(Mutex::new(inner)))
    }

    /// Cuts the power at a step; what is left is chosen by `random`.
    pub fn cut_at(&self, step: u64, random: Random) {
        let mut inner = self.lock();
        inner.cut_at = Some(inner.steps + step);
        inner.random = Some(random);
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.lock().steps
    }

    /// What the power cut left, if it came.
    pub fn remains(&self) -> Option<BTreeMap<PathBuf, Vec<u8>>> {
        self.lock().remains.clone()
    }

    /// Cuts the power now.
    pub fn cut(&self, random: Random) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut inner = self.lock();
        inner.random = Some(random);
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

    /// The names that would be there after a power cut.
    pub fn durable_names(&self) -> Vec<PathBuf> {
        self.lock().durable_names.keys().cloned().collect()
    }
}

impl Inner {
    fn step(&mut self) {
        self.steps += 1;
        if self.cut_at == Some(self.steps) {
            self.remains = Some(self.cut());
        }
    }

    /// Counts a call, and says what it does instead.
    fn call(&mut self, call: Call) -> io::Result<Option<Fault>> {
        self.step();
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
                    return Err(io::Error::from_raw_os_error(errno));
                }
                Fault::Short if n == nth => return Ok(Some(fault)),
                _ => {}
            }
        }
        Ok(None)
    }

    fn cut(&mut self) -> BTreeMap<PathBuf, Vec<u8>> {
        let random = self.random.as_mut().expect("cuts are seeded");
        let mut names = self.durable_names.clone();
        for (name, id) in &self.names {
            if random.one_in(2) {
                names.insert(name.clone(), *id);
            }
        }
        names.into_iter().map(|(name, id)| (name, self.files[id].after_a_cut(random))).collect()
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
        let id = *self.lock().names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(OpenFile { disk: self.clone(), id }))
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
        Ok(Box::new(OpenFile { disk: self.clone(), id }))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::SyncFolder)?;
        let names: Vec<_> = inner.names.iter().map(|(name, id)| (name.clone(), *id)).collect();
        inner.durable_names.extend(names.into_iter().filter(|(name, _)| name.parent() == Some(folder)));
        Ok(())
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
}

impl StoredFile for OpenFile {
    fn len(&self) -> io::Result<u64> {
        self.with(|content| Ok(content.now.len() as u64))
    }

    fn age(&self) -> io::Result<Duration> {
        Ok(Duration::ZERO)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut inner = self.disk.lock();
        let len = match inner.call(Call::Write)? {
            Some(Fault::Short) => (bytes.len() / 2).max(1),
            _ => bytes.len(),
        };
        inner.files[self.id].write(&bytes[..len], offset as usize);
        Ok(len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut inner = self.disk.lock();
        inner.call(Call::SetLen)?;
        inner.files[self.id].set_len(len as usize);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut inner = self.disk.lock();
        let result = inner.call(Call::Sync);
        let content = &mut inner.files[self.id];
        assert!(content.syncing.is_none(), "one sync at a time");
        let changes = std::mem::take(&mut content.since);
        content.syncing = Some((content.now.clone(), changes));
        drop(inner);
        // Others write meanwhile: that is not part of this sync.
        std::thread::yield_now();
        let mut inner = self.disk.lock();
        inner.step();
        let content = &mut inner.files[self.id];
        let (snapshot, _) = content.syncing.take().expect("it was put there");
        // After a failed one the system counts as written what is not.
        if result.is_ok() {
            content.durable = snapshot;
        }
        result.map(drop)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.disk.lock().call(Call::Close).map(drop)
    }
}
