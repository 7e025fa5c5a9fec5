//! [`Removal`]: whole trees are removed, by many threads, and never anything outside them.
//!
//! - [`folder`]: a folder that is being emptied: its handle, its name, and what is still to be done in it.
//! - [`work`]: one removal, its threads, and how many there are.
//! - [`sweep`]: one folder looked through, one name removed.

mod folder;
mod report;
mod sweep;
mod work;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

pub use report::{NotRemoved, Removed};

use crate::sys::{Dir, EntryKind};
use crate::{Error, Operation};

/// Removes what is at `path`: a file, a link, or a folder with all that is in it. As [`Removal`] does without any
/// choices made.
pub fn remove(path: impl AsRef<Path>) -> Result<Removed, NotRemoved> {
    Removal::new().remove(path)
}

/// How a tree is to be removed: choices, to be followed by [`remove`](Removal::remove).
///
/// - **Fast**: threads share the folders, each core has work, and names are looked up relative to open folders. Where
///   the file system waits (a network, a FUSE process), up to 128 threads work at once. (Linux and macOS remove names of
///   one folder one after the other, so that a single folder takes as long as its calls do.)
/// - **Never outside**: no symbolic link is followed, and nothing that is mounted in the tree is entered, not even if
///   another process puts a link or a mount there meanwhile (Linux: `openat2`; elsewhere each folder is opened without
///   following and its device compared). What another process moves out of the tree while its folder is being emptied
///   is removed there.
/// - **Honest**: all that can be removed is removed, and [`NotRemoved`] names the rest and why. What another process
///   removes meanwhile is no failure.
/// - **Patient, within a bound**: what NFS or FUSE keep under another name because a program has it open (`.nfs…`,
///   `.fuse_hidden…`), and what is open on Windows, is waited for: [`busy_for`](Removal::busy_for).
/// - **Bounded**: memory grows with the folders that are still to be removed, not with the files. Handles stay below a
///   quarter of what the process may have, at any depth.
///
/// A process that is killed leaves what it has not removed yet: some files of some folders. A later call removes the
/// rest. A crash of the machine may bring back what was removed in the last seconds.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let site = temp.path().join("site");
/// # std::fs::create_dir_all(site.join("old/pictures"))?;
/// # std::fs::write(site.join("index.html"), "")?;
/// # std::fs::write(site.join("old/pictures/1.png"), "")?;
/// use std::collections::HashSet;
/// use std::path::PathBuf;
/// use manyfiles::tree::Removal;
///
/// // A generator of sites removes what this run has not written.
/// let written = HashSet::from([PathBuf::from("index.html")]);
/// let removed = Removal::new().keep(move |path| written.contains(path)).remove(&site)?;
/// assert_eq!((removed.files, removed.folders, removed.kept), (1, 2, 1));
/// assert!(site.join("index.html").exists());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Removal {
    force: bool,
    across_mounts: bool,
    threads: Option<usize>,
    busy_for: Duration,
    keep: Option<Arc<Keep>>,
    on_removed: Option<Arc<OnRemoved>>,
    cancel: Option<Arc<AtomicBool>>,
    progress: RemovalProgress,
}

/// Tells how far a removal is, while it goes on. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct RemovalProgress(Arc<AtomicU64>);

impl RemovalProgress {
    /// Of no removal yet: for [`Removal::progress`].
    pub fn new() -> RemovalProgress {
        RemovalProgress::default()
    }

