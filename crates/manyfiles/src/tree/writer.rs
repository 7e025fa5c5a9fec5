//! [`TreeWriter`]: the calls that hand entries over.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::engine::{BUFFER, Job, Shared, Work, works_for_a_tree};
use super::path::{Split, is_folder_path, split};
use super::publish::Publish;
use super::{
    Canceller, Content, Durability, Incomplete, Metadata, Node, Observer, Options, Refusal, Report, Symlink, TreeFile,
};
use crate::error::{print_last_resort, print_last_resort_line};
use crate::origin::leave;
use crate::{Error, Operation, Result, sys};

/// Writes many entries below one folder. See the [module](super) for what it promises, and [`Options`] for its choices.
///
/// Every call that hands an entry over returns at once unless too many bytes are in flight. An error that such a call
/// returns (the path is refused, the writing was cancelled) is in the report as well: it may be ignored there and read
/// at the end.
///
/// Dropped without [`finish`](TreeWriter::finish), it writes what it was given, waits for that, and prints each failure
/// to standard error, since no call is left to return it. A tree that is to be [published](Options::publish) appears by
/// `finish` alone: dropped, it is removed, and standard error says so. Dropped in a callback
/// ([`on_entry`](Options::on_entry), [`Ask`](super::OnConflict::Ask)), it is ended by a thread of its own, which the
/// program's exit may cut short.
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
    publish: Option<Publish>,
    finished: bool,
}

impl Options {
    /// Opens `root` for writing below it; makes the folder, and those above it, if it isn't there. A tree that is to be
    /// [published](Options::publish) is written beside `root`.
    ///
    /// # Errors
    /// If what has the name is no folder, or the folder cannot be made or opened. Of a tree that is to be published a
    /// link to a folder is no folder, and nothing may be mounted in the old one.
    pub fn open(self, root: impl AsRef<Path>) -> Result<TreeWriter> {
        let root = root.as_ref();
        if !self.publish {
            let shared = Shared::open(root, None, self)?;
            return Ok(TreeWriter { shared, publish: None, finished: false });
        }
        let publish = Publish::begin(root, self.durability != Durability::None)?;
        let shared = publish.open_making().and_then(|dir| Shared::open(publish.making(), Some(dir), self));
        // The error to report is the first. A folder that stays is removed by a later run.
        let shared = shared.inspect_err(|_| drop(publish.remove()))?;
        Ok(TreeWriter { shared, publish: Some(publish), finished: false })
    }
}

