//! How a [`TreeWriter`] is opened.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::TreeWriter;
use crate::Result;

/// What to do with a file whose name is taken. A folder that exists is never a conflict, and a folder is never replaced by
/// something else.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnConflict {
    /// Leave what is there and report the entry as a failure. It costs nothing: the open that creates the file tells.
    #[default]
    Error,
    /// Leave what is there, and count the entry as skipped.
    Skip,
    /// Leave what is there if it has the same bytes (its metadata is set all the same), else write as
    /// [`Overwrite`](OnConflict::Overwrite) does. 5.8 times as fast as truncating where nothing changed (ext4). Content with
    /// holes is written without comparing, and so is what comes through [`create`](TreeWriter::create) and is longer than
    /// 256 KiB or has bytes left out; that replaces what is there.
    SkipIdentical,
    /// Write over the old bytes, then cut to length: 4.7 times as fast as truncating first on ext4. A crash or a reader
    /// meanwhile may see old and new bytes mixed.
    ///
    /// Replaced instead, as [`Replace`](OnConflict::Replace) does, is a symbolic link or a file with other hard links, so
    /// that nothing outside the tree changes; a file that cannot be opened for writing; and whatever is in the way of what
    /// comes through [`create`](TreeWriter::create) and is longer than 256 KiB or has bytes left out.
    Overwrite,
    /// Write beside the old file and rename: readers see old or new, nothing between. Half as fast as creating.
    Replace,
    /// Replace only what is older than the entry's modification time, as [`Replace`](OnConflict::Replace) does; else leave
    /// what is there, and count the entry as skipped. An entry without a time replaces.
    Newer,
    /// Keep both: write to `name (1).ext`, or the first number that is free.
    Rename,
    /// Ask, once per conflict, on a thread kept for it; the writing of other files goes on meanwhile.
    Ask(Arc<dyn Fn(&Path) -> Answer + Send + Sync>),
}

impl fmt::Debug for OnConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnConflict::Error => "Error",
            OnConflict::Skip => "Skip",
            OnConflict::SkipIdentical => "SkipIdentical",
            OnConflict::Overwrite => "Overwrite",
            OnConflict::Replace => "Replace",
            OnConflict::Newer => "Newer",
            OnConflict::Rename => "Rename",
            OnConflict::Ask(_) => "Ask",
        })
    }
}

/// What [`OnConflict::Ask`] is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Report the entry as a failure.
    Error,
    /// Leave what is there.
    Skip,
    /// Replace it: write beside it and rename, as [`OnConflict::Replace`] does.
    Overwrite,
    /// Keep both.
    Rename,
}

/// When what is written is durable: on the disk, so that a power cut does not take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// When the system has written it out, some seconds later, as with [`std::fs::write`].
    #[default]
    None,
    /// Each file is synced before it is closed, and before it replaces another; names are synced by
    /// [`finish`](TreeWriter::finish). A crash in between leaves no file under its name without its bytes where the name is
    /// given last ([`Replace`](OnConflict::Replace), [`Newer`](OnConflict::Newer)).
    EachFile,
    /// When [`finish`](TreeWriter::finish) has returned without an error: one sync of the whole file system where that can be
    /// trusted (Linux 5.8 and later on ext4, XFS, btrfs, F2FS and tmpfs), and as [`EachFile`](Durability::EachFile)
    /// elsewhere, below mount points in the tree, and for files that replace others. The sync also waits for what other
    /// programs have written there. 14 times as fast as a sync of each file on ext4.
    AtFinish,
}

/// Options of a [`TreeWriter`]; [`open`](Options::open) makes it.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) on_conflict: OnConflict,
    pub(super) threads: Option<usize>,
    pub(super) bytes_in_flight: usize,
    pub(super) exact_permissions: bool,
    pub(super) durability: Durability,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            on_conflict: OnConflict::Error,
            threads: None,
            bytes_in_flight: 32 << 20,
            exact_permissions: false,
            durability: Durability::None,
        }
    }
}

impl Options {
    /// What to do with a file whose name is taken. Default: [`OnConflict::Error`].
    #[must_use]
    pub fn on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.on_conflict = on_conflict;
        self
    }

    /// How many threads write while the file system is fast. Default: one per core, at least two. Where its calls wait (a
    /// network file system, a virus scanner), more threads than that join, and leave when the calls are fast again; with 1
    /// none joins.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// How many bytes may be handed over and not yet written, before the caller has to wait. Default: 32 MiB. One file
    /// larger than this is taken alone.
    #[must_use]
    pub fn bytes_in_flight(mut self, bytes: usize) -> Self {
        self.bytes_in_flight = bytes.max(1);
        self
    }

    /// Set permission bits exactly as given, whatever the process's umask says. Default: the umask applies.
    #[must_use]
    pub fn exact_permissions(mut self, exact: bool) -> Self {
        self.exact_permissions = exact;
        self
    }

    /// When what is written is durable. Default: [`Durability::None`]. What is left as it was (skipped, or identical) is not
    /// synced for that. If the sync at the end fails, the report names the path `.`, and none of the files counts as durable.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Opens `root` for writing below it; makes the folder, and those above it, if it isn't there.
    pub fn open(self, root: impl AsRef<Path>) -> Result<TreeWriter> {
        TreeWriter::open(root.as_ref(), self)
    }
}
