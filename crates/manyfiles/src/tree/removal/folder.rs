//! [`Folder`]: a folder that is being emptied.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::sys::{Dir, Entering, Identity, Rights};

/// How many folders may stay open, and how many do.
#[derive(Debug)]
pub(super) struct Handles {
    most: usize,
    open: AtomicUsize,
}

impl Handles {
    pub(super) fn new(most: usize) -> Handles {
        Handles { most, open: AtomicUsize::new(0) }
    }
}

/// A folder that is being emptied, until it is removed from the one above.
///
/// It stays open while there is work in it. If too many are open, those above are closed first, and opened again when
/// the work comes back to them; that they are the same is checked then.
#[derive(Debug)]
pub(super) struct Folder {
    /// `None`: the folder in which the removal begins, which stays as it is.
    above: Option<Arc<Folder>>,
    pub(super) name: OsString,
    /// Whether it stays, and something may be mounted there.
    is_on_the_way: bool,
    /// What it gets back if it stays. `None`: nothing was taken.
    pub(super) rights: Option<Rights>,
    handle: Mutex<Handle>,
    /// Jobs that are not done yet, one of them to look through it.
    jobs: AtomicUsize,
    /// Whether something in it stays, and so it does.
    stays: AtomicBool,
    /// Whether it was told that it cannot be opened any more.
    not_opened: AtomicBool,
    looks: Mutex<Looks>,
}

#[derive(Debug, Default)]
struct Handle {
    dir: Option<Arc<Dir>>,
    /// Known of a folder that was closed.
    identity: Option<Identity>,
}

/// How often it was looked through, after names were found that should have been removed.
#[derive(Debug, Default)]
struct Looks {
    count: u32,
    busy_since: Option<Instant>,
}

/// When a folder that is not empty is looked through again.
pub(super) enum Again {
    Now,
    At(Instant),
    /// A program has files of it open.
    NoBusy,
    /// A program fills it all the time.
    No,
}

/// So often a folder is looked through.
const MOST_LOOKS: u32 = 1000;

impl Folder {
    /// The folder in which the removal begins.
    pub(super) fn first(dir: Dir) -> Folder {
        let mut folder = Folder::new(None, OsString::new());
        folder.rights = dir.rights().ok().flatten();
        folder.handle().dir = Some(Arc::new(dir));
        folder
    }

    /// One in `above`, which is to be looked through.
    pub(super) fn inside(above: Arc<Folder>, name: OsString, rights: Option<Rights>) -> Folder {
        let mut folder = Folder::new(Some(above), name);
        folder.rights = rights;
        folder
    }

    /// One that is only passed through to others in it, and stays. It has no job yet.
    pub(super) fn on_the_way(above: Arc<Folder>, name: OsString) -> Folder {
        let mut folder = Folder::new(Some(above), name);
        folder.is_on_the_way = true;
        folder.jobs = AtomicUsize::new(0);
        folder.set_stays();
        folder
    }

    fn new(above: Option<Arc<Folder>>, name: OsString) -> Folder {
        Folder {
            above,
            is_on_the_way: false,
            rights: None,
            name,
            handle: Mutex::default(),
            jobs: AtomicUsize::new(1),
            stays: AtomicBool::new(false),
            not_opened: AtomicBool::new(false),
            looks: Mutex::default(),
        }
    }

    pub(super) fn above(&self) -> Option<&Arc<Folder>> {
        self.above.as_ref()
    }

    /// The path of `name` in it, relative to the folder in which the removal begins.
    pub(super) fn path_of(&self, name: &OsStr) -> PathBuf {
        let mut names = vec![name];
        let mut at = self;
        while let Some(above) = &at.above {
            names.push(&at.name);
            at = above;
        }
        names.into_iter().rev().filter(|name| !name.is_empty()).collect()
    }

    pub(super) fn add_jobs(&self, count: usize) {
        self.jobs.fetch_add(count, Ordering::Relaxed);
    }

