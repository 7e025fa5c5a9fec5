//! How entries come in: checked, counted, and only as many as there is room for.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard};

use super::control::State;
use super::job::{Job, Link, Work};
use super::lock::lock;
use super::own_thread::works_for_a_tree;
use super::shared::Shared;
use crate::tree::{Content, Metadata, Outcome};
use crate::{Error, Operation, Result};

/// A checked path: its folder and its name.
pub(in crate::tree) type Place<'a> = (&'a OsStr, &'a OsStr);

impl Shared {
    /// Counts an entry that never becomes a job: it was refused, or failed before.
    pub(in crate::tree) fn refuse(&self, error: &Error) {
        self.totals.accepted.fetch_add(1, Relaxed);
        self.totals.done.fetch_add(1, Relaxed);
        self.fail(error.clone());
        if let Some(path) = error.path() {
            self.tell(path, Outcome::Failed(error));
        }
    }

    /// Takes an entry for a folder itself.
    pub(in crate::tree) fn submit_folder(self: &Arc<Shared>, path: &OsStr, metadata: Metadata) -> Result<()> {
        if path.is_empty() {
            self.narrow_root(metadata.mode);
        }
        {
            let mut state = lock(&self.state);
            let id = state.queue.folder(path);
            state.queue.folders.set_metadata(id, metadata);
        }
        self.submit(path, Job::new(OsStr::new(""), Work::MakeFolder))
    }

    /// Takes a checked entry, as soon as there is room.
    pub(in crate::tree) fn submit(self: &Arc<Shared>, folder: &OsStr, job: Job) -> Result<()> {
        let mut state = self.wait_for_room(job.weight());
        if self.is_cancelled() {
            drop(state);
            return Err(self.cancelled(&Path::new(folder).join(&*job.name)));
        }
        // A stream was counted when its file was opened.
        if job.is_entry() && !matches!(job.work, Work::GiveName(_)) {
            self.totals.accepted.fetch_add(1, Relaxed);
        }
        let id = state.queue.folder(folder);
        if let Work::Symlink { .. } = job.work
            && state.queue.folders.has_folder(id, &job.name)
        {
            drop(state);
            let why = io::Error::new(io::ErrorKind::AlreadyExists, "a folder of this tree has the name");
            let error = Error::new(Operation::Symlink, Path::new(folder).join(&*job.name), why);
            self.totals.done.fetch_add(1, Relaxed);
            self.fail(error.clone());
            self.tell(&Path::new(folder).join(&*job.name), Outcome::Failed(&error));
            return Err(error);
        }
        state.queue.push(id, job);
        self.tell_a_thread(&mut state);
        Ok(())
    }

    /// Takes a hard link: one half for the queue of either name's folder, both at one moment in the order.
    pub(in crate::tree) fn submit_link(
        self: &Arc<Shared>,
        (folder, name): Place<'_>,
        (from, existing): Place<'_>,
        otherwise: Option<(Content, Metadata)>,
    ) -> Result<()> {
        let weight = otherwise.as_ref().map_or(0, |(content, _)| content.weight()) + name.len() + existing.len();
        let mut state = self.wait_for_room(weight);
        if self.is_cancelled() {
            drop(state);
            return Err(self.cancelled(&Path::new(folder).join(name)));
        }
        self.totals.accepted.fetch_add(1, Relaxed);
        let (to_id, from_id) = (state.queue.folder(folder), state.queue.folder(from));
        let [to, from] = [to_id, from_id].map(|id| state.queue.folders.get(id).clone());
        let link = Arc::new(Link::new(to, name, from, existing, otherwise));
        state.queue.push_source(from_id, Job::new(existing, Work::Link(link.clone())));
        state.queue.push(to_id, Job::new(name, Work::Link(link)));
        self.tell_a_thread(&mut state);
        Ok(())
    }

    pub(in crate::tree) fn cancelled(&self, path: &Path) -> Error {
        self.totals.not_written.fetch_add(1, Relaxed);
        self.tell(path, Outcome::Cancelled);
        Error::new(Operation::Create, path, io::Error::other(crate::error::Cancelled))
    }

    /// Waits until an entry of this weight fits. Does not wait where nothing but a stream could make room: the stream
    /// may be the caller's own. What is handed over then takes memory until the stream is closed.
    fn wait_for_room(self: &Arc<Shared>, weight: usize) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        let limit = self.options.bytes_in_flight;
        // A callback that hands an entry over would wait for the very thread that it is on.
        if state.queue.has_room(weight, limit) || works_for_a_tree() {
            return state;
        }
        state.waiting_callers += 1;
        state.waiting_for_room += 1;
        while !state.queue.has_room(weight, limit) && !self.is_cancelled() && !state.queue.waits_for_streams() {
            state = self.wait_in_room(state);
        }
        state.waiting_for_room -= 1;
        state.waiting_callers -= 1;
        state
    }
}
