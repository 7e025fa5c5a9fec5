//! The model of a disk, as the appender's storage.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyfiles_testkit::model::FileId;
pub use manyfiles_testkit::model::{Call, Disk, Fault, Random, Remains, Stop};

use crate::appender::storage::{Measure, ReadAt, Storage, StoredFile};

/// The log of a test.
pub fn base() -> PathBuf {
    std::path::absolute("/disk/records").unwrap()
}

struct OpenFile {
    disk: Disk,
    id: FileId,
}

impl OpenFile {
    fn boxed(disk: &Disk, id: FileId) -> Box<dyn StoredFile> {
        Box::new(OpenFile { disk: disk.clone(), id })
    }
}

impl Storage for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.open_to_read(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        Ok(OpenFile::boxed(self, self.make(path)?))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        Ok(OpenFile::boxed(self, self.find(path).ok_or(io::ErrorKind::NotFound)?))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        std::path::absolute(path)
    }

    fn unique(&self) -> u64 {
        Disk::unique(self)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.move_name(from, to, false)
    }

    fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.move_name(from, to, true)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.remove_name(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.sync_names(folder)
    }

    fn measure(&self, path: &Path) -> io::Result<Measure> {
        let (bytes, unchanged) = Disk::measure(self, self.find(path).ok_or(io::ErrorKind::NotFound)?);
        Ok(Measure { bytes, unchanged })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let names = self.names();
        let names = names.iter().filter(|name| name.parent() == Some(folder));
        Ok(names.filter_map(|name| name.file_name().map(OsString::from)).collect())
    }

    fn now(&self) -> Duration {
        Disk::now(self)
    }
}

impl ReadAt for OpenFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(self.disk.read_at(self.id, buffer, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.disk.read(self.id, |content| Ok(content.len() as u64))
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        Ok(self.disk.find(path) == Some(self.id))
    }
}

impl StoredFile for OpenFile {
    fn age(&self) -> io::Result<Duration> {
        Ok(Duration::ZERO)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.disk.write(self.id, bytes, offset as usize)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.set_len(self.id, len as usize)
    }

    fn serial(&self) -> io::Result<u64> {
        Ok(self.disk.serial(self.id))
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync(self.id)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.disk.close(self.id)
    }
}
