//! What a thread that writes has for itself: handles of folders, counts, a buffer.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Shared;
use super::counts::Counts;
use super::job::{Folder, FolderId};
use crate::sys::{self, Dir, EntryKind};
use crate::tree::Refusal;
use crate::{Error, Operation, Result};

/// Handles of folders that are kept open, if the limit of the process allows.
const KEPT_FOLDERS: usize = 16;

/// A folder and a handle of it.
pub(in crate::tree) struct OpenFolder {
    pub(super) folder: Arc<Folder>,
    pub(super) dir: Arc<Dir>,
}

pub(in crate::tree) struct Lane {
    pub(in crate::tree) shared: Arc<Shared>,
    root: Arc<Dir>,
    /// The last used is last.
    kept: Vec<(FolderId, Arc<Dir>)>,
    most_kept: usize,
    pub(in crate::tree) counts: Counts,
    /// Whether the umask of this thread is zero, so that files get the very permissions that they are opened with.
    pub(super) no_umask: bool,
    /// Whether a file may be written over in place: its whole content is known before.
    pub(super) in_place: bool,
    /// Whether somebody was asked, which takes time that says nothing about the file system.
    pub(super) asked: bool,
    /// Whether the last name of these was taken: what to try first for the next.
    pub(super) expect_taken: bool,
    /// Whether cloning and copying in the kernel are worth trying.
    pub(super) can_clone: bool,
    pub(super) can_copy_in_kernel: bool,
    /// For copying through memory.
    pub(super) buffer: Vec<u8>,
}

impl Lane {
    /// For a thread that shares its descriptors with the program.
    pub(in crate::tree) fn shared(shared: Arc<Shared>) -> Lane {
        let root = shared.root_dir.clone();
        let most_kept = (sys::handle_limit() / 32).clamp(1, KEPT_FOLDERS);
        Lane {
            shared,
            root,
            kept: Vec::new(),
            most_kept,
            counts: Counts::default(),
            no_umask: false,
            in_place: true,
            asked: false,
            expect_taken: false,
            can_clone: true,
            can_copy_in_kernel: true,
            buffer: Vec::new(),
        }
    }

    /// For a thread of the engine's own, with descriptors and a umask to itself where the system can.
    pub(super) fn own(shared: Arc<Shared>) -> Lane {
        let mut lane = Lane::shared(shared);
        // The root's handle keeps its number in the thread's own table; it is closed there when the thread ends.
        sys::own_descriptors(&lane.root);
        if let Some(umask) = sys::own_umask() {
            lane.shared.umask.get_or_init(|| Some(umask));
            lane.no_umask = true;
        }
        lane
    }

    /// The handle of a folder; makes the folder, and those above it, if they are not there yet.
    pub(in crate::tree) fn folder(&mut self, folder: &Arc<Folder>) -> Result<OpenFolder> {
        self.handle_of(folder).map(|dir| OpenFolder { folder: folder.clone(), dir })
    }

    fn handle_of(&mut self, folder: &Arc<Folder>) -> Result<Arc<Dir>> {
        if let Some(&refusal) = folder.refused.get() {
            return Err(Error::refused(Operation::CreateFolder, &*folder.path, refusal));
        }
        // Upwards to one that is there, then down again; not by recursion, because a hostile path may be a thousand deep.
        let mut missing = Vec::new();
        let mut nearest = folder;
        let mut dir = loop {
            if let Some(dir) = self.open_folder(nearest)? {
                break dir;
            }
            missing.push(nearest);
            nearest = nearest.parent.as_ref().expect("the root, which has no parent, is always there");
        };
        while let Some(folder) = missing.pop() {
            dir = Arc::new(self.make(&dir, folder)?);
            if let Some(durable) = &self.shared.durable {
                let elsewhere = durable.is_elsewhere(&dir);
                let elsewhere = elsewhere.map_err(|error| Error::new(Operation::Open, &*folder.path, error))?;
                folder.elsewhere.store(elsewhere, Relaxed);
            }
            folder.made.store(true, Relaxed);
            self.keep(folder, &dir);
        }
        Ok(dir)
    }

    /// The handle of a folder that is known to be there.
    fn open_folder(&mut self, folder: &Folder) -> Result<Option<Arc<Dir>>> {
        if let Some(at) = self.kept.iter().rposition(|(id, _)| *id == folder.id) {
            self.kept[at..].rotate_left(1);
            return Ok(self.kept.last().map(|(_, dir)| dir.clone()));
        }
        if folder.parent.is_none() {
            return Ok(Some(self.root.clone()));
        }
        if !folder.made.load(Relaxed) {
            return Ok(None);
        }
        let dir = self.retry_without_kept(|lane| lane.root.folder(&folder.path));
        let dir = Arc::new(dir.map_err(|error| Error::new(Operation::Open, &*folder.path, error))?);
        self.keep(folder, &dir);
        Ok(Some(dir))
    }

    fn keep(&mut self, folder: &Folder, dir: &Arc<Dir>) {
        if self.kept.len() >= self.most_kept {
            self.kept.remove(0);
        }
        self.kept.push((folder.id, dir.clone()));
    }

    fn make(&mut self, parent: &Dir, folder: &Folder) -> Result<Dir> {
        let name = folder.name();
        // Whatever is asked for, entries must be written in it; the rest is taken away when they are.
        let mode = folder.mode.load(Relaxed) | 0o700;
        let mode = if self.no_umask { mode & !self.shared.masked() } else { mode };
        match parent.make_folder(name, mode) {
            Ok(()) if self.no_umask => folder.made_with.store(mode, Relaxed),
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::new(Operation::CreateFolder, &*folder.path, error)),
        }
        self.retry_without_kept(|_| parent.child(name)).map_err(|error| {
            let is_link = error.kind() == io::ErrorKind::NotADirectory
                && parent.stat(name).is_ok_and(|stat| stat.kind == EntryKind::Symlink);
            if is_link {
                Error::refused(Operation::CreateFolder, &*folder.path, Refusal::ThroughSymlink)
            } else {
                Error::new(Operation::CreateFolder, &*folder.path, error)
            }
        })
    }

    /// Runs `open`; where that fails because too many handles are open, closes the folders' and tries again, and again while
    /// other threads have files open that they will close.
    pub(super) fn retry_without_kept<T>(&mut self, mut open: impl FnMut(&Lane) -> io::Result<T>) -> io::Result<T> {
        let mut pause = std::time::Duration::from_micros(100);
        loop {
            match open(self) {
                Err(error) if sys::is_out_of_handles(&error) && pause.as_millis() < 500 => {
                    if self.kept.is_empty() {
                        std::thread::sleep(pause);
                        pause *= 2;
                    }
                    self.kept.clear();
                }
                result => return result,
            }
        }
    }

    /// Before other threads share this one's descriptors: see [`sys::make_room_for_handles`].
    pub(super) fn make_room_for_handles(&self, count: usize) {
        sys::make_room_for_handles(&*self.root, 8 + self.most_kept + count);
    }

    /// Adds the counts of this thread to those of all.
    pub(in crate::tree) fn flush_counts(&mut self) {
        self.shared.totals.add(&mut self.counts);
    }

    /// The full name of an entry, for messages: relative to the root, as it was handed over.
    pub(super) fn path_of(folder: &Folder, name: &OsStr) -> std::path::PathBuf {
        if name.is_empty() { folder.path.to_path_buf() } else { folder.path.join(name) }
    }
}
