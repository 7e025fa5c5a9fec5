//! [`Lane`]: what a thread that writes has for itself. Handles of folders, counts, a buffer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use super::counts::Counts;
use super::durable::Durable;
use super::folders::{Folder, FolderId, OpenFolder};
use super::lock::lock;
use super::shared::Shared;
use crate::sys::{self, Dir, EntryKind};
use crate::tree::digest::RunningDigest;
use crate::tree::{EntryStat, Refusal, Shares};
use crate::{Error, Operation, Result};

/// Handles of folders that a lane keeps open, if the limit of the process allows that many.
const KEPT_FOLDERS: usize = 16;

pub(in crate::tree) struct Lane {
    pub(in crate::tree) shared: Arc<Shared>,
    /// `None` when the tree is finished.
    root: Option<Arc<Dir>>,
    pub(super) durable: Option<Arc<Durable>>,
    /// The last used is last.
    kept: Vec<(FolderId, Arc<Dir>)>,
    most_kept: usize,
    /// Closes other files that this thread could do without. False if there are none.
    let_go: Option<Box<dyn FnMut() -> bool + Send>>,
    pub(in crate::tree) counts: Counts,
    /// Whether a file may be written over in place: its whole content is known before.
    pub(super) in_place: bool,
    /// Whether the program's callback was asked: its time says nothing about the file system.
    pub(super) asked: bool,
    /// Whether the last name was taken: this decides what is tried first for the next name.
    pub(super) expect_taken: bool,
    /// Whether copying in the kernel is worth trying.
    pub(super) can_copy_in_kernel: bool,
    /// For copying through memory.
    pub(super) buffer: Vec<u8>,
    /// What the program's `on_entry` is told of the entry that was completed last. `None` without `on_entry`.
    pub(super) stat: Option<EntryStat>,
    /// The digest of the content that is being written, and what came of it.
    pub(super) digest: Option<RunningDigest>,
    pub(super) digested: Option<Vec<u8>>,
    /// What the file shares with its source.
    pub(super) shares: Shares,
}

impl Lane {
    pub(in crate::tree) fn new(shared: Arc<Shared>) -> Lane {
        let root = shared.root_dir();
        let durable = lock(&shared.durable).clone();
        let most_kept = (sys::handle_limit() / 32).clamp(1, KEPT_FOLDERS);
        Lane {
            shared,
            root,
            durable,
            kept: Vec::new(),
            most_kept,
            let_go: None,
            counts: Counts::default(),
            in_place: true,
            asked: false,
            expect_taken: false,
            can_copy_in_kernel: true,
            buffer: Vec::new(),
            stat: None,
            digest: None,
            digested: None,
            shares: Shares::Nothing,
        }
    }

    /// The handle of a folder; makes the folder, and those above it, if they are not there yet.
    pub(in crate::tree) fn folder(&mut self, folder: &Arc<Folder>) -> Result<OpenFolder> {
        self.handle_of(folder).map(|dir| OpenFolder { folder: folder.clone(), dir })
    }

    fn handle_of(&mut self, folder: &Arc<Folder>) -> Result<Arc<Dir>> {
        let (mut dir, mut missing) = self.nearest(folder)?;
        while let Some(folder) = missing.pop() {
            dir = Arc::new(self.make(&dir, folder)?);
            if let Some(durable) = &self.durable {
                let elsewhere = durable.is_elsewhere(&dir);
                let elsewhere = elsewhere.map_err(|error| Error::new(Operation::Open, folder.path(), error))?;
                folder.elsewhere.store(elsewhere, Relaxed);
            }
            // Release: a thread that sees `made` sees all that was found out about the folder.
            folder.made.store(true, Release);
            self.keep(folder, &dir);
        }
        Ok(dir)
    }

    /// Whether there is such a folder, which is not made.
    pub(super) fn is_there(&mut self, folder: &Arc<Folder>) -> Result<()> {
        let (mut dir, mut missing) = self.nearest(folder)?;
        while let Some(folder) = missing.pop() {
            dir = Arc::new(self.open_child(&dir, folder, Operation::Open)?);
        }
        Ok(())
    }

