//! [`Vfs`].

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::backend::{Choices, Metadata};
use super::file_key::FileKey;
use super::table::{Change, Table, is_out_of_handles};
use super::{CreateOptions, Options, VfsWriter, uri};
use crate::origin::leave;
use crate::{Error, Errors, Operation, Result, sys};

mod folders;
mod names;
mod reading;

/// Files named by URI, with the handles of those that are written kept open. Use it from any number of threads.
///
/// # Names
/// A plain path, of any bytes the system allows; a relative one is taken from the folder that was current when the
/// `Vfs` was made. `file:///folder/name` with percent-encoding (`file:///C:/…` on Windows): no other host, no query, no
/// fragment. `mem://name` for files that are gone with the `Vfs`. Schemes of other [backends](Options::backend).
/// Anything else is an error that says so, of the kind [`InvalidInput`](io::ErrorKind::InvalidInput).
///
/// # What `write` means
/// [`write`](Vfs::write) adds bytes at the end of the file, wherever that is at that moment, as TileDB's `VFS::write`
/// does, and creates the file if it isn't there (not the folder). The first write of a file goes straight to it. If
/// more follow they are *buffered*, in up to 256 KiB, and reach the file when the buffer is full, before a
/// [`read`](Vfs::read), [`size`](Vfs::size), [`metadata`](Vfs::metadata) or [`list`](Vfs::list) of this `Vfs`, with
/// [`flush`](Vfs::flush), [`sync`](Vfs::sync) or [`wait`](Vfs::wait), and when another file needs the handle. A write
/// that comes 10 ms or more after the oldest buffered one hands over what was there before it. So other programs see a
/// file that is written all the time 10 ms late, and the last part of one that is left alone when it is flushed. A
/// crash of the process loses what is buffered, a crash of the machine also what was not synced. A forked child has a
/// copy that can do nothing: its calls fail, and its drop writes nothing. A program that goes on in the child makes a
/// `Vfs` there.
///
/// # Files that change under a kept handle
/// What this `Vfs` removes, renames or creates anew is known at once: the next write goes to the file that has the path
/// then. What others do is noticed by comparing the file's number with that of the path, each time bytes are handed
/// over, and before the first that are buffered. Whatever is in the buffer then (all of it written by one name, within
/// some 10 ms of the comparison before) goes to the file that has the path now, which is created if there is none. So
/// nothing that was written after the change is lost in a file that no name leads to. If the folder was moved, they go
/// along with the file; if it is gone with the file, that fails, and is reported. What [`append`](Vfs::append) or an unbuffered write has handed over stays in the file that it went
/// to.
///
/// # Failures
/// stay with their file: after a failed write (or close, or sync) every call that would write, read or rename the file
/// returns the same error, on any thread, until [`flush`](Vfs::flush) has returned it or the file is removed, by the
/// last of its names, or created anew. When others have put another file there, and a call has returned the error, it
/// counts for that file no more: only [`wait`](Vfs::wait) and [`finish`](Vfs::finish) tell it again. Of the bytes since
/// the last flush some may be in the file, and always from the first on, without a gap. Failures of handles that were
/// closed to make room are told the same way. Dropping the `Vfs` closes everything, and prints what no call has
/// returned to standard error; call [`finish`](Vfs::finish) instead.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let folder = temp.path().to_str().unwrap();
/// use manyfiles::vfs::Vfs;
///
/// let vfs = Vfs::new();
/// let array = format!("{folder}/array.tdb");
/// for tile in 0..1000u32 {
///     vfs.write(&array, &[tile as u8; 4096])?; // one handle, and a write(2) for every 64 tiles
/// }
/// assert_eq!(vfs.size(&array)?, 4096 * 1000);
/// vfs.flush(&array)?; // all of it is written and closed, or this says why not
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Vfs {
    table: Arc<Table>,
    /// Where relative paths begin. `None`: the current folder was gone.
    base: Option<PathBuf>,
}

/// A file or folder in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its URI, in the form in which the folder was named.
    pub uri: OsString,
    /// What it is.
    pub metadata: Metadata,
}

/// A quarter of what the process may have leaves room for its other files; no more, because a kept handle that is
/// rarely used gains little.
fn default_handles() -> usize {
    (sys::handle_limit() / 4).min(512)
}

impl Options {
    /// The `Vfs`.
    pub fn build(self) -> Vfs {
        Vfs::of(Table::new(self.backends, self.handles.unwrap_or_else(default_handles), self.buffer_memory))
    }
}

impl Vfs {
    /// A `Vfs` with the default [`Options`].
    pub fn new() -> Vfs {
        Vfs::options().build()
    }

    /// What can be chosen.
    pub fn options() -> Options {
        Options::default()
    }

