//! [`TreeWriter`]: the calls that hand entries over.

use std::path::Path;

use super::*;
use crate::{Error, Result};

/// Writes many entries below one folder. See the [module](super) for what it promises, and [`Options`] for its choices.
///
/// Every call that hands an entry over returns at once unless too many bytes are in flight. An error that such a call returns
/// (the path is refused, the writing was cancelled) is in the report as well: it may be ignored there and read at the end.
///
/// Dropped without [`finish`](TreeWriter::finish), it writes what it was given, waits for that, and prints each failure to
/// standard error, since nobody else will hear of it.
pub struct TreeWriter {}

impl TreeWriter {
    /// Opens `root` with default [`Options`]; makes it if it isn't there.
    pub fn new(root: impl AsRef<Path>) -> Result<TreeWriter> {
        Options::default().open(root)
    }
    /// The choices, to be followed by [`open`](Options::open).
    pub fn options() -> Options {
        Options::default()
    }
    pub(super) fn open(root: &Path, options: Options) -> Result<TreeWriter> {
        todo!()
    }
    /// The folder that everything is below.
    pub fn root(&self) -> &Path {
        todo!()
    }
    /// A file with these bytes.
    pub fn file(&self, path: impl AsRef<Path>, content: impl Into<Content>) -> Result<()> {
        todo!()
    }
    /// A file with these bytes, permissions and times.
    pub fn file_with(&self, path: impl AsRef<Path>, content: impl Into<Content>, metadata: Metadata) -> Result<()> {
        todo!()
    }
    /// A file whose bytes come piece by piece, on this thread.
    pub fn create(&self, path: impl AsRef<Path>, metadata: Metadata) -> Result<TreeFile<'_>> {
        todo!()
    }
    /// A folder. Its time and permissions are set when all else is done. The root itself is `""` or `"."`.
    pub fn folder(&self, path: impl AsRef<Path>, metadata: Metadata) -> Result<()> {
        todo!()
    }
    /// A symbolic link at `path` that says `target`. The target is not checked: the link is made and never followed.
    pub fn symlink(&self, path: impl AsRef<Path>, target: impl AsRef<Path>, metadata: Metadata) -> Result<()> {
        todo!()
    }
    /// A second name for the file at `existing`, which is a path below the same root. Made when all files are written.
    pub fn hard_link(&self, path: impl AsRef<Path>, existing: impl AsRef<Path>) -> Result<()> {
        todo!()
    }
    /// A device or a FIFO.
    pub fn node(&self, path: impl AsRef<Path>, node: Node, metadata: Metadata) -> Result<()> {
        todo!()
    }
    /// Adds to the report a failure that the caller noticed: an entry it could not read, or would not write.
    pub fn fail(&self, error: Error) {
        todo!()
    }
    /// To see how far it is.
    pub fn observer(&self) -> Observer {
        todo!()
    }
    /// To stop it.
    pub fn canceller(&self) -> Canceller {
        todo!()
    }
    /// Waits until everything is written and closed, makes the hard links, sets the folders' times and permissions.
    /// `Err` if anything at all did not arrive; the report is in it.
    pub fn finish(self) -> Result<Report, Incomplete> {
        todo!()
    }
}
