//! What comes last: streams that were not closed, and the times and permissions of folders, which nothing changes any
//! more.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::durable::Durable;
use super::folders::Folder;
use super::job::{Job, Work};
use super::lane::Lane;
use super::lock::lock;
use super::place::set_folder_metadata;
use super::shared::Shared;
use crate::sys::{self, Dir, EntryKind, FileFlags, Keep, Stat, Things, WholeFileSystem};
use crate::tree::{Metadata, Outcome, Report};
use crate::{Error, Operation, Result};

/// Set-id and sticky bits.
const SPECIAL: u32 = 0o7000;

impl Shared {
    /// What entries for the root itself asked for. Asked before the end, which uses it up.
    pub(in crate::tree) fn given_to_root(&self) -> Metadata {
        lock(&self.state).queue.folders.given_to_root()
    }

    /// Writes all that is left, ends the threads, and returns the report.
    pub(in crate::tree) fn finish(self: &Arc<Shared>) -> Report {
        self.end_streams();
        // Threads end when they have written all entries. Where no other work comes after that, one wait for their end
        // is enough.
        let has_more = lock(&self.state).queue.folders.have_metadata()
            || lock(&self.durable).is_some()
            || self.options.keep.wants(Things::FLAGS);
        if has_more {
            self.wait_until_written();
            self.finish_folders();
            self.sync_at_the_end();
        }
        self.end_threads();
        let dropped = std::mem::take(&mut lock(&self.state).queue.dropped);
        for path in dropped.into_iter().flatten() {
            self.tell(&path, Outcome::Cancelled);
        }
        self.let_go();
        self.report()
    }

    /// When everything else is done. What fails is reported.
    fn sync_at_the_end(self: &Arc<Shared>) {
        let durable = lock(&self.durable).clone();
        let Some(Durable { whole, above }) = durable.as_deref() else { return };
        if self.is_cancelled() {
            return;
        }
        self.syncing.store(true, Relaxed);
        let folders: Vec<_> = {
            let state = lock(&self.state);
            let left_out = |folder: &&Arc<Folder>| whole.is_none() || folder.elsewhere.load(Relaxed);
            state.queue.folders.made().filter(left_out).cloned().collect()
        };
        for folder in folders {
            // Its only error is a cancellation.
            drop(self.submit(folder.path().as_os_str(), Job::new("".as_ref(), Work::SyncFolder)));
        }
        self.wait_until_written();
        if let Some(Err(cause)) = whole.as_ref().map(WholeFileSystem::sync) {
            self.fail(Error::new(Operation::Sync, ".", cause));
        }
        for (path, folder) in above {
            if let Err(cause) = folder.sync() {
                self.fail(Error::new(Operation::Sync, &**path, cause));
            }
        }
    }

    fn finish_folders(self: &Arc<Shared>) {
        if self.is_cancelled() {
            return;
        }
        let folders = lock(&self.state).queue.folders.take_metadata();
        // Folders that did not come to be have been reported.
        let folders: Vec<_> = folders.into_iter().filter(|(folder, _)| folder.made.load(Relaxed)).collect();
        for (folder, metadata) in &folders {
            let Some(parent) = &folder.parent else { continue };
            // Permissions come later.
            if (Metadata { mode: None, ..metadata.clone() }) == Metadata::default() {
                continue;
            }
            let was_there = folder.was_there.load(Relaxed);
            let job = Job::new(&folder.name, Work::FinishFolder { metadata: metadata.clone(), was_there });
            drop(self.submit(parent.path().as_os_str(), job)); // Its only error is a cancellation.
        }
        self.wait_until_written();
        let mut lane = Lane::new(self.clone());
        self.flags_at_the_end.set(&mut lane).into_iter().for_each(|error| self.fail(error));
        for (folder, metadata) in folders {
            if let Err(error) = self.finish_folder(&mut lane, &folder, &metadata) {
                self.fail(error);
            }
        }
        lane.flush_counts();
    }

    /// Takes away from a root that this run made what it is not to have in the end: what is written in it before the
    /// end shall be no more open than after it. Folders below are made with their permissions.
    pub(super) fn narrow_root(&self, mode: Option<u32>) {
        let (Some(mode), true, Some(root)) = (mode, self.root_is_new, self.root_dir()) else { return };
        let own = OsStr::new(".");
        let Ok(has) = root.stat(own) else { return };
        let narrow = has.mode & (mode | 0o700);
        if narrow != has.mode {
            // The end of the tree tries again, and reports a failure.
            root.set_folder_permissions(own, narrow).unwrap_or(());
        }
    }

