//! Trees are removed.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use rustix::io::retry_on_intr as again;

use super::Dir;
use crate::error::explained_as;
use crate::sys::EntryKind;

impl Dir {
    /// Removes the folder `name` with all that is in it, and follows no link. What is mounted in it is neither looked
    /// into nor removed: its files belong to another place.
    ///
    /// # Errors
    /// The first that came up, with the path from this folder on. The rest is removed all the same.
    pub(crate) fn remove_tree(&self, name: &OsStr) -> Result<(), (PathBuf, io::Error)> {
        let failed = |cause| (PathBuf::from(name), cause);
        if matches!(name.as_encoded_bytes(), b"" | b"." | b"..") {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        }
        let folder = match self.child(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(failed)?,
        };
        if folder.is_root_of_another_mount(self) {
            let cause = io::ErrorKind::ResourceBusy.into();
            const MEANING: &str = "something is mounted there, and stays as it is";
            return Err(failed(explained_as(io::ErrorKind::ResourceBusy, cause, MEANING)));
        }
        let mut first = None;
        for entry in folder.names(usize::MAX).map_err(failed)? {
            let removed = match folder.remove(&entry) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                // What unlink says of a folder: EISDIR on Linux, EPERM elsewhere.
                Err(_) if folder.stat(&entry).is_ok_and(|found| found.kind == EntryKind::Folder) => {
                    folder.remove_tree(&entry)
                }
                Err(error) => Err((PathBuf::from(&entry), error)),
                Ok(()) => Ok(()),
            };
            if let Err((path, error)) = removed {
                first.get_or_insert((Path::new(name).join(path), error));
            }
        }
        match again(|| rustix::fs::unlinkat(self, name, AtFlags::REMOVEDIR)) {
            _ if first.is_some() => Err(first.expect("just seen")),
            Err(rustix::io::Errno::NOENT) => Ok(()),
            removed => removed.map_err(|errno| failed(errno.into())),
        }
    }
}
