//! Which closer a file belongs to: its `wait` returns what the close of the file said.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::close::{self, Access, Handle, Pool};
use crate::sys;

/// The closer that a file belongs to; `None`: the global one.
#[derive(Clone, Default)]
pub(super) struct Owner(Option<Arc<Pool>>);

impl Owner {
    pub(super) fn of(pool: &Arc<Pool>) -> Owner {
        Owner(Some(Arc::clone(pool)))
    }

    /// This owner, or `pool` for a file that no closer of the program's own has opened.
    pub(super) fn or(&self, pool: &Arc<Pool>) -> Owner {
        Owner(Some(Arc::clone(self.0.as_ref().unwrap_or(pool))))
    }

    #[inline]
    fn pool(&self) -> &Arc<Pool> {
        self.0.as_ref().unwrap_or_else(|| &close::global().pool)
    }

    /// Closes now or soon.
    #[inline]
    pub(super) fn close<P: Into<PathBuf>>(&self, file: File, path: Option<P>, access: Option<Access>) {
        self.pool().close(file, path, access);
    }

    /// Closes now.
    pub(super) fn close_here(&self, file: File, path: Option<Box<Path>>, access: Option<Access>) {
        self.pool().close_in_order(Handle::System(file.into()), path, access);
    }

    /// Closes a file that may have been locked: a lock must not outlive it.
    pub(super) fn close_lent(&self, file: File, path: Option<Box<Path>>, access: Option<Access>) {
        if !self.pool().closes_here() && sys::may_hold_lock(&file) {
            self.close_here(file, path, access);
        } else {
            self.close(file, path, access);
        }
    }
}
