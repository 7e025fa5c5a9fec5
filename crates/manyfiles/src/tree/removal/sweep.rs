//! One folder looked through, one name removed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::below;
use super::folder::{Again, Folder};
use super::work::{Job, What, Work};
use crate::error::explained;
use crate::sys::{self, Dir, EntryKind, Listing, Sleeps};
use crate::tree::pace::{Pace, SLOW};
use crate::{Error, Operation};

/// What one thread knows.
pub(super) struct Thread {
    pace: Pace,
    sleeps: Sleeps,
    /// The end of the last call.
    last: Instant,
}

impl Thread {
    pub(super) fn new() -> Thread {
        let mut sleeps = Sleeps::default();
        sleeps.since_last();
        Thread { pace: Pace::default(), sleeps, last: Instant::now() }
    }
}

/// How many names of a folder a thread takes at once where each waits, if others take other names meanwhile. Linux and
/// macOS lock the folder for each removal, until the file system has done it: there, more threads take more folders.
const NAMES: Option<usize> = if cfg!(windows) { Some(4) } else { None };

/// While all handles of the process are in use, one is waited for this often, a millisecond each time.
const MOST_WAITS: u32 = 2000;

impl Work {
    pub(super) fn run(self: &Arc<Work>, job: Job, thread: &mut Thread) {
        let Job { folder, what } = job;
        if self.is_cancelled() {
            folder.set_stays();
            return self.end_job(folder, None, thread);
        }
        match what {
            What::Folder(name) => self.enter(folder, name, thread),
            What::Names(names) => {
                match self.dir(&folder) {
                    Ok(dir) => {
                        thread.last = Instant::now();
                        for name in names {
                            let removed = dir.remove_file(&name, self.entering.take_rights);
                            if !self.removed(&folder, &name, removed, thread) {
                                folder.add_jobs(1);
                                self.push([Job { folder: folder.clone(), what: What::Folder(name) }]);
                            }
                        }
                    }
                    Err(error) => self.cannot_open(&folder, error),
                }
                self.end_job(folder, None, thread);
            }
            What::Again => match self.dir(&folder).and_then(|dir| self.with_handles(&folder, || dir.list())) {
                Ok(listing) => self.sweep(folder, listing, thread),
                Err(error) => {
                    self.cannot_open(&folder, error);
                    self.end_job(folder, None, thread);
                }
            },
        }
    }

    fn dir(&self, folder: &Arc<Folder>) -> io::Result<Arc<Dir>> {
        self.with_handles(folder, || folder.dir(None, self.entering, &self.handles))
    }

    /// Makes the call again while the process is out of handles, and those of folders above this one are closed. After
    /// one has waited in vain, no other one waits: each folder would do so for the same.
    fn with_handles<T>(&self, folder: &Folder, call: impl Fn() -> io::Result<T>) -> io::Result<T> {
        let mut waits = 0;
        loop {
            match call() {
                Err(error) if sys::is_out_of_handles(&error) => {
                    let in_vain = waits >= MOST_WAITS || (waits > 0 && self.waited_in_vain.load(Relaxed));
                    if in_vain || self.is_cancelled() {
                        self.waited_in_vain.store(in_vain, Relaxed);
                        return Err(explained(error, "close some, or raise the limit (`ulimit -n`)"));
                    }
                    folder.shut_above(&self.handles);
                    if waits > 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    waits += 1;
                }
                done => return done,
            }
        }
    }

