//! What comes last: hard links, when the files are there; folders' times and permissions, when nothing changes them any more.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::job::{Folder, Job, Work};
use super::lane::Lane;
use super::{Shared, lock};
use crate::tree::path::Split;
use crate::tree::{Metadata, Report, check};
use crate::{Error, Operation};

/// A hard link that waits for the end.
pub(in crate::tree) struct Link {
    pub(in crate::tree) path: PathBuf,
    pub(in crate::tree) existing: PathBuf,
}

impl Shared {
    /// Waits until everything that was handed over is done with.
    pub(in crate::tree) fn wait_until_written(self: &Arc<Shared>) {
        let mut state = lock(&self.state);
        state.waiting_callers += 1;
        while state.queue.unfinished > 0 {
            self.drop_if_cancelled(&mut state);
            if state.queue.unfinished > 0 {
                state = self.wait_in_room(state);
            }
        }
        state.waiting_callers -= 1;
    }

    /// Does all that is left, ends the threads, and reports.
    pub(in crate::tree) fn finish(self: &Arc<Shared>, links: Vec<Link>) -> Report {
        // Threads end when they have written all that there is: where nothing comes after that, waiting for their end is enough,
        // and waking up once.
        let has_more = !links.is_empty() || lock(&self.state).queue.has_folder_metadata();
        if has_more || self.durable.is_some() {
            self.wait_until_written();
            self.make_links(links);
            self.finish_folders();
            self.sync_at_the_end();
        }
        self.end_threads();
        self.report()
    }

    fn make_links(self: &Arc<Shared>, links: Vec<Link>) {
        if self.is_cancelled() {
            self.totals.not_written.fetch_add(links.len() as u64, Relaxed);
            return;
        }
        let (failed, renamed) = self.not_under_their_names();
        for link in links {
            let Link { path, existing } = link;
            let asked = check_again(&existing);
            if failed.contains(&asked) {
                let why = "the file that it is a link to was not written";
                let cause =
                    Error::new(Operation::Open, existing, std::io::Error::new(std::io::ErrorKind::NotFound, why));
                self.totals.done.fetch_add(1, Relaxed);
                self.fail(cause.of(Operation::HardLink, path));
                continue;
            }
            let existing = renamed.get(&asked).unwrap_or(&asked);
            let (to, from) = (split_checked(&path), split_checked(existing));
            let folder = {
                let mut state = lock(&self.state);
                let id = state.queue.folder(&from.folder);
                state.queue.get(id).clone()
            };
            let work = Work::HardLink { folder, existing: from.name.into_owned() };
            // Its only error is a cancellation, which counts the link as not written.
            drop(self.submit(&to.folder, Job::new(&to.name, work)));
        }
        self.wait_until_written();
    }

    /// The entries that are not where they were meant to be: a link must not get whatever else has their name.
    fn not_under_their_names(&self) -> (HashSet<PathBuf>, HashMap<PathBuf, PathBuf>) {
        let outcome = lock(&self.outcome);
        let failed = outcome.failures.iter().filter_map(Error::path).filter_map(|path| check(path).ok()).collect();
        (failed, outcome.renamed.iter().cloned().collect())
    }

    fn finish_folders(self: &Arc<Shared>) {
        if self.is_cancelled() {
            return;
        }
        let folders = lock(&self.state).queue.take_folder_metadata();
        // Folders that did not come to be have been reported.
        let folders: Vec<_> = folders.into_iter().filter(|(folder, _)| folder.made.load(Relaxed)).collect();
        for (folder, metadata) in &folders {
            let Some(parent) = &folder.parent else { continue };
            if metadata.modified.is_none() && metadata.owner.is_none() {
                continue;
            }
            let job = Job::new(folder.name(), Work::FinishFolder { metadata: *metadata });
            drop(self.submit(parent.path.as_os_str(), job)); // As above.
        }
        self.wait_until_written();
        let mut lane = Lane::shared(self.clone());
        for (folder, metadata) in folders {
            if let Err(error) = self.finish_folder(&mut lane, &folder, metadata) {
                let path = if folder.parent.is_none() { Path::new(".") } else { &*folder.path };
                self.fail(Error::new(Operation::SetMetadata, path, error));
            }
        }
    }

    /// Permissions that the folder could not be made with, deepest first, since they may close it; and all that the root has.
    fn finish_folder(&self, lane: &mut Lane, folder: &Arc<Folder>, metadata: Metadata) -> std::io::Result<()> {
        let is_root = folder.parent.is_none();
        if is_root {
            if let Some(owner) = metadata.owner {
                self.root_dir.set_owner(OsStr::new("."), owner)?;
            }
            if let Some(modified) = metadata.modified {
                self.root_dir.set_modified(OsStr::new("."), modified)?;
            }
        }
        let Some(mode) = metadata.mode else { return Ok(()) };
        let wanted = mode & !self.masked();
        if folder.made_with.load(Relaxed) == wanted {
            return Ok(());
        }
        let parent = match &folder.parent {
            Some(parent) => lane.folder(parent).map_err(std::io::Error::from)?.dir,
            None => self.root_dir.clone(),
        };
        let name = if is_root { OsStr::new(".") } else { folder.name() };
        let has = parent.stat(name)?.mode;
        if has != wanted {
            parent.set_folder_permissions(name, wanted)?;
        }
        Ok(())
    }

    /// Waits until everything is written and joins every thread: their descriptors are closed in their own tables, and this process has no more threads than before.
    pub(in crate::tree) fn end_threads(self: &Arc<Shared>) {
        let mut state = lock(&self.state);
        state.closing = true;
        self.drop_if_cancelled(&mut state);
        while self.tell(&mut state) {}
        while state.threads == 0 && state.queue.unfinished > 0 {
            state = self.wait_in_room(state); // No thread could be started: it is done here.
        }
        self.work.notify_all();
        // Those that end may have started others.
        while !state.handles.is_empty() {
            let handles = std::mem::take(&mut state.handles);
            drop(state);
            for handle in handles {
                drop(handle.join()); // A panic was reported where it was caught.
            }
            state = lock(&self.state);
        }
        drop(state);
        let asking = lock(&self.questions).take();
        if let Some((questions, thread)) = asking {
            drop(questions);
            drop(thread.join()); // A panic of the one who answers was the program's own; each question got an answer.
        }
    }
}

fn check_again(path: &Path) -> PathBuf {
    check(path).expect("it was checked when it was handed over")
}

fn split_checked(path: &Path) -> Split<'_> {
    crate::tree::path::split(path).expect("it was checked when it was handed over")
}