    pub(super) fn of(table: Table) -> Vfs {
        Vfs { table: Arc::new(table), base: std::env::current_dir().ok() } // where there is none, only relative paths need it
    }

    /// Adds all of `bytes` at the end of a file; creates it if need be. See [above](Vfs) for when they are in the file.
    ///
    /// # Errors
    /// of this write, or of an earlier one for this file that had been buffered.
    pub fn write(&self, uri: impl AsRef<OsStr>, bytes: &[u8]) -> Result<()> {
        let uri = uri.as_ref();
        self.check_call(Operation::Write, uri)?;
        if self.table.push(uri, bytes) {
            return Ok(());
        }
        self.table.write(&self.key(Operation::Write, uri)?, uri, bytes)
    }

    /// As [`write`](Vfs::write), but `bytes` are with the operating system when this returns, and on a local file
    /// system in one piece: for records that several processes append to one file, or that others wait for.
    pub fn append(&self, uri: impl AsRef<OsStr>, bytes: &[u8]) -> Result<()> {
        let uri = uri.as_ref();
        self.table.append(&self.key(Operation::Write, uri)?, uri, bytes)
    }

    /// Creates a file, or cuts it to nothing if it is there, and returns what writes it: one handle with a buffer of
    /// its own, which is its owner's. Bytes go to the end of the file, so that two writers of one file mix but don't
    /// overwrite each other.
    ///
    /// [`create_writer_with`](Vfs::create_writer_with) takes options.
    pub fn create_writer(&self, uri: impl AsRef<OsStr>) -> Result<VfsWriter> {
        self.create_writer_with(uri, &CreateOptions::new())
    }

    /// As [`create_writer`](Vfs::create_writer), with [options](CreateOptions).
    ///
    /// # Errors
    /// `InvalidInput`, naming the option, for one that the backend does not know, and for a value that means nothing.
    /// Then the file is as it was.
    pub fn create_writer_with(&self, uri: impl AsRef<OsStr>, options: &CreateOptions) -> Result<VfsWriter> {
        let key = self.key(Operation::Create, uri.as_ref())?;
        let backend = self.table.backend(&key);
        let failed = |cause| self.error(&key, Operation::Create, cause);
        let pairs = options.pairs();
        let choices = Choices::checked(&pairs, backend).map_err(failed)?;
        let created = self.table.exclusively(&key, || {
            let wrong = self.table.wrong_with(&key, Change::Emptied);
            let created = self.table.with_room(|| backend.create(&key.path, &choices));
            if created.is_ok() {
                self.table.forget_failures(&key, &wrong);
            }
            created
        });
        VfsWriter::new(Arc::clone(&self.table), key.clone(), created.map_err(failed)?, options.policy())
    }

    /// Gives a file this content, whole and durable: whenever anybody looks, this program or another, also after a
    /// crash of the machine, it has the old content or the new one. Creates the file if need be. A link stays, and what
    /// it leads to is replaced, unless that is nothing; other hard links keep the old content. The new file has the
    /// permissions, the owner and the group of the old one; what this process may not set makes the rights fewer, and
    /// never more (on Windows: the rights that the folder hands down).
    ///
    /// Costs two syncs, a few milliseconds on a disk: for many files at once use a
    /// [`SyncBatch`](crate::sync::SyncBatch).
    ///
    /// # Errors
    /// The old content is there, but for a failed sync of the folder (an error of the operation
    /// [`Sync`](Operation::Sync) with the folder's path): then the new content is there, and a crash of the machine may
    /// bring the old back. `Unsupported` by a backend that cannot do this. `InvalidInput` for a pipe, a device and the
    /// like, which stay as they are.
    pub fn put(&self, uri: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) -> Result<()> {
        let key = self.key(Operation::Write, uri.as_ref())?;
        let put = self.table.exclusively(&key, || {
            let (before, wrong) = (self.table.identify(&key), self.table.wrong_with(&key, Change::Replaced));
            let put = self.table.with_room(|| self.table.backend(&key).put(&key.path, bytes.as_ref()));
            // With an error, too, there may be a new file, which has no part in what was wrong with the old one.
            let is_new = || self.table.identify(&key).is_some_and(|now| before.is_some_and(|before| now != before));
            if put.is_ok() || is_new() {
                self.table.forget_failures(&key, &wrong);
            }
            put
        });
        put.map_err(|cause| self.error(&key, Operation::Write, cause))
    }

    /// Makes an empty file, if there is nothing. One that is there is left as it is.
    pub fn touch(&self, uri: impl AsRef<OsStr>) -> Result<()> {
        let uri = uri.as_ref();
        // What cannot be added to, as an object in a store, is there already.
        if self.exists(uri)? { Ok(()) } else { self.append(uri, b"") }
    }

