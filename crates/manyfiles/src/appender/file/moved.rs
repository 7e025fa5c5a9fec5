//! A file without frames that another program moves, removes or cuts while it is open, as logrotate does.
//!
//! Its length is asked before each write, because after a cut the next write would leave a hole that hides it. Whether
//! it still has its name is asked once a second at most.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::appender::file::calls::busy;
use crate::appender::file::files::Files;
use crate::appender::log::opened::refuse_framed;
use crate::{Error, Operation, Result};

/// What became of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::appender) enum Seen {
    Same,
    /// Another file has its name, or none.
    Moved,
    /// It is shorter.
    Cut,
}

/// How often a path is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// A name that others change each time it was looked at is given up.
const TRIES: u32 = 100;

impl Files {
    /// Looks at the file, which the appender has written up to `end`. What cannot be asked counts as the same: the
    /// write tells.
    pub(in crate::appender) fn look(&self, end: u64, now: Duration) -> Seen {
        let Some(file) = &self.file else { return Seen::Same };
        let now = now.as_millis() as u64;
        if now.saturating_sub(self.looked.load(Ordering::Relaxed)) >= EVERY.as_millis() as u64 {
            self.looked.store(now, Ordering::Relaxed);
            if !file.is_at(&self.path).unwrap_or(true) {
                return Seen::Moved;
            }
        }
        match file.len() {
            Ok(len) if len < self.place(end) => Seen::Cut,
            _ => Seen::Same,
        }
    }

    /// Goes on in the file that has the name now, or makes one, durably; behind what is in it.
    pub(in crate::appender) fn open_again(&mut self, end: u64) -> Result<()> {
        refuse_framed(&self.series, &*self.storage)?;
        let error = |operation, cause| Error::new(operation, &*self.path, cause);
        for _ in 0..TRIES {
            let opened = match self.storage.open(&self.path) {
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => self.storage.create(&self.path),
                other => other,
            };
            let file = match opened {
                // Another program has made or removed the file meanwhile.
                Err(cause) if matches!(cause.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
                    continue;
                }
                other => other.map_err(|cause| error(Operation::Open, cause))?,
            };
            if !file.is_at(&self.path).map_err(|cause| error(Operation::Open, cause))? {
                continue;
            }
            let len = file.len().map_err(|cause| error(Operation::Open, cause))?;
            file.sync().map_err(|cause| error(Operation::Sync, cause))?;
            self.sync_folder()?;
            let left = self.file.replace(file);
            self.begin_behind(len, end)?;
            return left.map_or(Ok(()), |left| left.close()).map_err(|cause| self.error(Operation::Close, cause));
        }
        Err(busy(&self.path))
    }

    /// Goes on behind what another program has left of the file.
    pub(in crate::appender) fn go_on_behind_cut(&mut self, end: u64) -> Result<()> {
        let file = self.file.as_ref().map(|file| file.len());
        let len = file.transpose().map_err(|cause| self.error(Operation::Metadata, cause))?.unwrap_or(0);
        self.begin_behind(len, end)
    }

    /// What the appender counts as `end` is this place of the file. Nothing before it is in doubt.
    fn begin_behind(&mut self, len: u64, end: u64) -> Result<()> {
        self.shift = len.wrapping_sub(end);
        match (&self.note, &self.file) {
            (Some(note), Some(file)) => note.describe(&**file, len),
            _ => Ok(()),
        }
    }
}