    /// How many names were removed so far, those of folders included, by all removals that were given it.
    pub fn removed(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

type Keep = dyn Fn(&Path) -> bool + Send + Sync;
type OnRemoved = dyn Fn(&Path) + Send + Sync;

impl Default for Removal {
    fn default() -> Removal {
        Removal {
            force: false,
            across_mounts: false,
            threads: None,
            busy_for: Duration::from_secs(3),
            keep: None,
            on_removed: None,
            cancel: None,
            progress: RemovalProgress::default(),
        }
    }
}

impl Removal {
    /// No choices made.
    pub fn new() -> Removal {
        Removal::default()
    }

    /// Also removes what is in folders of this user's that forbid it (mode 0500, say): they get the rights that are
    /// needed, and their own ones back if they stay. That nothing is at the path is no failure then. Default: false.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Removes the files in what is mounted in the tree, too. The folder that something is mounted on stays, and is a
    /// failure. Default: false, and each mount is a failure that names it.
    #[must_use]
    pub fn across_mounts(mut self, across: bool) -> Self {
        self.across_mounts = across;
        self
    }

    /// Keeps the names for which `keep` says so; it is given their paths relative to what is removed. A folder is asked
    /// for before what is in it: it is kept with all of that. A folder that has something left in it stays too, and is
    /// no failure. Several threads ask at a time. A panic in it is a failure, and keeps the name.
    #[must_use]
    pub fn keep(mut self, keep: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.keep = Some(Arc::new(keep));
        self
    }

    /// Calls `told` with the relative path of each name that was removed; empty for what
    /// [`remove`](Removal::remove) was given. Several threads call it at a time, and wait for it. A panic in it is a
    /// failure.
    #[must_use]
    pub fn on_removed(mut self, told: impl Fn(&Path) + Send + Sync + 'static) -> Self {
        self.on_removed = Some(Arc::new(told));
        self
    }

    /// For how long a folder waits for programs that have files of it open. Default: 3 seconds. (On
    /// Windows a file that is open in a way that forbids its removal is waited for a second, whatever is said here.)
    #[must_use]
    pub fn busy_for(mut self, time: Duration) -> Self {
        self.busy_for = time;
        self
    }

    /// How many threads remove while the file system is fast, the caller's included. Default: one per core, at least
    /// two. Where its calls wait, more join; with 1 none does.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Stops when this becomes true: no name is removed after that, but those that are being removed.
    #[must_use]
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Counts there what is removed, for other threads to look at: [`on_removed`](Removal::on_removed) costs more.
    #[must_use]
    pub fn progress(mut self, progress: RemovalProgress) -> Self {
        self.progress = progress;
        self
    }

    /// Removes what is at `path`. A symbolic link is removed itself, and not what it leads to; links on the way to the
    /// last name are followed, as everywhere.
    ///
    /// A path without a last name (`/`, `..`, `a/.`) is refused, and so is one that ends in a separator and is no
    /// folder.
    pub fn remove(&self, path: impl AsRef<Path>) -> Result<Removed, NotRemoved> {
        let path = path.as_ref();
        match self.begin(path) {
            Ok(Some(place)) => work::remove(self, path.parent().unwrap_or(path), place),
            Ok(None) => Removed::default(),
            Err(cause) => {
                let failures = vec![Error::new(Operation::Remove, path, cause)];
                Removed { failures, ..Removed::default() }
            }
        }
        .check(path)
    }

    /// Finds what is to be removed. `None`: nothing is there, which is as it should be.
    fn begin(&self, path: &Path) -> io::Result<Option<Place>> {
        let Some(name) = path.file_name().filter(|_| !ends_in_dot(path)) else {
            let why = "it ends in no name of its own; give the path of the folder by its name";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let found = Dir::open_root(above).and_then(|folder| Ok((folder.stat(name)?.kind, folder)));
        let (kind, folder) = match found {
            Err(error) if self.force && error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        if kind != EntryKind::Folder && ends_in_separator(path) {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder; leave the separator out"));
        }
        Ok(Some(Place { folder, name: name.to_owned(), kind }))
    }
}

/// Removes the folder `name` in `parent`, whose path is `above`, with all that is in it, whatever its folders forbid. The
/// error is the first.
pub(super) fn remove_folder(parent: &Dir, above: &Path, name: &OsStr) -> Result<(), Error> {
    let path = || above.join(name);
    let folder = parent.try_clone().map_err(|cause| Error::new(Operation::Remove, path(), cause))?;
    let place = Place { folder, name: name.to_owned(), kind: EntryKind::Folder };
    match work::remove(&Removal::new().force(true), above, place).failures.into_iter().next() {
        None => Ok(()),
        Some(first) if first.path() == Some(&path()) => Err(first),
        Some(first) => Err(first.of(Operation::Remove, path())),
    }
}

/// Removes what is at each of `paths` below the folder `root`, whose own path is `shown`. No link is followed on the way.
/// What the callbacks are told is relative to `root`. True: it is a folder.
pub(super) fn remove_below(how: &Removal, root: &Dir, shown: &Path, paths: Vec<(PathBuf, bool)>) -> Removed {
    match root.try_clone() {
        Ok(root) => work::remove_all(how, shown, root, paths),
        Err(cause) => {
            let failures = vec![Error::new(Operation::Remove, shown, cause)];
            Removed { failures, ..Removed::default() }
        }
    }
}

/// Where the removal begins: a name in a folder.
struct Place {
    folder: Dir,
    name: OsString,
    kind: EntryKind,
}

/// [`Path::file_name`] passes over a dot at the end.
fn ends_in_dot(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let end = bytes.iter().rposition(|&byte| !is_separator(byte)).map_or(0, |at| at + 1);
    let bytes = &bytes[..end];
    bytes == b"." || bytes.strip_suffix(b".").and_then(<[u8]>::last).is_some_and(|&byte| is_separator(byte))
}

fn ends_in_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| is_separator(byte))
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii() && std::path::is_separator(byte.into())
}

impl fmt::Debug for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Removal")
            .field("force", &self.force)
            .field("across_mounts", &self.across_mounts)
            .field("threads", &self.threads)
            .field("busy_for", &self.busy_for)
            .finish_non_exhaustive()
    }
}

/// The path of `relative` below `path`.
fn below(path: &Path, relative: &Path) -> PathBuf {
    if relative.as_os_str().is_empty() { path.to_owned() } else { path.join(relative) }
}