    /// Makes durable what was written to a file before this call, and its name: a crash of the machine does not take
    /// it, as far as [`sync_data`](crate::sync::sync_data) can promise that. The handle stays. For a folder, the names
    /// in it.
    ///
    /// If others have moved, removed or replaced the file since it was written by this name, what was written is made
    /// durable in the file that it is in, and the file that has the name now is synced as well, with the name.
    ///
    /// # Errors
    /// of the kind [`NotFound`](io::ErrorKind::NotFound) where the name leads to nothing; those of the system. A failed
    /// sync of a file that others have moved away is returned once by this name.
    ///
    /// If the kept handle has been closed in between to make room, the file is opened anew; then a write-back that had
    /// failed by that time, and that another call has returned, is not told again.
    pub fn sync(&self, uri: impl AsRef<OsStr>) -> Result<()> {
        let key = self.key(Operation::Sync, uri.as_ref())?;
        if self.table.sync(&key)? {
            return Ok(());
        }
        let synced = self.table.with_room(|| self.table.backend(&key).sync(&key.path));
        synced.map_err(|cause| {
            // Where nothing was tried, because the file cannot be found or opened, nothing is lost.
            let untried = [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported].contains(&cause.kind());
            let tried = !untried && !is_out_of_handles(&cause) && self.look_up(&key).is_ok();
            let error = self.error(&key, Operation::Sync, cause);
            if tried {
                self.table.keep(&key, error.clone(), true);
            }
            error
        })
    }

    /// Hands what is buffered for a file to the operating system and closes the handle that is kept for it. When this
    /// returns `Ok` every byte written before is with the operating system, and no error is untold. After an error the
    /// file may be written anew, from its end on; so this is how a failure is taken note of.
    ///
    /// A file that has no handle here is fine.
    pub fn flush(&self, uri: impl AsRef<OsStr>) -> Result<()> {
        self.table.close(&self.key(Operation::Write, uri.as_ref())?)
    }

    /// [`flush`](Vfs::flush) for every file that was written before this call. The `Vfs` can be used on.
    ///
    /// # Errors
    /// of every file that is not complete. They count as told: neither a later call nor the drop says them again.
    pub fn wait(&self) -> Result<(), Errors> {
        if let Err(cause) = self.table.origin.check() {
            return Errors::check(vec![Error::without_path(Operation::Write, cause)]);
        }
        Errors::check(self.table.close_all())
    }

    /// Ends the `Vfs`: [`wait`](Vfs::wait), and nothing can be written by it after that. Writers of
    /// [`create_writer`](Vfs::create_writer) that are left stay usable.
    ///
    /// # Errors
    /// as [`wait`](Vfs::wait).
    pub fn finish(self) -> Result<(), Errors> {
        self.wait()
    }

    /// Has to come before a call takes a lock: a thread of the parent may have held it at the fork.
    fn check_call(&self, operation: Operation, uri: &OsStr) -> Result<()> {
        self.table.origin.check_call().map_err(|cause| Error::new(operation, PathBuf::from(uri), cause))
    }

    fn key(&self, operation: Operation, uri: &OsStr) -> Result<FileKey> {
        self.check_call(operation, uri)?;
        uri::resolve(uri, self.table.backends(), self.base.as_deref())
            .map_err(|cause| Error::new(operation, PathBuf::from(uri), cause))
    }

    /// The place, once nothing is buffered for it.
    fn written_out(&self, operation: Operation, uri: &OsStr) -> Result<FileKey> {
        let key = self.key(operation, uri)?;
        self.table.write_out(&key)?;
        Ok(key)
    }

    fn is_link(&self, operation: Operation, uri: &OsStr) -> Result<bool> {
        let key = self.key(operation, uri)?;
        Ok(self.table.backend(&key).is_link(&key.path))
    }

    fn look_up(&self, key: &FileKey) -> Result<Metadata> {
        let found = self.table.backend(key).metadata(&key.path);
        found.map_err(|cause| self.error(key, Operation::Metadata, cause))
    }

    fn error(&self, key: &FileKey, operation: Operation, cause: io::Error) -> Error {
        self.table.error(key, operation, cause)
    }
}

impl Default for Vfs {
    fn default() -> Vfs {
        Vfs::new()
    }
}

impl Drop for Vfs {
    /// Closes everything and prints failures that no call has returned to standard error. Writers that are left print
    /// theirs when the last of them goes.
    fn drop(&mut self) {
        // In a forked child it is a copy; what is buffered is the other process's.
        if self.table.origin.is_a_parent() {
            return leave(&self.table);
        }
        crate::error::print_last_resort(&self.table.close_all_untold());
    }
}

impl fmt::Debug for Vfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes: Vec<_> = self.table.backends().iter().map(|(scheme, _)| scheme).collect();
        f.debug_struct("Vfs").field("schemes", &schemes).finish_non_exhaustive()
    }
}
