//! What can be chosen when a batch is made.

use super::BatchMethod;

/// Options of a [`SyncBatch`](super::SyncBatch); [`build`](Options::build) makes it.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// use manyfiles::sync::{BatchMethod, SyncBatch};
///
/// let batch = SyncBatch::options().atomic(true).method(BatchMethod::EachFile).build();
/// batch.write(temp.path().join("settings"), "colour = blue")?;
/// batch.finish()?; // "settings" has its new content, and no crash takes it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(super) atomic: bool,
    pub(super) method: BatchMethod,
}

impl Options {
    /// Whether files get their names only when all are durable. Default: no.
    ///
    /// What was at such a path is replaced by a new file. It has the permissions, the owner and the group of the one
    /// before, access control lists included, from before the first byte is in it. What this process may not set makes
    /// the rights fewer, and never more. On Windows it has the rights that the folder hands down. A symbolic link is
    /// replaced, not followed, and the rights are those of the file that it led to.
    ///
    /// After a crash of the process or the machine, files called `.manyfiles-…` may be left. The next process that
    /// makes an atomic batch in the same folder removes them, if it can be sure that their maker is gone: on Linux at
    /// once, and a day after their last change where the maker ran on another machine, in another container, or before
    /// the machine was started again. On other systems, after a day.
    ///
    /// In a forked child the batch is a copy, which gives no file its name and takes none away.
    #[must_use]
    pub fn atomic(mut self, atomic: bool) -> Options {
        self.atomic = atomic;
        self
    }

    /// How the files are synced. Default: [`BatchMethod::Automatic`].
    #[must_use]
    pub fn method(mut self, method: BatchMethod) -> Options {
        self.method = method;
        self
    }
}