    /// Opens the folder `name` in `above`, and looks through it.
    fn enter(self: &Arc<Work>, above: Arc<Folder>, name: OsString, thread: &mut Thread) {
        let dir = match self.dir(&above) {
            Ok(dir) => dir,
            Err(error) => {
                self.cannot_open(&above, error);
                return self.end_job(above, None, thread);
            }
        };
        let takes = self.entering.take_rights;
        let rights = takes.then(|| dir.rights_of(&name).ok().flatten()).flatten();
        let opened = self.with_handles(&above, || match dir.enter(&name, self.entering) {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // A link or a file has the name by now.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                dir.remove_file(&name, self.entering.take_rights)?;
                self.count_file(&above, &name);
                Ok(None)
            }
            Err(error) => Err(error),
        });
        match opened {
            Ok(Some(listing)) => self.sweep(Arc::new(Folder::inside(above, name, rights)), listing, thread),
            Ok(None) => self.end_job(above, None, thread),
            Err(error) => {
                self.fail(&above, &name, Operation::Remove, error);
                self.end_job(above, None, thread);
            }
        }
    }

    /// Removes what is in the folder, as far as it is no folder itself; these become jobs.
    fn sweep(self: &Arc<Work>, folder: Arc<Folder>, mut listing: Listing, thread: &mut Thread) {
        let mut names = Vec::new();
        let mut folders = Vec::new();
        let (mut found, mut open) = (0_u64, 0_u64);
        thread.last = Instant::now();
        while let Some(entry) = listing.next() {
            if self.is_cancelled() {
                folder.set_stays();
                break;
            }
            let entry = match entry {
                Ok(entry) => entry,
                // What it has not shown is found when the folder turns out not to be empty.
                Err(error) if error.kind() == io::ErrorKind::Interrupted && self.how.keep.is_none() => break,
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => {
                    self.fail(&folder, OsStr::new(""), Operation::List, error);
                    break;
                }
            };
            let name = entry.name();
            let kind = match entry.kind().map_or_else(|| listing.kind_of(name), Ok) {
                Ok(kind) => kind,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    self.fail(&folder, name, Operation::Metadata, error);
                    continue;
                }
            };
            if self.keeps(&folder, name) {
                folder.set_stays();
                continue;
            }
            found += 1;
            open += u64::from(may_be_kept_while_open(name));
            if kind == EntryKind::Folder {
                folders.push(What::Folder(name.to_owned()));
            } else if let Some(most) = NAMES
                && self.is_slow()
                && self.has_room()
            {
                names.push(name.to_owned());
                if names.len() == most {
                    self.hand_over(&folder, &listing, [What::Names(std::mem::take(&mut names))]);
                }
            } else if !self.removed(&folder, name, listing.remove(name, self.entering.take_rights), thread) {
                folders.push(What::Folder(name.to_owned()));
            }
        }
        folder.note_busy(found > 0 && open == found);
        if !names.is_empty() {
            folders.push(What::Names(names));
        }
        let mut dir = self.hand_over(&folder, &listing, folders);
        if dir.is_none() && folder.above().is_some_and(|above| above.is_shut()) {
            dir = listing.dir().ok().map(Arc::new); // The way up.
        }
        drop(listing);
        self.end_job(folder, dir, thread);
    }

    /// Adds jobs in the folder, which keeps its handle for them. `None` if there are none.
    fn hand_over(
        self: &Arc<Work>,
        folder: &Arc<Folder>,
        listing: &Listing,
        jobs: impl IntoIterator<Item = What>,
    ) -> Option<Arc<Dir>> {
        let jobs: Vec<_> = jobs.into_iter().map(|what| Job { folder: folder.clone(), what }).collect();
        if jobs.is_empty() {
            return None;
        }
        let dir = self.with_handles(folder, || listing.dir()).ok().map(Arc::new);
        // Without a handle each job opens the folder by its name.
        if let Some(dir) = &dir {
            folder.keep_open(dir, &self.handles);
        }
        folder.add_jobs(jobs.len());
        self.push(jobs);
        dir
    }

    /// Notes what came of the removal of a name that is no folder's. False: it is one.
    fn removed(self: &Arc<Work>, folder: &Folder, name: &OsStr, removed: io::Result<()>, thread: &mut Thread) -> bool {
        let mut is_folder = false;
        match removed {
            Ok(()) => self.count_file(folder, name),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound => {}
                io::ErrorKind::IsADirectory => is_folder = true,
                // The removal of the folder tells of it, and waits.
                io::ErrorKind::ResourceBusy if may_be_kept_while_open(name) => {}
                _ => self.fail(folder, name, Operation::Remove, error),
            },
        }
        self.note_time(thread);
        !is_folder
    }

    /// Notes how long the removal of a name took.
    fn note_time(self: &Arc<Work>, thread: &mut Thread) {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut thread.last, now);
        let waited = if took >= SLOW && thread.sleeps.since_last() { took } else { Duration::ZERO };
        thread.pace.note(waited);
        self.set_pace(thread.pace.latency());
    }

    /// Notes that a job of the folder is done. After its last the folder is removed, and that was a job of the one
    /// above. `dir` is the folder's handle, if the caller has it.
    fn end_job(self: &Arc<Work>, mut folder: Arc<Folder>, mut dir: Option<Arc<Dir>>, thread: &mut Thread) {
        while folder.end_job() {
            let Some(above) = folder.above().cloned() else {
                self.give_back(&folder, None);
                return self.end();
            };
            let mut dir_above = None;
            if cfg!(windows) {
                // There it would keep its name until the last handle is closed.
                folder.close(&self.handles);
                dir = None;
            }
            if !folder.stays() {
                let inside = dir.as_deref();
                let opened = self.with_handles(&above, || above.dir(inside, self.entering, &self.handles));
                dir_above = opened.as_ref().ok().cloned();
                thread.last = Instant::now();
                if !self.remove_folder(&folder, &above, opened, dir.as_ref()) {
                    return; // It is looked through again.
                }
                self.note_time(thread);
            }
            if folder.stays() {
                self.give_back(&folder, dir);
                above.set_stays();
            }
            folder.close(&self.handles);
            dir = dir_above;
            folder = above;
        }
    }

    /// Gives a folder that stays the permissions that it had.
    fn give_back(&self, folder: &Arc<Folder>, dir: Option<Arc<Dir>>) {
        let Some(rights) = folder.rights.filter(|_| self.entering.take_rights) else { return };
        let given = dir.map_or_else(|| self.dir(folder), Ok).and_then(|dir| dir.give_back(rights));
        match given {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.fail(folder, OsStr::new(""), Operation::Metadata, error);
            }
            _ => {} // Another process has removed it.
        }
    }

    /// False: it has something in it, and is looked through again.
    fn remove_folder(
        self: &Arc<Work>,
        folder: &Arc<Folder>,
        above: &Arc<Folder>,
        dir_above: io::Result<Arc<Dir>>,
        dir: Option<&Arc<Dir>>,
    ) -> bool {
        let remove = |above: Arc<Dir>| above.remove_folder(&folder.name, self.entering.take_rights);
        let error = match dir_above.and_then(remove) {
            Ok(()) => {
                self.folders.fetch_add(1, Relaxed);
                self.how.progress.add();
                self.tell(above, &folder.name);
                return true;
            }
            Err(error) => error,
        };
        let error = match error.kind() {
            io::ErrorKind::NotFound => return true,
            io::ErrorKind::DirectoryNotEmpty => match folder.look_again(self.how.busy_for) {
                _ if self.is_cancelled() => {
                    folder.set_stays();
                    return true;
                }
                Again::NoBusy => explained(error, "a program still has files open that were in it"),
                Again::No => explained(error, "another program makes files in it all the time"),
                again => {
                    if let Some(dir) = dir {
                        folder.keep_open(dir, &self.handles);
                    }
                    folder.add_jobs(1);
                    let job = Job { folder: folder.clone(), what: What::Again };
                    match again {
                        Again::At(time) => self.push_later(time, job),
                        _ => self.push([job]),
                    }
                    return false;
                }
            },
            _ => error,
        };
        folder.set_stays();
        self.fail(above, &folder.name, Operation::Remove, error);
        true
    }

    fn count_file(&self, folder: &Folder, name: &OsStr) {
        self.files.fetch_add(1, Relaxed);
        self.how.progress.add();
        self.tell(folder, name);
    }

    fn tell(&self, folder: &Folder, name: &OsStr) {
        let Some(told) = &self.how.on_removed else { return };
        let path = folder.path_of(name);
        if catch_unwind(AssertUnwindSafe(|| told(self.relative(&path)))).is_err() {
            let why = io::Error::other("the program's `on_removed` panicked when it was told of this name");
            self.add_failure(Error::new(Operation::Remove, below(&self.above, &path), why));
        }
    }

    /// Whether the program wants to keep the name.
    fn keeps(&self, folder: &Folder, name: &OsStr) -> bool {
        let Some(keep) = &self.how.keep else { return false };
        let path = folder.path_of(name);
        match catch_unwind(AssertUnwindSafe(|| keep(self.relative(&path)))) {
            Ok(true) => {
                self.kept.fetch_add(1, Relaxed);
                true
            }
            Ok(false) => false,
            Err(_) => {
                let why = io::Error::other("the program's `keep` panicked when it was asked for this name");
                self.add_failure(Error::new(Operation::Remove, below(&self.above, &path), why));
                true
            }
        }
    }

    /// What the program was told of begins below what it named.
    fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.name).unwrap_or(path)
    }

    /// That another process has removed it is no failure.
    fn cannot_open(&self, folder: &Folder, cause: io::Error) {
        // Each of its jobs finds out.
        if cause.kind() != io::ErrorKind::NotFound && folder.is_first_not_opened() {
            self.fail(folder, OsStr::new(""), Operation::Open, cause);
        }
    }

    /// A name in `folder` that stays, and why; the folder itself if the name is empty.
    fn fail(&self, folder: &Folder, name: &OsStr, operation: Operation, cause: io::Error) {
        folder.set_stays();
        self.add_failure(Error::new(operation, below(&self.above, &folder.path_of(name)), cause));
    }
}

/// What file systems call a file that was removed while a program had it open: NFS, and those made with libfuse.
fn may_be_kept_while_open(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b".nfs") || name.starts_with(b".fuse_hidden")
}