    /// Whether this was the last job: all that was done before, by any thread, is seen then.
    pub(super) fn end_job(&self) -> bool {
        self.jobs.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(super) fn set_stays(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    pub(super) fn stays(&self) -> bool {
        self.stays.load(Ordering::Relaxed)
    }

    /// Whether this is the first time that it cannot be opened.
    pub(super) fn is_first_not_opened(&self) -> bool {
        !self.not_opened.swap(true, Ordering::Relaxed)
    }

    /// Called when it is not empty, after all that was found in it was removed.
    pub(super) fn look_again(&self, busy_for: Duration) -> Again {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.count += 1;
        match looks.busy_since {
            Some(since) if since.elapsed() > busy_for => Again::NoBusy,
            _ if looks.count > MOST_LOOKS => Again::No,
            Some(_) => Again::At(Instant::now() + Duration::from_millis(1 << looks.count.min(6))),
            None => Again::Now,
        }
    }

    /// Notes of a look whether it has found something, and nothing but what a program has open.
    pub(super) fn note_busy(&self, busy: bool) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.busy_since = busy.then(|| looks.busy_since.unwrap_or_else(Instant::now));
    }

    /// Keeps the handle, and closes that of the folder above if there are too many. A program that removes a tree of a
    /// depth that no path reaches has few open.
    pub(super) fn keep_open(&self, dir: &Arc<Dir>, handles: &Handles) {
        let mut handle = self.handle();
        if handle.dir.replace(dir.clone()).is_none() && handles.open.fetch_add(1, Ordering::Relaxed) >= handles.most {
            drop(handle);
            if let Some(above) = &self.above {
                above.shut(handles);
            }
        }
    }

    /// Closes the handle for good.
    pub(super) fn close(&self, handles: &Handles) {
        if self.handle().dir.take().is_some() {
            handles.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Closes the handle, to be opened again when it is needed. The first folder's stays open.
    fn shut(&self, handles: &Handles) {
        let mut handle = self.handle();
        if self.above.is_none() {
            return;
        }
        let Some(dir) = &handle.dir else { return };
        if handle.identity.is_none() {
            match dir.identity() {
                Ok(identity) => handle.identity = Some(identity),
                Err(_) => return, // It stays open.
            }
        }
        handle.dir = None;
        handles.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Closes those above it, for want of handles.
    pub(super) fn shut_above(&self, handles: &Handles) {
        let mut at = self;
        while let Some(above) = &at.above {
            above.shut(handles);
            at = above;
        }
    }

    /// Whether its handle was closed for want of handles.
    pub(super) fn is_shut(&self) -> bool {
        self.handle().dir.is_none()
    }

    /// Its handle: opened again from a folder `inside` it or from those above if it was closed.
    pub(super) fn dir(
        self: &Arc<Folder>,
        inside: Option<&Dir>,
        how: Entering,
        handles: &Handles,
    ) -> io::Result<Arc<Dir>> {
        let (open, identity) = {
            let handle = self.handle();
            (handle.dir.clone(), handle.identity)
        };
        if let Some(dir) = open {
            return Ok(dir);
        }
        // One that never was closed for want of handles is whatever has its name.
        let is_it = |dir: &Dir| identity.is_none_or(|identity| dir.identity().is_ok_and(|it| it == identity));
        let up = inside.filter(|_| identity.is_some()).and_then(|inside| inside.above().ok()).filter(is_it);
        let dir = match up {
            Some(dir) => Arc::new(dir),
            None => {
                let dir = self.entered_from_above(how)?;
                if !is_it(&dir) {
                    return Err(io::Error::other("another program moved or replaced it meanwhile"));
                }
                dir
            }
        };
        self.keep_open(&dir, handles);
        Ok(dir)
    }

    fn entered_from_above(self: &Arc<Folder>, how: Entering) -> io::Result<Arc<Dir>> {
        let mut closed = Vec::new();
        let mut at = self;
        let mut dir = loop {
            if let Some(dir) = at.handle().dir.clone() {
                break dir;
            }
            closed.push(at);
            at = at.above.as_ref().expect("the first folder is open");
        };
        for folder in closed.into_iter().rev() {
            let how = Entering { across_mounts: how.across_mounts || folder.is_on_the_way, ..how };
            dir = Arc::new(dir.enter(&folder.name, how)?.dir()?);
        }
        Ok(dir)
    }

    fn handle(&self) -> MutexGuard<'_, Handle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Folder {
    /// One after the other: in each other, a deep tree's would need more stack than a thread has.
    fn drop(&mut self) {
        let mut next = self.above.take();
        while let Some(mut folder) = next.and_then(Arc::into_inner) {
            next = folder.above.take();
        }
    }
}
