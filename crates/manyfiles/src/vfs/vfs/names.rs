//! Files under other names: copied, renamed, removed.

use std::ffi::OsStr;
use std::io;

use super::Vfs;
use crate::vfs::backend::{Choices, copy_by_pieces};
use crate::vfs::table::Change;
use crate::{Operation, Result};

impl Vfs {
    /// Copies a file's content, what is buffered included. What was at `to` is replaced, by the new content or, if the
    /// copying fails, by a part of it. Within one local file system by the system's own means, permissions included.
    /// Says how many bytes that were.
    ///
    /// # Errors
    /// `InvalidInput` if both names lead to the same file.
    pub fn copy(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> Result<u64> {
        let from = self.written_out(Operation::Read, from.as_ref())?;
        let to = self.key(Operation::Write, to.as_ref())?;
        let (source, target) = (self.table.backend(&from), self.table.backend(&to));
        if self.look_up(&from)?.is_folder {
            return Err(self.error(&from, Operation::Read, io::ErrorKind::IsADirectory.into()));
        }
        if from == to {
            let cause = io::Error::new(io::ErrorKind::InvalidInput, "a file cannot be copied to itself");
            return Err(self.error(&to, Operation::Write, cause));
        }
        let copy = || {
            if from.backend == to.backend {
                return source.copy(&from.path, &to.path);
            }
            let read = |offset, buffer: &mut [u8]| {
                let read = source.read_at(&from.path, offset, buffer);
                read.map_err(|cause| self.error(&from, Operation::Read, cause).into())
            };
            copy_by_pieces(read, || target.create(&to.path, &Choices::default()))
        };
        let copied = self.table.exclusively(&to, || {
            let wrong = self.table.wrong_with(&to, Change::Emptied);
            let copied = self.table.with_room(copy);
            if copied.is_ok() {
                self.table.forget_failures(&to, &wrong);
            }
            copied
        });
        copied.map_err(|cause| self.error(&to, Operation::Write, cause))
    }

    /// Removes a file, or an empty folder: one with a file that is being written is not empty, and the operating system
    /// says so.
    ///
    /// Idle handles that are kept for it, or for files in it, are closed before, so that they make no difference; a
    /// writer that is in use, or that a caller owns, is left alone. What was wrong with a removed file is forgotten,
    /// unless it has other names: then they tell it.
    pub fn remove(&self, uri: impl AsRef<OsStr>) -> Result<()> {
        let key = self.key(Operation::Remove, uri.as_ref())?;
        let removed = self.table.exclusively(&key, || {
            let wrong = self.table.wrong_with(&key, Change::Unnamed);
            let removed = self.table.backend(&key).remove(&key.path);
            if removed.is_ok() {
                self.table.forget_failures(&key, &wrong);
            }
            removed
        });
        removed.map_err(|cause| self.error(&key, Operation::Remove, cause))
    }

    /// Gives a file or folder another name, in the same backend. A file that has it is replaced, in one step where the
    /// system can. Idle kept handles are closed before, as with [`remove`](Vfs::remove).
    ///
    /// # Errors
    /// [`CrossesDevices`](io::ErrorKind::CrossesDevices) between two backends or file systems; the failure of a file
    /// that is not complete, in a folder too.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> Result<()> {
        let from = self.key(Operation::Rename, from.as_ref())?;
        let to = self.key(Operation::Rename, to.as_ref())?;
        if from.backend != to.backend {
            let cause = io::Error::new(io::ErrorKind::CrossesDevices, "the new name is in another kind of place");
            return Err(self.error(&from, Operation::Rename, cause));
        }
        let rename = || {
            self.table.check_within(&from)?;
            // Two names of one file: the system does nothing.
            let is_same = self.table.identify(&from).is_some_and(|file| self.table.identify(&to) == Some(file));
            let wrong = self.table.wrong_with(&to, Change::Unnamed);
            let renamed = self.table.backend(&from).rename(&from.path, &to.path);
            renamed.map_err(|cause| self.error(&from, Operation::Rename, cause))?;
            if from != to && !is_same {
                self.table.forget_failures(&to, &wrong);
            }
            Ok(())
        };
        // Two threads that rename a to b and b to a must not wait for each other.
        let (first, second) = if from <= to { (&from, &to) } else { (&to, &from) };
        if first == second {
            return self.table.exclusively(first, rename);
        }
        self.table.exclusively(first, || self.table.exclusively(second, rename))
    }
}