    /// The nearest folder at or above this one that is known to be there, and those below it that are not, the deepest
    /// first. Not by recursion, because a hostile path may be a thousand deep.
    fn nearest<'a>(&mut self, folder: &'a Arc<Folder>) -> Result<(Arc<Dir>, Vec<&'a Arc<Folder>>)> {
        let (mut nearest, mut missing) = (folder, Vec::new());
        loop {
            if let Some(dir) = self.open_folder(nearest)? {
                return Ok((dir, missing));
            }
            missing.push(nearest);
            nearest = nearest.parent.as_ref().expect("the root, which has no parent, is always there");
        }
    }

    /// The handle of a folder that is known to be there.
    fn open_folder(&mut self, folder: &Folder) -> Result<Option<Arc<Dir>>> {
        if let Some(at) = self.kept.iter().rposition(|(id, _)| *id == folder.id) {
            self.kept[at..].rotate_left(1);
            return Ok(self.kept.last().map(|(_, dir)| dir.clone()));
        }
        if folder.parent.is_none() {
            let finished = || Error::new(Operation::Open, ".", io::Error::other("the tree is finished"));
            return self.root.clone().ok_or_else(finished).map(Some);
        }
        if !folder.made.load(Acquire) {
            return Ok(None);
        }
        let path = folder.path();
        let root = self.root.clone().expect("a folder was made in it");
        let dir = match self.retry_without_kept(|_| root.folder(&path)) {
            Err(_) if self.shared.options.follow_folder_links => self.go_down(root, folder)?,
            dir => Arc::new(dir.map_err(|error| Error::new(Operation::Open, path, error))?),
        };
        self.keep(folder, &dir);
        Ok(Some(dir))
    }

    /// The folder by way of those above it, through links that may be followed.
    fn go_down(&mut self, mut dir: Arc<Dir>, folder: &Folder) -> Result<Arc<Dir>> {
        let above = std::iter::successors(Some(folder), |folder| folder.parent.as_deref());
        let mut way: Vec<_> = above.filter(|folder| folder.parent.is_some()).collect();
        while let Some(folder) = way.pop() {
            dir = Arc::new(self.open_child(&dir, folder, Operation::Open)?);
        }
        Ok(dir)
    }

    fn keep(&mut self, folder: &Folder, dir: &Arc<Dir>) {
        // A thread without work keeps what it has for as long as the tree is open.
        if !sys::leaves_room(&**dir) {
            return self.kept.clear();
        }
        if self.kept.len() >= self.most_kept {
            self.kept.remove(0);
        }
        self.kept.push((folder.id, dir.clone()));
    }

    fn make(&mut self, parent: &Dir, folder: &Folder) -> Result<Dir> {
        let name = &*folder.name;
        // Whatever is asked for, entries must be written in it; the rest is taken away when they are.
        let mode = folder.mode.load(Relaxed) | 0o700;
        let was_there = match parent.make_folder(name, mode) {
            Ok(()) => {
                folder.made_with.store(mode, Relaxed);
                false
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
            Err(error) => return Err(Error::new(Operation::CreateFolder, folder.path(), error)),
        };
        let opened = self.open_child(parent, folder, Operation::CreateFolder)?;
        folder.was_there.store(was_there, Relaxed);
        // A folder that this run makes folds names as the folder above does.
        if was_there && opened.folds() != folder.folds.load(Relaxed) {
            lock(&self.shared.state).queue.fold_names(folder);
        }
        Ok(opened)
    }

    fn open_child(&mut self, parent: &Dir, folder: &Folder, operation: Operation) -> Result<Dir> {
        let name = &*folder.name;
        let error = match self.retry_without_kept(|_| parent.child(name)) {
            Ok(dir) => return Ok(dir),
            Err(error) => error,
        };
        let is_link = error.kind() == io::ErrorKind::NotADirectory
            && parent.stat(name).is_ok_and(|stat| stat.kind == EntryKind::Symlink);
        if !is_link {
            return Err(Error::new(operation, folder.path(), error));
        }
        let followed = match self.shared.options.follow_folder_links {
            true => self.retry_without_kept(|lane| lane.shared.folder_links.follow(parent, name)),
            false => Ok(None),
        };
        match followed {
            Ok(Some(dir)) => Ok(dir),
            Ok(None) => Err(Error::refused(operation, folder.path(), Refusal::ThroughSymlink)),
            Err(error) => Err(Error::new(operation, folder.path(), error)),
        }
    }

    /// What closes files that this thread has open, or shares with another one, and could do without. It says whether
    /// there were any.
    pub(super) fn when_out_of_handles(&mut self, let_go: impl FnMut() -> bool + Send + 'static) {
        self.let_go = Some(Box::new(let_go));
    }

    /// Runs `open`; where that fails because too many handles are open, closes those that this thread could do without
    /// and tries again, and again while other threads have files open that they will close. Once that was in vain for
    /// the longest time, others wait a short time only, until there is a handle again: a run of many entries for which
    /// there is none ends soon.
    pub(super) fn retry_without_kept<T>(&mut self, mut open: impl FnMut(&Lane) -> io::Result<T>) -> io::Result<T> {
        const LONGEST_PAUSE: Duration = Duration::from_millis(500);
        const LONGEST_PAUSE_STARVED: Duration = Duration::from_millis(1);
        let mut pause = Duration::from_micros(100);
        let mut has_waited = false;
        loop {
            let is_starved = self.shared.starved.load(Relaxed);
            let longest = if is_starved { LONGEST_PAUSE_STARVED } else { LONGEST_PAUSE };
            match open(self) {
                Err(error) if sys::is_out_of_handles(&error) && pause < longest => {
                    has_waited = true;
                    let has_kept = !std::mem::take(&mut self.kept).is_empty();
                    let mut let_go = || self.let_go.as_mut().is_some_and(|let_go| let_go());
                    if !(has_kept || let_go() || self.shared.streams.park_one()) {
                        std::thread::sleep(pause);
                        pause *= 2;
                    }
                }
                result => {
                    match &result {
                        Err(error) if has_waited && sys::is_out_of_handles(error) => {
                            self.shared.starved.store(true, Relaxed);
                        }
                        Ok(_) if is_starved => self.shared.starved.store(false, Relaxed),
                        _ => {}
                    }
                    return result;
                }
            }
        }
    }

    /// Closes the handles of folders that are kept.
    pub(super) fn forget_folders(&mut self) {
        self.kept.clear();
    }

    /// For the handles to come: see [`sys::make_room_for_handles`].
    pub(super) fn make_room_for_handles(&self, count: usize) {
        let Some(root) = &self.root else { return };
        sys::make_room_for_handles(&**root, 8 + self.most_kept + count);
    }

    /// Adds the counts of this thread to those of all.
    pub(in crate::tree) fn flush_counts(&mut self) {
        self.shared.totals.add(&mut self.counts);
    }
}
