//! The name of an open file, made durable.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::doubt;
use crate::sys::{self, Dir};
use crate::{Error, Operation, Result};

/// How many times a file is looked for: another program may move it between the question where it is and the look.
const TRIES: usize = 16;

/// Makes the name of an open file durable: syncs the folder that has the name now.
///
/// The file itself is asked where it is, because the path that opened it says less: it may be relative and the current
/// folder another one since, it may end in a symbolic link, and the file or a folder above may have been moved.
/// `opened_as`, an absolute path, is the second guess, for systems that do not answer. In both cases the name is looked
/// up in the opened folder: only a folder in which it is this file is synced. A file that was removed has no name to
/// make durable.
///
/// After a failed sync of the folder the file counts as one whose sync has failed: see [`doubt`].
///
/// # Errors
/// those of the system with the folder's path; `NotFound` with the file's if no folder could be found in which it is.
pub(crate) fn sync_name(file: &File, opened_as: &Path) -> Result<()> {
    let failed = |cause| Error::new(Operation::Sync, opened_as, cause);
    let id = sys::identity_of(file).map_err(failed)?;
    for _ in 0..TRIES {
        let guesses = [sys::path_of(file), fs::canonicalize(opened_as).ok()]; // nothing at that path: the other guess, or no name
        for path in guesses.into_iter().flatten() {
            if let Some((folder, name)) = split(&path)
                && let Some(folder) = folder_of(folder, name, id)?
            {
                return folder.0.sync().map_err(|cause| {
                    let error = Error::new(Operation::Sync, folder.1, cause);
                    doubt::note(file, &error);
                    error
                });
            }
        }
        if sys::names_of(file).map_err(failed)? == 0 {
            return Ok(());
        }
    }
    let message =
        "its bytes are synced; its name may not be durable, for the file has been moved to where it is not found";
    Err(failed(io::Error::new(io::ErrorKind::NotFound, message)))
}

fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    Some((path.parent()?, path.file_name()?)).filter(|_| path.is_absolute())
}

/// The folder, if the name in it is the file with this identity.
fn folder_of(folder: &Path, name: &OsStr, id: sys::Identity) -> Result<Option<(Dir, PathBuf)>> {
    let opened = match Dir::open_root(folder) {
        Ok(opened) => opened,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(cause) => return Err(Error::new(Operation::Sync, folder, cause)),
    };
    match opened.stat(name) {
        Ok(found) if found.identity == id => Ok(Some((opened, folder.to_path_buf()))),
        Ok(_) => Ok(None),
        Err(error) if is_absent(&error) => Ok(None),
        Err(cause) => Err(Error::new(Operation::Sync, folder, cause)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
