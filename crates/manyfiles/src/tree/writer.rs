//! [`TreeWriter`]: the calls that hand entries over.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::engine::{Job, Lane, Link, Shared, Work};
use super::path::{Split, split};
use super::{Canceller, Content, Incomplete, Metadata, Node, Observer, Options, Report, TreeFile};
use crate::{Error, Operation, Result};

/// Writes many entries below one folder. See the [module](super) for what it promises, and [`Options`] for its choices.
///
/// Every call that hands an entry over returns at once unless too many bytes are in flight. An error that such a call returns
/// (the path is refused, the writing was cancelled) is in the report as well: it may be ignored there and read at the end.
///
/// Dropped without [`finish`](TreeWriter::finish), it writes what it was given, waits for that, and prints each failure to
/// standard error, since nobody else will hear of it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let root = temp.path().join("out");
/// use manyfiles::tree::{Metadata, OnConflict, TreeWriter};
///
/// let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).open(&root)?;
/// tree.file_with("bin/run", "#!/bin/sh\n", Metadata::default().mode(0o755))?;
/// tree.hard_link("latest", "bin/run")?;
/// let report = tree.finish()?;
/// assert_eq!((report.files, report.hard_links), (1, 1));
/// # Ok(()) }
/// ```
pub struct TreeWriter {
    pub(super) shared: Arc<Shared>,
    links: Mutex<Vec<Link>>,
    /// For files that callers write on their own threads: as many as do so at once.
    lanes: Mutex<Vec<Lane>>,
    finished: bool,
}

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
        Ok(TreeWriter {
            shared: Shared::open(root, options)?,
            links: Mutex::default(),
            lanes: Mutex::default(),
            finished: false,
        })
    }

    /// The folder that everything is below, as it was given.
    pub fn root(&self) -> &Path {
        &self.shared.root
    }

    /// A file with these bytes.
    pub fn file(&self, path: impl AsRef<Path>, content: impl Into<Content>) -> Result<()> {
        self.file_with(path, content, Metadata::default())
    }

    /// A file with these bytes, permissions and times.
    pub fn file_with(&self, path: impl AsRef<Path>, content: impl Into<Content>, metadata: Metadata) -> Result<()> {
        let path = path.as_ref();
        let Split { folder, name } = self.check_name(Operation::Create, path)?;
        self.submit(&folder, &name, Work::File { content: content.into(), metadata })
    }

    /// A file whose bytes come piece by piece, on this thread.
    pub fn create(&self, path: impl AsRef<Path>, metadata: Metadata) -> Result<TreeFile<'_>> {
        let path = path.as_ref();
        let Split { folder, name } = self.check_name(Operation::Create, path)?;
        Ok(TreeFile::new(self, folder.into_owned(), name.into_owned(), metadata))
    }

    /// A folder. Its time and permissions are set when all else is done. The root itself is `"."`.
    pub fn folder(&self, path: impl AsRef<Path>, metadata: Metadata) -> Result<()> {
        let path = path.as_ref();
        let Split { folder, name } = self.check(Operation::CreateFolder, path)?;
        let path = Path::new(&*folder).join(&*name);
        self.shared.submit_folder(path.as_os_str(), metadata)
    }

    /// A symbolic link at `path` that says `target`. The target is not checked: the link is made and never followed. Links
    /// have no permissions; `metadata` may give a time and an owner.
    pub fn symlink(&self, path: impl AsRef<Path>, target: impl AsRef<Path>, metadata: Metadata) -> Result<()> {
        let Split { folder, name } = self.check_name(Operation::Symlink, path.as_ref())?;
        self.submit(&folder, &name, Work::Symlink { target: target.as_ref().to_path_buf(), metadata })
    }

    /// A second name for the file at `existing`, which is a path below the same root. Made when all files are written; until
    /// then it takes memory.
    pub fn hard_link(&self, path: impl AsRef<Path>, existing: impl AsRef<Path>) -> Result<()> {
        let (path, existing) = (path.as_ref(), existing.as_ref());
        self.check_name(Operation::HardLink, path)?;
        if let Err(refusal) = split(existing) {
            // The entry is at `path`; what is wrong with it is where it points.
            let cause = Error::refused(Operation::Open, existing, refusal);
            return Err(self.refuse(cause.of(Operation::HardLink, path.to_path_buf())));
        }
        if self.shared.is_cancelled() {
            return Err(self.shared.cancelled(path));
        }
        self.shared.accept();
        let link = Link { path: path.to_path_buf(), existing: existing.to_path_buf() };
        self.links.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        Ok(())
    }

    /// A device or a FIFO. What permissions mean to it depends on the system; devices need privileges.
    pub fn node(&self, path: impl AsRef<Path>, node: Node, metadata: Metadata) -> Result<()> {
        let Split { folder, name } = self.check_name(Operation::CreateNode, path.as_ref())?;
        self.submit(&folder, &name, Work::Node { node, metadata })
    }

    /// Adds to the report a failure that the caller noticed: an entry it could not read, or would not write.
    pub fn fail(&self, error: Error) {
        self.shared.refuse(&error);
    }

    /// To see how far it is.
    pub fn observer(&self) -> Observer {
        Observer { shared: self.shared.clone() }
    }

    /// To stop it.
    pub fn canceller(&self) -> Canceller {
        Canceller { shared: self.shared.clone() }
    }

    /// Waits until everything is written and closed, makes the hard links, sets the folders' times and permissions.
    ///
    /// # Errors
    /// If anything at all did not arrive, or the writing was cancelled; the report is in the error.
    pub fn finish(mut self) -> Result<Report, Incomplete> {
        let report = self.end();
        if report.is_complete() { Ok(report) } else { Err(Incomplete::new(report)) }
    }

    fn end(&mut self) -> Report {
        self.finished = true;
        let links = std::mem::take(&mut *self.links.lock().unwrap_or_else(PoisonError::into_inner));
        for lane in self.lanes.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            lane.flush_counts();
        }
        self.shared.finish(links)
    }

    fn check<'a>(&self, operation: Operation, path: &'a Path) -> Result<Split<'a>> {
        split(path).map_err(|refusal| self.refuse(Error::refused(operation, path, refusal)))
    }

    /// As `check`, for what cannot be the root itself.
    fn check_name<'a>(&self, operation: Operation, path: &'a Path) -> Result<Split<'a>> {
        let split = self.check(operation, path)?;
        if split.name.is_empty() {
            return Err(self.refuse(Error::refused(operation, path, super::Refusal::Empty)));
        }
        Ok(split)
    }

    fn refuse(&self, error: Error) -> Error {
        self.shared.refuse(&error);
        error
    }

    pub(super) fn submit(&self, folder: &OsStr, name: &OsStr, work: Work) -> Result<()> {
        self.shared.submit(folder, Job::new(name, work))
    }

    pub(super) fn take_lane(&self) -> Lane {
        let kept = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| Lane::shared(self.shared.clone()))
    }

    pub(super) fn give_lane(&self, mut lane: Lane) {
        lane.flush_counts();
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }
}

impl Drop for TreeWriter {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let report = self.end();
        for failure in &report.failures {
            eprintln!("manyfiles: {failure}");
        }
        if report.not_written > 0 {
            eprintln!("manyfiles: cancelled; {} entries were not written", report.not_written);
        }
    }
}

impl fmt::Debug for TreeWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeWriter").field("root", &self.root()).field("progress", &self.shared.progress()).finish()
    }
}