impl TreeWriter {
    /// Opens `root` with default [`Options`]; makes it if it isn't there.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(root: impl AsRef<Path>) -> Result<TreeWriter> {
        Options::default().open(root)
    }

    /// The choices, to be followed by [`open`](Options::open).
    pub fn options() -> Options {
        Options::default()
    }

    /// The folder that everything is below, as it was given. Of a tree that is to be [published](Options::publish), the
    /// one that it is written in.
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
        let Split { folder, name } = self.check_file(path)?;
        self.submit(&folder, &name, Work::File { content: content.into(), metadata })
    }

    /// A file whose bytes come piece by piece, on this thread.
    pub fn create(&self, path: impl AsRef<Path>, metadata: Metadata) -> Result<TreeFile> {
        let path = path.as_ref();
        let Split { folder, name } = self.check_file(path)?;
        let stream = self.shared.begin_stream(&folder, &name, metadata.clone())?;
        Ok(TreeFile::new(self.shared.clone(), stream, metadata))
    }

    /// A file with all that `source` has, read on this thread. Returns how many bytes that was.
    ///
    /// # Errors
    /// What went wrong with the file, if it is known by now (see [`TreeFile::close`]), or with the source: then nothing
    /// of the file is left. It is in the report too.
    pub fn copy_from(&self, path: impl AsRef<Path>, mut source: impl io::Read, metadata: Metadata) -> Result<u64> {
        let mut file = self.create(path, metadata)?;
        let mut buffer = vec![0; BUFFER];
        let mut bytes = 0;
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return file.close().map(|_| bytes),
                Ok(read) => {
                    bytes += read as u64;
                    // What a write says, `close` says again, as an error of this crate.
                    if file.write_all(&buffer[..read]).is_err() {
                        return file.close().map(|_| bytes);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let told =
                        Error::new(Operation::Read, file.path(), io::Error::new(error.kind(), error.to_string()));
                    file.abandon(error);
                    return Err(told);
                }
            }
        }
    }

    /// A folder. Its time and permissions are set when all else is done. The root itself is `"."`.
    pub fn folder(&self, path: impl AsRef<Path>, metadata: Metadata) -> Result<()> {
        let path = path.as_ref();
        let Split { folder, name } = self.check(Operation::CreateFolder, path)?;
        let path = Path::new(&*folder).join(&*name);
        self.shared.submit_folder(path.as_os_str(), metadata)
    }

    /// A symbolic link at `path` that says `target`, a path or a [`Symlink`] that was read. The target is not checked:
    /// the link is made and never followed. Links have no permissions; `metadata` may give a time and an owner.
    pub fn symlink(&self, path: impl AsRef<Path>, target: impl Into<Symlink>, metadata: Metadata) -> Result<()> {
        let Split { folder, name } = self.check_name(Operation::Symlink, path.as_ref())?;
        self.submit(&folder, &name, Work::Symlink { link: target.into(), metadata })
    }

    /// A second name for the file at `existing`, which is a path below the same root. It is made where it stands in the
    /// order of entries: a link to what `existing` is when all entries of either path that came before are done.
    /// Entries of either path that come after it wait for it.
    pub fn hard_link(&self, path: impl AsRef<Path>, existing: impl AsRef<Path>) -> Result<()> {
        self.link(path.as_ref(), existing.as_ref(), None)
    }

    /// As [`hard_link`](TreeWriter::hard_link). If the link cannot be made (the file at `existing` was not written, or
    /// the file system has no hard links), the file gets this content and metadata of its own.
    pub fn hard_link_or(
        &self,
        path: impl AsRef<Path>,
        existing: impl AsRef<Path>,
        content: impl Into<Content>,
        metadata: Metadata,
    ) -> Result<()> {
        self.link(path.as_ref(), existing.as_ref(), Some((content.into(), metadata)))
    }

    fn link(&self, path: &Path, existing: &Path, otherwise: Option<(Content, Metadata)>) -> Result<()> {
        let to = self.check_name(Operation::HardLink, path)?;
        let from = split(existing).and_then(|from| if from.name.is_empty() { Err(Refusal::Empty) } else { Ok(from) });
        let from = from.map_err(|refusal| {
            // The entry is at `path`; what is wrong with it is where it points.
            let cause = Error::refused(Operation::Open, existing, refusal);
            self.refuse(cause.of(Operation::HardLink, path.to_path_buf()))
        })?;
        self.shared.submit_link((&to.folder, &to.name), (&from.folder, &from.name), otherwise)
    }

    /// A device or a FIFO. What permissions mean to it depends on the system; devices need privileges.
    pub fn node(&self, path: impl AsRef<Path>, node: Node, metadata: Metadata) -> Result<()> {
        let Split { folder, name } = self.check_name(Operation::CreateNode, path.as_ref())?;
        self.submit(&folder, &name, Work::Node { node, metadata })
    }

    /// Adds to the report a failure that the caller noticed: an entry it could not read, or would not write.
    pub fn fail(&self, error: Error) {
        if !self.shared.is_a_child_s() {
            self.shared.refuse(&error);
        }
    }

    /// A handle by which any thread sees how far the tree is.
    pub fn observer(&self) -> Observer {
        Observer::new(self.shared.control())
    }

    /// A handle by which any thread stops the writing.
    pub fn canceller(&self) -> Canceller {
        Canceller::new(self.shared.control())
    }

    /// Waits until everything is written and closed, and sets the folders' times and permissions. A [`TreeFile`] that
    /// is open still, in another thread or forgotten, is a failure.
    ///
    /// # Errors
    /// If anything at all did not arrive, or the writing was cancelled; the report is in the error.
    pub fn finish(mut self) -> Result<Report, Incomplete> {
        let root = self.shown_root();
        if let Err(error) = self.shared.check_call(Operation::Write, || &root) {
            self.finished = true;
            return Err(Incomplete::new(Report { failures: vec![error], ..Report::default() }, root));
        }
        let report = self.end(true);
        if report.is_complete() { Ok(report) } else { Err(Incomplete::new(report, root)) }
    }

    /// The root as the caller named it, also of a tree that is to be published.
    fn shown_root(&self) -> PathBuf {
        self.publish.as_ref().map_or(self.root(), Publish::target).to_path_buf()
    }

    /// `publishes`: a tree that is to appear does, if it is complete.
    fn end(&mut self, publishes: bool) -> Report {
        // The drop that this panic leads to ends the tree on another thread.
        assert!(!works_for_a_tree(), "a tree is finished in a callback, and would wait for itself");
        self.finished = true;
        let given = self.shared.given_to_root();
        let mut report = self.shared.finish();
        match self.publish.take() {
            Some(publish) if report.is_complete() && publishes => report.failures.extend(publish.appear(given)),
            Some(publish) => report.failures.extend(publish.remove()),
            None => {}
        }
        report
    }

    /// Has another thread end the tree, since this one may be a thread that the end waits for.
    fn end_elsewhere(&mut self) {
        self.finished = true;
        let root = self.shown_root();
        let tree = TreeWriter { shared: self.shared.clone(), publish: self.publish.take(), finished: false };
        let (hand_over, handed_over) = std::sync::mpsc::channel::<TreeWriter>();
        let thread = std::thread::Builder::new().name("manyfiles-end".into());
        match sys::spawn_quiet(thread, move || drop(handed_over.recv())) {
            Ok(_) => drop(hand_over.send(tree)),
            Err(cause) => {
                // Dropped here, it would come to this place again.
                std::mem::forget(tree);
                print_last_resort([&Error::new(Operation::Write, root, cause)]);
            }
        }
    }

    fn check<'a>(&self, operation: Operation, path: &'a Path) -> Result<Split<'a>> {
        self.shared.check_call(operation, || path)?;
        split(path).map_err(|refusal| self.refuse(Error::refused(operation, path, refusal)))
    }

    /// As `check`, for what cannot be the root itself.
    fn check_name<'a>(&self, operation: Operation, path: &'a Path) -> Result<Split<'a>> {
        let split = self.check(operation, path)?;
        if split.name.is_empty() {
            return Err(self.refuse(Error::refused(operation, path, Refusal::Empty)));
        }
        Ok(split)
    }

    /// As `check_name`, for what cannot be a folder.
    fn check_file<'a>(&self, path: &'a Path) -> Result<Split<'a>> {
        self.shared.check_call(Operation::Create, || path)?;
        if is_folder_path(path) {
            return Err(self.refuse(Error::refused(Operation::Create, path, Refusal::FolderPath)));
        }
        self.check_name(Operation::Create, path)
    }

    fn refuse(&self, error: Error) -> Error {
        self.shared.refuse(&error);
        error
    }

    pub(super) fn submit(&self, folder: &OsStr, name: &OsStr, work: Work) -> Result<()> {
        self.shared.submit(folder, Job::new(name, work))
    }
}

impl Drop for TreeWriter {
    fn drop(&mut self) {
        // In a forked child it is a copy; the files are the other process's.
        if self.shared.is_a_child_s() {
            return leave(&self.shared);
        }
        if self.finished {
            return;
        }
        if works_for_a_tree() {
            return self.end_elsewhere();
        }
        let (root, is_published) = (self.shown_root(), self.publish.is_some());
        let report = self.end(false);
        if is_published {
            let root = root.display();
            print_last_resort_line(format_args!("the tree {root} was dropped before `finish`: nothing of it is there"));
        }
        print_last_resort(report.failures.iter());
        if report.not_written > 0 {
            let why = format!("cancelled; {} entries were not written", report.not_written);
            print_last_resort([&Error::new(Operation::Write, root, io::Error::other(why))]);
        }
    }
}

impl fmt::Debug for TreeWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeWriter").field("root", &self.root()).field("progress", &self.shared.progress()).finish()
    }
}