    /// Permissions, deepest first, since they may close the folder; and all that the root has.
    fn finish_folder(&self, lane: &mut Lane, folder: &Arc<Folder>, metadata: &Metadata) -> Result<()> {
        if self.has_its_mode(folder, metadata) {
            return Ok(());
        }
        let failed = |cause| Error::new(Operation::SetMetadata, folder.shown(), cause);
        let is_root = folder.parent.is_none();
        let parent = lane.folder(folder.parent.as_ref().unwrap_or(folder))?.dir;
        let name = if is_root { OsStr::new(".") } else { &*folder.name };
        if self.is_followed(&parent, name) {
            return Ok(());
        }
        if is_root {
            let lost = set_folder_metadata(&parent, name, metadata, true, &self.options.keep).map_err(failed)?;
            lane.counts.lose(lost);
        }
        if let Some(mode) = metadata.mode {
            let has = parent.stat(name).map_err(failed)?;
            let mode = self.mode_with_what_was_kept(mode, &has, metadata, &parent, name).map_err(failed)?;
            let wanted = self.folder_mode(has.mode, mode, folder);
            if has.mode != wanted {
                parent.set_folder_permissions(name, wanted).map_err(failed)?;
            }
        }
        // A root that is to be renamed can be neither.
        let last = metadata.flags.unwrap_or_default().only(FileFlags::LAST);
        if !last.is_empty() && sys::is_privileged() && !(is_root && self.options.publish) {
            parent.set_flags(name, last, last, None).map_err(failed)?; // What cannot be set was counted above.
        }
        Ok(())
    }

    /// Whether the folder of this name is one that a link leads to. It is as it was, as after GNU tar.
    pub(super) fn is_followed(&self, parent: &Dir, name: &OsStr) -> bool {
        self.options.follow_folder_links && parent.stat(name).is_ok_and(|is| is.kind == EntryKind::Symlink)
    }

    /// Without set-id bits if the folder did not get its owner, and without more rights of its group than they are if
    /// it did not get its list.
    fn mode_with_what_was_kept(
        &self,
        mut mode: u32,
        has: &Stat,
        metadata: &Metadata,
        parent: &Dir,
        name: &OsStr,
    ) -> io::Result<u32> {
        let keep = &self.options.keep;
        if keep.may_lose(Things::OWNERS) && metadata.owner.is_some_and(|owner| owner != has.owner) {
            mode &= 0o1777;
        }
        if keep.may_lose(Things::ACLS)
            && metadata.xattrs.iter().any(|(name, _)| Keep::thing(name) == Some(Things::ACLS))
        {
            let lost = parent.set_folder_attributes(name, &metadata.xattrs, Things::default(), None, keep)?;
            if lost.has(Things::ACLS) {
                mode = sys::mode_without_list(mode, &metadata.xattrs);
            }
        }
        Ok(mode)
    }

    /// Whether the folder needs no look because it has the permissions that [`folder_mode`](Self::folder_mode) would
    /// choose: this run made it with them (one that was there was made with none), added nothing, and the mode has no
    /// bit that only a later call sets.
    fn has_its_mode(&self, folder: &Folder, metadata: &Metadata) -> bool {
        let has = |mode| mode & 0o700 == 0o700 && mode & SPECIAL == 0 && folder.made_with.load(Relaxed) == mode;
        folder.parent.is_some() && !self.options.exact_permissions && metadata.mode.is_none_or(has)
    }

    /// The permissions of a folder that has some and is to have `mode`.
    ///
    /// A new folder has what the system made of `mode`, with the owner's rights added and by the umask, a default ACL
    /// and the folder above (setgid); only what was added is taken away, unless `mode` is to be exact. If it was made
    /// with other permissions, since an entry in it came first, it gets `mode` less the umask. A folder that was there
    /// gets `mode`, and keeps its set-id and sticky bits: another program or user has set them.
    fn folder_mode(&self, has: u32, mode: u32, folder: &Folder) -> u32 {
        /// No call that makes a folder sets it: it is the folder's above.
        const SETGID: u32 = 0o2000;
        if folder.was_there.load(Relaxed) {
            mode & !self.masked() | has & SPECIAL
        } else if self.options.exact_permissions {
            mode
        } else if folder.made_with.load(Relaxed) == mode | 0o700 {
            has & (mode | !0o700) | mode & SPECIAL
        } else {
            mode & !self.masked() | has & SETGID
        }
    }
}
