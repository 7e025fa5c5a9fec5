//! A file system that keeps what is asked of it in these tests, and fails when told to.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loom::sync::Mutex;

use crate::appender::storage::{Measure, ReadAt, Storage, StoredFile};
use crate::appender::{Appender, Options};

/// Files of which only the bytes are known, those of all files one behind the other.
#[derive(Clone)]
pub(super) struct Scene(pub(super) Arc<Mutex<Inner>>);

#[derive(Default)]
pub(super) struct Inner {
    pub(super) written: Vec<u8>,
    durable: usize,
    /// Bytes of the files that were left.
    base: usize,
    pub(super) syncs: usize,
    pub(super) failing_sync: Option<usize>,
    pub(super) failing_write: bool,
    syncing: bool,
    /// A sync has failed.
    lost: bool,
}

impl Scene {
    pub(super) fn new() -> Scene {
        Scene(Arc::new(Mutex::new(Inner::default())))
    }

    pub(super) fn open(&self, options: Options) -> Arc<Appender> {
        let appender = Appender::new(Path::new("/scene"), options, Arc::new(self.clone())).unwrap();
        // Those of opening.
        self.0.lock().unwrap().syncs = 0;
        Arc::new(appender)
    }

    pub(super) fn is_durable(&self, record: u8) -> bool {
        let inner = self.0.lock().unwrap();
        inner.written[..inner.durable].contains(&record)
    }

    pub(super) fn is_written(&self, record: u8) -> bool {
        self.0.lock().unwrap().written.contains(&record)
    }

    pub(super) fn syncs(&self) -> usize {
        self.0.lock().unwrap().syncs
    }
}

impl Storage for Scene {
    fn open(&self, _: &Path) -> io::Result<Box<dyn StoredFile>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn open_to_read(&self, _: &Path) -> io::Result<Box<dyn StoredFile>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn unique(&self) -> u64 {
        0
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn replace(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        if path.extension().is_some_and(|end| end == "manyfiles-open") {
            return Ok(Box::new(Note));
        }
        let mut inner = self.0.lock().unwrap();
        inner.base = inner.written.len();
        Ok(Box::new(self.clone()))
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn measure(&self, _: &Path) -> io::Result<Measure> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<OsString>> {
        Ok(Vec::new())
    }

    /// Stands still: no wait ends by the clock.
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl ReadAt for Scene {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn len(&self) -> io::Result<u64> {
        let inner = self.0.lock().unwrap();
        Ok((inner.written.len() - inner.base) as u64)
    }

    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }
}

impl StoredFile for Scene {
    fn serial(&self) -> io::Result<u64> {
        Ok(1)
    }

    fn age(&self) -> io::Result<Duration> {
        Ok(Duration::ZERO)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap();
        if inner.failing_write {
            return Err(io::Error::from_raw_os_error(28));
        }
        assert_eq!(inner.written.len() - inner.base, offset as usize, "a write that is not at the end");
        inner.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        assert!(!inner.syncing, "two syncs at a time");
        inner.syncing = true;
        inner.syncs += 1;
        let (n, covered) = (inner.syncs, inner.written.len());
        drop(inner);
        // Here others run.
        let mut inner = self.0.lock().unwrap();
        inner.syncing = false;
        if inner.failing_sync == Some(n) {
            inner.lost = true;
            return Err(io::Error::from_raw_os_error(5));
        }
        // The system forgets what it could not write out, and the next sync knows nothing of it.
        if !inner.lost {
            inner.durable = covered;
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// The note beside a file, of which nothing is known.
struct Note;

impl ReadAt for Note {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }
}

impl StoredFile for Note {
    fn serial(&self) -> io::Result<u64> {
        Ok(1)
    }

    fn age(&self) -> io::Result<Duration> {
        Ok(Duration::ZERO)
    }

    fn write_at(&self, bytes: &[u8], _: u64) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}
