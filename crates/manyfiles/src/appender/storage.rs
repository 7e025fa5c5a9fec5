//! The few calls that reach the file system, behind two traits: tests put a file system there that fails, forgets and
//! counts.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::sys;

/// Where files are.
pub(super) trait Storage: Send + Sync {
    /// Opens a file that is there, for this process alone to write.
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>>;
    /// Makes a file that is not there, for this process alone to write.
    fn create(&self, path: &Path) -> io::Result<Box<dyn StoredFile>>;
    /// Opens a file that is there, to read it while an appender writes to it.
    fn open_to_read(&self, path: &Path) -> io::Result<Box<dyn StoredFile>>;
    /// The path behind symbolic links, so that a log has one name however a program calls it.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;
    /// A number that no other caller gets.
    fn unique(&self) -> u64;
    /// Gives a file another name that nothing has; `AlreadyExists` if something has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file another name, instead of the file that has it.
    fn replace(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// How long a file is, and how long ago it was changed, by a clock that people set.
    fn measure(&self, path: &Path) -> io::Result<Measure>;
    /// The names in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;
    /// A clock that never goes back.
    fn now(&self) -> Duration;
}

/// What retention has to know of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub(super) bytes: u64,
    pub(super) unchanged: Duration,
}

/// Something that can be read at any place.
pub(super) trait ReadAt: Send + Sync {
    /// Reads up to as many bytes as `buffer` holds; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    fn len(&self) -> io::Result<u64>;
    /// Whether this path leads to it.
    fn is_at(&self, path: &Path) -> io::Result<bool>;

    /// Fills `buffer` from there, as far as the file goes.
    fn read_full(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut has = 0;
        while has < buffer.len() {
            match self.read_at(&mut buffer[has..], offset + has as u64)? {
                0 => break,
                n => has += n,
            }
        }
        Ok(has)
    }
}

/// A file to write.
pub(super) trait StoredFile: ReadAt {
    /// How long ago it was made, by a clock that people set.
    fn age(&self) -> io::Result<Duration>;
    /// One write; it may fall short.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// A number that no other file of its file system has, as long as it is there. Never 0.
    fn serial(&self) -> io::Result<u64>;
    /// Makes durable what is in it.
    fn sync(&self) -> io::Result<()>;
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// The real one.
pub(super) struct FileSystem(Instant);

impl FileSystem {
    pub(super) fn new() -> FileSystem {
        FileSystem(Instant::now())
    }
}

impl Storage for FileSystem {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        Ok(Box::new(OpenFile::locked(sys::open_for_one_writer(path, false)?)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        Ok(Box::new(OpenFile::locked(sys::open_for_one_writer(path, true)?)?))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        // Asked before: opening a pipe waits for a writer.
        if !std::fs::metadata(path)?.is_file() {
            return Err(not_regular());
        }
        Ok(Box::new(OpenFile::unlocked(File::open(path)?)?))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        /// As many as systems follow.
        const MOST_LINKS: usize = 40;
        let mut path = std::path::absolute(path)?;
        for _ in 0..MOST_LINKS {
            let folder = path.parent().unwrap_or(&path);
            // A path of Windows without links stays as people write it.
            let folder = if cfg!(windows) { folder.to_owned() } else { folder.canonicalize()? };
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            path = folder.join(name);
            match std::fs::read_link(&path) {
                Ok(target) => path = std::path::absolute(folder.join(target))?,
                Err(_) => return Ok(path),
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links lead there"))
    }

    fn unique(&self) -> u64 {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // Keyed at random; a process that was forked has the same keys, and another number.
        RandomState::new().hash_one((std::process::id(), time, MADE.fetch_add(1, Ordering::Relaxed)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        sys::rename_new(from, to)
    }

    fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        sys::sync_folder(folder)
    }

    fn measure(&self, path: &Path) -> io::Result<Measure> {
        let metadata = std::fs::metadata(path)?;
        Ok(Measure { bytes: metadata.len(), unchanged: since(metadata.modified()?, SystemTime::now()) })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A file of this process, and the lock that goes with it.
struct OpenFile {
    /// `None` once it is closed.
    file: Option<File>,
    /// The process that took the lock.
    locked_by: Option<u32>,
}

impl OpenFile {
    fn locked(file: File) -> io::Result<OpenFile> {
        let mut file = OpenFile::unlocked(file)?;
        file.locked_by = Some(std::process::id());
        Ok(file)
    }

    /// A pipe or a device has no places to write at, and keeps nothing.
    fn unlocked(file: File) -> io::Result<OpenFile> {
        if !file.metadata()?.is_file() {
            return Err(not_regular());
        }
        Ok(OpenFile { file: Some(file), locked_by: None })
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("it is only taken when this is dropped")
    }

    /// Gives the lock back at once. A program that this process is starting just now has a copy of the handle until it
    /// runs, and with it the lock: the next appender would be refused for that long. A forked child's lock is its
    /// parent's, and stays.
    fn unlock(&self) {
        if self.locked_by == Some(std::process::id())
            && let Some(file) = &self.file
        {
            sys::unlock(file);
        }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.unlock();
    }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")
}

impl ReadAt for OpenFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut file = self.file();
        file.seek(SeekFrom::Start(offset))?;
        loop {
            match file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => return other,
            }
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file().metadata()?.len())
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        // On Unix the path alone tells which file it leads to: the file need not be opened.
        #[cfg(unix)]
        let opened = std::fs::metadata(path);
        #[cfg(not(unix))]
        let opened = File::open(path);
        let there = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let own = self.file().metadata()?;
            Ok((own.dev(), own.ino()) == (there.dev(), there.ino()))
        }
        #[cfg(not(unix))]
        {
            let (own, there) = (sys::identity_of(self.file())?, sys::identity_of(&there)?);
            // Wine tells no volume of an open file that was renamed.
            Ok(own.file == there.file && (own.volume == there.volume || own.volume == 0))
        }
    }
}

/// A file from the future was made before the clock was set back: it counts as new.
fn since(made: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(made).unwrap_or_default()
}

/// Some systems refuse a write of 2 GiB or more where others write less than asked.
const MOST_AT_ONCE: usize = 1 << 30;

impl StoredFile for OpenFile {
    fn age(&self) -> io::Result<Duration> {
        let metadata = self.file().metadata()?;
        // Where the file system keeps no birth time, the last change is the best that is known.
        let made = metadata.created().or_else(|_| metadata.modified())?;
        Ok(since(made, SystemTime::now()))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        sys::write_at(self.file(), &bytes[..bytes.len().min(MOST_AT_ONCE)], offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file().set_len(len)
    }

    fn serial(&self) -> io::Result<u64> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Ok(self.file().metadata()?.ino())
        }
        #[cfg(not(unix))]
        {
            Ok((sys::identity_of(self.file())?.file as u64).max(1))
        }
    }

    fn sync(&self) -> io::Result<()> {
        sys::sync_data(self.file())
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.unlock();
        self.file.take().map_or(Ok(()), |file| sys::close(file.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_went_back_makes_no_file_old() {
        let (now, hour) = (SystemTime::now(), Duration::from_secs(3_600));
        assert_eq!(since(now - hour, now), hour);
        assert_eq!(since(now + hour, now), Duration::ZERO);
    }
}
