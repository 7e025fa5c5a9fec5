//! The calls of a program to the model.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::content::{Content, PAGE};
use super::names::NameChange;
use super::{Call, Disk, Fault, Stop};

/// Tells a file of a disk from the others, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub usize);

/// How many failed write-backs a handle has been told of.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandleAge(u64);

/// Each call fails when everything has stopped, and when it was told to.
impl Disk {
    /// Makes a file that is not there.
    pub fn make(&self, path: &Path) -> io::Result<FileId> {
        let mut inner = self.lock();
        inner.call(Call::Create)?;
        if inner.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let serial = inner.serial_for(path);
        inner.files.push(Content { serial, ..Content::default() });
        let id = inner.files.len() - 1;
        inner.names.insert(path.to_owned(), id);
        inner.name_changes.push(NameChange::Made(path.to_owned(), id));
        Ok(FileId(id))
    }

    /// The file that has a name. Never fails as a call.
    pub fn find(&self, path: &Path) -> Option<FileId> {
        self.lock().names.get(path).copied().map(FileId)
    }

    /// Gives a file one more name.
    pub fn add_name(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::Create)?;
        let id = *inner.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        if inner.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        inner.names.insert(to.to_owned(), id);
        inner.name_changes.push(NameChange::Made(to.to_owned(), id));
        Ok(())
    }

    /// Gives a file another name, `replacing` the file that has it or not.
    pub fn move_name(&self, from: &Path, to: &Path, replacing: bool) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::Rename)?;
        let id = *inner.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        match inner.names.get(to) {
            Some(_) if !replacing => return Err(io::ErrorKind::AlreadyExists.into()),
            // Two names of one file: nothing is done.
            Some(&other) if other == id => return Ok(()),
            _ => {}
        }
        inner.names.remove(from);
        inner.names.insert(to.to_owned(), id);
        inner.name_changes.push(NameChange::Renamed(from.to_owned(), to.to_owned(), id));
        Ok(())
    }

    /// Takes a name away.
    pub fn remove_name(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::Remove)?;
        inner.names.remove(path).ok_or(io::ErrorKind::NotFound)?;
        inner.name_changes.push(NameChange::Removed(path.to_owned()));
        Ok(())
    }

    /// Makes the names in a folder durable.
    pub fn sync_names(&self, folder: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::SyncFolder)?;
        inner.sync_names(folder);
        Ok(())
    }

    /// One write, which may fall short.
    pub fn write(&self, FileId(id): FileId, bytes: &[u8], offset: usize) -> io::Result<usize> {
        let mut inner = self.lock();
        let was_over = inner.is_over;
        let len = match inner.call(Call::Write) {
            Ok(Some(Fault::Short)) => (bytes.len() / 2).max(1),
            Ok(_) => bytes.len(),
            Err(error) => {
                // The process is killed within the write.
                let pages = (bytes.len() / PAGE) as u64;
                if inner.is_over && !was_over && pages > 0 {
                    let end = (offset / PAGE + 1 + inner.random.below(pages) as usize) * PAGE;
                    inner.files[id].write(&bytes[..end - offset], offset);
                }
                return Err(error);
            }
        };
        let len = len.min(bytes.len());
        inner.files[id].write(&bytes[..len], offset);
        inner.files[id].changed = inner.clock;
        Ok(len)
    }

    /// Cuts or lengthens a file.
    pub fn set_len(&self, FileId(id): FileId, len: usize) -> io::Result<()> {
        let mut inner = self.lock();
        inner.call(Call::SetLen)?;
        inner.files[id].set_len(len);
        Ok(())
    }

    /// Makes a file's bytes durable, by a handle that is opened for that.
    pub fn sync(&self, file: FileId) -> io::Result<()> {
        let mut age = self.open_handle(file);
        self.sync_by(file, &mut age)
    }

    /// Makes a file's bytes durable. An error if a write-back has failed since the handle was last told.
    pub fn sync_by(&self, FileId(id): FileId, age: &mut HandleAge) -> io::Result<()> {
        let mut inner = self.lock();
        let result = inner.call(Call::Sync);
        if inner.is_over {
            return result.map(drop);
        }
        let content = &mut inner.files[id];
        assert!(content.syncing.is_none(), "one sync at a time");
        let changes = std::mem::take(&mut content.since);
        content.syncing = Some((content.now.clone(), changes));
        let gate = inner.gate.clone();
        drop(inner);
        // Other threads may write meanwhile. Their bytes are not part of this sync.
        gate.map_or_else(std::thread::yield_now, |gate| gate.pass());
        let mut inner = self.lock();
        // A process that is killed within a sync gets no result of it.
        let stopped = inner.step();
        let mut random = inner.random.clone();
        random.below(2);
        inner.random = random.clone();
        let content = &mut inner.files[id];
        content.synced(result.is_err().then_some(&mut random));
        if result.is_err() {
            (content.failures, content.is_told) = (content.failures + 1, true);
            age.0 = content.failures;
        }
        stopped?;
        result?;
        let content = &mut inner.files[id];
        if content.failures > age.0 {
            (age.0, content.is_told) = (content.failures, true);
            inner.failed += 1;
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    }

    /// The system writes out on its own account, and fails. Says whether there was anything to write.
    pub fn fail_write_back(&self, FileId(id): FileId) -> bool {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let content = &mut inner.files[id];
        if inner.is_over || content.syncing.is_some() || content.since.is_empty() {
            return false;
        }
        let changes = std::mem::take(&mut content.since);
        content.syncing = Some((content.now.clone(), changes));
        content.synced(Some(&mut inner.random));
        (content.failures, content.is_told) = (content.failures + 1, false);
        true
    }

    /// A handle that is opened now.
    pub fn open_handle(&self, FileId(id): FileId) -> HandleAge {
        let content = &self.lock().files[id];
        // A failure that no handle was told of is told to the next handle.
        HandleAge(if content.is_told { content.failures } else { content.failures.saturating_sub(1) })
    }

    /// Drops cached bytes from this offset on, except bytes that wait to be written: the next read takes them from the
    /// disk.
    pub fn forget_cached(&self, FileId(id): FileId, from: usize) {
        self.lock().files[id].forget_cached(from);
    }

    /// Closes a handle.
    pub fn close(&self, _file: FileId) -> io::Result<()> {
        self.lock().call(Call::Close).map(drop)
    }

    /// A file's bytes as programs see them.
    pub fn read<T>(&self, FileId(id): FileId, read: impl FnOnce(&[u8]) -> T) -> T {
        read(&self.lock().files[id].now)
    }

    /// Reads the bytes at `offset`, and counts them. Returns how many bytes there are.
    pub fn read_at(&self, FileId(id): FileId, buffer: &mut [u8], offset: u64) -> usize {
        let mut inner = self.lock();
        let bytes = inner.files[id].now.get(offset as usize..).unwrap_or_default();
        let len = bytes.len().min(buffer.len());
        buffer[..len].copy_from_slice(&bytes[..len]);
        inner.read += len as u64;
        len
    }

    /// How many syncs and write-backs of the file have failed since the machine was started.
    pub fn losses(&self, FileId(id): FileId) -> u64 {
        self.lock().files[id].failures
    }

    /// Whether bytes of it wait to be written out.
    pub fn is_unwritten(&self, FileId(id): FileId) -> bool {
        !self.lock().files[id].since.is_empty()
    }

    /// A number that no other file has as long as this one is there. Never 0.
    pub fn serial(&self, FileId(id): FileId) -> u64 {
        self.lock().files[id].serial
    }

    /// A number that is given away once only.
    pub fn unique(&self) -> u64 {
        let mut inner = self.lock();
        inner.unique += 1;
        inner.unique
    }

    /// How long a file is, and how long ago it was written to.
    pub fn measure(&self, FileId(id): FileId) -> (u64, Duration) {
        let inner = self.lock();
        let file = &inner.files[id];
        (file.now.len() as u64, inner.clock.saturating_sub(file.changed))
    }

    /// The time that has passed.
    pub fn now(&self) -> Duration {
        self.lock().clock
    }

    /// The names that programs see, and the files that have them.
    pub fn all_names(&self) -> Vec<(PathBuf, FileId)> {
        self.lock().names.iter().map(|(name, id)| (name.clone(), FileId(*id))).collect()
    }

    /// How many files were ever made: they have the numbers below this one.
    pub fn files_made(&self) -> usize {
        self.lock().files.len()
    }

    /// How it was stopped, if it was.
    pub fn stopped_by(&self) -> Option<Stop> {
        let inner = self.lock();
        inner.stop_at.filter(|_| inner.is_over).map(|(_, stop)| stop)
    }
}
