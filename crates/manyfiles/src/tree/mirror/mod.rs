//! [`Mirror`]: one tree is made equal to another.
//!
//! - [`compare`]: both trees are looked through, by many threads, and nothing is touched; [`name`] compares one name,
//!   [`same`] times and bytes; [`found`] collects what differs; [`moved`] finds files that have another path now.
//! - [`difference`]: what was found, as the program sees it.
//! - [`apply`]: the differences are made good: what is new and changed first, then what is to go. [`rename`] gives moved
//!   files their paths, [`settle`] gives files that stay their metadata, [`write`] hands over the rest; [`in_the_way`]
//!   replaces what is of another kind.
//! - [`crew`]: the threads of each of these steps.
//! - [`progress`]: how far it is.

mod apply;
mod compare;
mod crew;
mod difference;
mod found;
mod in_the_way;
mod moved;
mod name;
mod progress;
mod rename;
mod report;
mod same;
mod settle;
mod write;

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use difference::{Difference, Differences, What};
pub use progress::MirrorProgress;
pub use report::{Mirrored, NotMirrored};

use super::{Durability, Keep};
use crate::Errors;
use crate::sys::{self, Dir, Stat, Things};

/// How one tree is to be made equal to another, the target: choices, to be followed by [`mirror`](Mirror::mirror), or
/// by [`compare`](Mirror::compare) to see first what would be done.
///
/// - **Quick**: a file counts as the same if its length and the time of its last change are (as exactly as the target's
///   file system keeps times); [`by_content`](Mirror::by_content) reads both instead. A file that has another path in the
///   source by now is renamed. Threads share the folders; where the file system waits (a network, a FUSE process), up to
///   128 are at work.
/// - **Careful**: all that is new or changed arrives before anything is removed, and nothing is removed if anything failed,
///   be it that a folder of the source could not be read. What is of another kind in the target is replaced as a whole,
///   and takes room beside it until then; if it holds something that is left out, that is a failure. Files that change
///   are replaced: readers see old or new, nothing between. A source that is empty beside a target that is not, or more
///   removals than [`max_delete`](Mirror::max_delete), is refused before anything is touched: a disk that is not
///   mounted looks like that.
/// - **Alone**: a second mirror of the same target is told so, on Linux and macOS, where the file system has locks.
///   What other programs do in either tree meanwhile may or may not be seen.
/// - **Never outside**: in neither tree a symbolic link is followed. What is mounted in the target is not looked into, nor
///   written or removed, nor is what it is in: that is a failure, unless it is left out. (A single file that is mounted
///   over another one is not told apart.) What is mounted in the source is part of it. The target has to be the folder
///   that was compared. One tree in the other, also by a mount, is refused before anything is touched.
/// - **Honest**: [`NotMirrored`] names each thing that did not become equal, and why. What a file system cannot keep is no
///   failure: further names that it cannot link ([`Mirrored::not_linked`]) and, where it keeps times less exactly than
///   those of its own changes tell, times and permissions of files are found to differ by each run, and written again.
/// - **To be gone on with**: a run that was stopped or killed leaves files that are old or new, and perhaps one that is
///   incomplete and has not the time of its source. The next run goes on from there.
///
/// Kept are permissions, times of files, folders and links, hard links and holes. Memory grows with the differences and
/// the folders, not with the files.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let (photos, backup) = (temp.path().join("photos"), temp.path().join("backup"));
/// # std::fs::create_dir_all(&photos)?;
/// # std::fs::create_dir_all(&backup)?;
/// # std::fs::write(photos.join("1.jpg"), "a picture")?;
/// # std::fs::write(backup.join("old.jpg"), "gone from the source")?;
/// use manyfiles::tree::Mirror;
///
/// let mirrored = Mirror::new().max_delete(100).mirror(&photos, &backup)?;
/// assert_eq!((mirrored.written.files, mirrored.removed.files), (1, 1));
/// assert!(Mirror::new().compare(&photos, &backup)?.is_empty());
/// # Ok(()) }
/// ```
///
/// [`by_content`]: Mirror::by_content
#[derive(Clone)]
pub struct Mirror {
    by_content: bool,
    finds_moved: bool,
    owners: bool,
    set_id: bool,
    keep: Keep,
    special_files: bool,
    one_file_system: bool,
    max_delete: Option<u64>,
    exclude: Option<Arc<Exclude>>,
    threads: Option<usize>,
    durability: Durability,
    resume: bool,
    cancel: Option<Arc<AtomicBool>>,
    progress: MirrorProgress,
}

type Exclude = dyn Fn(&Path) -> bool + Send + Sync;

impl Default for Mirror {
    fn default() -> Mirror {
        Mirror {
            by_content: false,
            finds_moved: true,
            owners: false,
            set_id: false,
            keep: Keep::default(),
            special_files: false,
            one_file_system: false,
            max_delete: None,
            exclude: None,
            threads: None,
            durability: Durability::None,
            resume: false,
            cancel: None,
            progress: MirrorProgress::default(),
        }
    }
}

impl Mirror {
    /// No choices made.
    pub fn new() -> Mirror {
        Mirror::default()
    }

    /// Compares the bytes of files that have the same length, whatever their times say. Default: false.
    #[must_use]
    pub fn by_content(mut self, by_content: bool) -> Self {
        self.by_content = by_content;
        self
    }

