//! The calls of a program to the model.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::content::{Content, PAGE};
use super::{Call, Disk, Fault, NameChange};
use crate::appender::storage::{Measure, ReadAt, Storage, StoredFile};

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
        let serial = inner.serial_for(path);
        inner.files.push(Content { serial, ..Content::default() });
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
        let mut inner = self.disk.lock();
        let bytes = inner.files[self.id].now.get(offset as usize..).unwrap_or_default();
        let len = bytes.len().min(buffer.len());
        buffer[..len].copy_from_slice(&bytes[..len]);
        inner.read += len as u64;
        Ok(len)
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

    fn serial(&self) -> io::Result<u64> {
        Ok(self.disk.lock().files[self.id].serial)
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
