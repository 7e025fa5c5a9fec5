//! Files of which a sync has failed: nothing that is in them counts as durable any more.
//!
//! After a failed sync the page cache goes on showing the bytes that the disk does not have, and takes them for
//! written: a later sync succeeds without writing them. On ext4 it is worse, even bytes that are appended later share a
//! block with lost ones, and are lost with them although their own sync succeeded. So once a sync of a file has failed,
//! no part of this process syncs it until it is empty: created anew, or cut to nothing. It can be written and read,
//! only never *durable*.
//!
//! The list is this process's. Another process, or this program after a restart, cannot know: nothing on the disk says
//! so. It reads the end of a file anew from the disk before it appends; what the first process wrote after its failed
//! sync, and the system has not written out yet, escapes that, and takes along what is appended to the same block.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::Error;
use crate::error::explained_as;
use crate::sys::{self, Identity};

/// The time of birth tells a file from an earlier one with the same number, where the file system knows it.
pub(crate) type Key = (Identity, Option<SystemTime>);

/// How many there are, so that a process in which no sync has failed looks at one number.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static FILES: Mutex<Option<HashMap<Key, Error>>> = Mutex::new(None);

/// A disk that fails takes more files along than this only if it takes all. Of those beyond nothing is remembered, and
/// then no file is synced that was there before.
const MOST: usize = 10_000;
static OVERFLOWN: AtomicBool = AtomicBool::new(false);

fn files() -> MutexGuard<'static, Option<HashMap<Key, Error>>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which file this is. Where there is no time of birth, the number has to do.
pub(crate) fn key(file: &File) -> io::Result<Key> {
    sys::identity_and_birth(file)
}

/// Whether an error of a sync or a close may mean that bytes or names are lost. What cannot be synced at all has lost none by
/// that, and a folder that could not be opened can be opened later.
fn may_lose(error: &Error) -> bool {
    use io::ErrorKind::{InvalidInput, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    let is_harmless = matches!(
        error.kind(),
        InvalidInput | NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem | Unsupported
    );
    !is_harmless && !sys::is_out_of_handles(error.io_error())
}

/// A sync of this file has failed, or of the folder that has its name.
pub(crate) fn note(file: &File, error: &Error) {
    if let Ok(key) = key(file) {
        note_key(key, error);
    }
}

/// A close of the file at this path has failed.
pub(crate) fn note_at(path: &Path, error: &Error) {
    // What has been moved meanwhile is not found. Waiting for the other end of a pipe is not worth it.
    if fs::metadata(path).is_ok_and(|found| found.is_file())
        && let Ok(file) = File::open(path)
    {
        note(&file, error);
    }
}

/// The same as [`note`] for a file that is closed.
pub(crate) fn note_key(key: Key, error: &Error) {
    if !may_lose(error) {
        return;
    }
    let mut files = files();
    let files = files.get_or_insert_default();
    if files.len() < MOST {
        files.entry(key).or_insert_with(|| error.clone());
    } else if !files.contains_key(&key) {
        OVERFLOWN.store(true, Ordering::Release);
    }
    COUNT.store(files.len(), Ordering::Release);
}

/// The file is empty: what was lost is not in it any more.
pub(crate) fn forget(file: &File) {
    if COUNT.load(Ordering::Acquire) == 0 {
        return;
    }
    let Ok(key) = key(file) else { return };
    let mut files = files();
    if let Some(files) = &mut *files {
        files.remove(&key);
        COUNT.store(files.len(), Ordering::Release);
    }
}

/// Has to come before a sync. `was_empty`: nothing was in the file when it was opened.
///
/// # Errors
/// what had failed, explained.
pub(crate) fn check(file: &File, was_empty: bool) -> io::Result<()> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    let key = key(file)?;
    match files().as_ref().and_then(|files| files.get(&key)) {
        Some(error) => Err(explained_as(error.kind(), error.clone().into(), MEANING)),
        None if !was_empty && OVERFLOWN.load(Ordering::Acquire) => Err(io::Error::other(TOO_MANY)),
        None => Ok(()),
    }
}

const TOO_MANY: &str =
    "syncs of more files have failed than can be remembered, perhaps one of this file; create it anew";
const MEANING: &str = "a sync or a close of this file has failed before, so reads show what the disk may not have, and no later sync can be \
                       trusted; create it anew, or write another file";