    /// Finds files that have another path in the source by now: of a length and a time that no other has which is new or
    /// only in the target. If the bytes are the same, it is renamed in the target, and neither copied nor removed.
    /// Default: true; false saves the reading of both files.
    #[must_use]
    pub fn find_moved(mut self, find: bool) -> Self {
        self.finds_moved = find;
        self
    }

    /// Users and groups are to be the same, by number. Needs privileges. Default: false.
    #[must_use]
    pub fn owners(mut self, owners: bool) -> Self {
        self.owners = owners;
        self
    }

    /// Set-user-id and set-group-id bits are kept. Default: false.
    #[must_use]
    pub fn set_id(mut self, set_id: bool) -> Self {
        self.set_id = set_id;
        self
    }

    /// What else entries are to have of their source, as [`Options::keep`](super::Options::keep) says: it is compared, and
    /// set where it differs. What a file system or this user cannot keep, and need not, is counted in
    /// [`Report::not_kept`](super::Report::not_kept) of what is written, and found to differ each time; owners are left
    /// out for that by who has no privileges. Times of the last access and reserved space are no differences. Default:
    /// nothing more.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Devices and FIFOs are made. Default: false: they are left out, with whatever has their names in the target.
    /// Sockets always are: their servers make them.
    #[must_use]
    pub fn special_files(mut self, special_files: bool) -> Self {
        self.special_files = special_files;
        self
    }

    /// Leaves out what is mounted in the source. Default: false.
    #[must_use]
    pub fn one_file_system(mut self, one: bool) -> Self {
        self.one_file_system = one;
        self
    }

    /// Refuses to begin if more names than this would be removed, those in folders and of folders included. They are
    /// counted again before the first is removed: if they are more by then, none is, which is a failure. Default: no
    /// such bound, but a source without anything in it is refused; what is left out does not count.
    #[must_use]
    pub fn max_delete(mut self, names: u64) -> Self {
        self.max_delete = Some(names);
        self
    }

    /// Leaves out the paths for which `exclude` says so, relative to the source: they are neither copied nor removed. A
    /// folder is asked for before what is in it. Several threads ask at a time. A panic in it leaves the path out, and
    /// is a failure.
    #[must_use]
    pub fn exclude(mut self, exclude: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.exclude = Some(Arc::new(exclude));
        self
    }

    /// How many threads look and write while the file systems are fast. Default: one per core, at least two. Where
    /// calls wait, more join; with 1 none does.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// When what is written is durable; as that of [`Options`](super::Options::durability). Default: not asked for.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Goes on with large files that an earlier run has begun, and leaves those that this one does not complete, as
    /// [`Options::resume`](super::Options::resume) says. What an earlier run left of a file that is still to be written
    /// is no extra name; all else that it left is. Default: false.
    #[must_use]
    pub fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// Stops when this becomes true: what is half-written is removed unless it can be [resumed](Mirror::resume), what is complete stays, and nothing else is
    /// begun.
    #[must_use]
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Counts there what is done, for other threads to look at.
    #[must_use]
    pub fn progress(mut self, progress: MirrorProgress) -> Self {
        self.progress = progress;
        self
    }

    /// Finds what differs, and touches nothing. A target that is not there is a folder without anything.
    ///
    /// # Errors
    /// If either is no folder or cannot be opened, or one is in the other, be it by a mount in either. What cannot be
    /// compared below them is among the [`failures`](Differences::failures).
    pub fn compare(&self, source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<Differences, Errors> {
        compare::compare(self, source.as_ref(), target.as_ref())
    }

    /// Makes `target` equal to `source`. Both are folders; the target is made if it is not there.
    ///
    /// # Errors
    /// If anything differs still. Nothing was touched if it was refused.
    pub fn mirror(&self, source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<Mirrored, NotMirrored> {
        match self.compare(source, target) {
            Ok(differences) => differences.apply(),
            Err(errors) => Err(NotMirrored::before_anything(errors)),
        }
    }

    /// Whether users and groups are compared.
    fn compares_owners(&self) -> bool {
        self.owners || self.keep.demands(Things::OWNERS) || self.keep.wants(Things::OWNERS) && sys::is_privileged()
    }

    fn compares_attributes(&self) -> bool {
        self.keep.wants(Things::ATTRIBUTES)
    }

    /// The permission bits of a name: where access control lists are kept, they say what anybody in them may do at most.
    fn mode_of(&self, folder: &Dir, name: &OsStr, stat: &Stat) -> u32 {
        let mode = if self.keep.wants(Things::ACLS) { stat.mode } else { folder.own_mode(name, stat) };
        mode & self.mode_bits()
    }

    /// The permission bits that are kept.
    fn mode_bits(&self) -> u32 {
        if self.set_id { 0o7777 } else { 0o1777 }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(std::sync::atomic::Ordering::Relaxed))
    }
}

impl fmt::Debug for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mirror")
            .field("by_content", &self.by_content)
            .field("owners", &self.owners)
            .field("keep", &self.keep)
            .field("special_files", &self.special_files)
            .field("one_file_system", &self.one_file_system)
            .field("max_delete", &self.max_delete)
            .field("durability", &self.durability)
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}
