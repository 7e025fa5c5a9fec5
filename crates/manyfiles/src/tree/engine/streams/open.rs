//! The file of a stream that has one: opened for its first piece, closed while handles are short, and opened again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Stream;
use crate::sys::{self, FileFlags, Identity, Things};
use crate::tree::digest::RunningDigest;
use crate::tree::engine::folders::Folder;
use crate::tree::engine::job::{Job, Work};
use crate::tree::engine::lane::Lane;
use crate::tree::engine::lock::lock;
use crate::tree::engine::name::Name;
use crate::tree::engine::own_thread::works_for_a_tree;
use crate::tree::engine::placement::{Opened, Placement, Target};
use crate::tree::engine::shared::Shared;
use crate::tree::engine::stopwatch::Stopwatch;
use crate::tree::{Content, Metadata, Outcome};
use crate::{Error, Operation, Result};

pub(super) struct Open {
    pub(super) folder: Arc<Folder>,
    /// Key of the name that it holds. `None`: it is written beside its name.
    pub(super) claim: Option<u64>,
    pub(super) file: File,
    pub(super) watch: Stopwatch,
    pub(super) position: u64,
    pub(super) written: u64,
    /// What the close said when it was parked. The next call is told.
    pub(super) failed: Option<Error>,
    /// The name it was handed over with, if it got another.
    pub(super) asked: Option<Name>,
    pub(super) digest: Option<RunningDigest>,
}

#[expect(clippy::large_enum_variant, reason = "most streams are open: a box would be one more allocation for each")]
pub(super) enum File {
    Here(Opened),
    Parked(Parked),
    /// For the moment between two of the others.
    Nowhere,
}

/// What was open, without its handle.
pub(super) struct Parked {
    pub(super) name: Name,
    pub(super) metadata: Metadata,
    pub(super) placement: Placement,
    pub(super) mode_at_the_end: Option<u32>,
    pub(super) touched: bool,
    pub(super) flags: FileFlags,
    pub(super) lost: Things,
    pub(super) identity: Identity,
}

impl Open {
    /// The open file. A parked one is opened again.
    pub(super) fn file<'a>(&'a mut self, lane: &mut Lane) -> Result<&'a mut Opened> {
        if let File::Parked(_) = &self.file {
            self.open_again(lane)?;
        }
        match &mut self.file {
            File::Here(opened) => Ok(opened),
            File::Parked(_) | File::Nowhere => unreachable!("it was opened just now"),
        }
    }

    pub(super) fn open_again(&mut self, lane: &mut Lane) -> Result<()> {
        let File::Parked(parked) = &self.file else { return Ok(()) };
        let failed = |cause| Error::new(Operation::Open, self.folder.join(&parked.name), cause);
        let dir = lane.folder(&self.folder)?.dir;
        let own_name = match &parked.placement {
            Placement::New | Placement::InPlace(_) => &*parked.name,
            Placement::Beside { temporary, .. } => temporary,
        };
        let file = lane.retry_without_kept(|_| dir.open_to_write(own_name)).map_err(failed)?;
        if sys::stat(&file).map_err(failed)?.identity != parked.identity {
            let why = "another file took its name while it was not open, because the process had too many files open";
            return Err(failed(io::Error::other(why)));
        }
        sys::seek(&file, self.position).map_err(failed)?;
        let File::Parked(parked) = std::mem::replace(&mut self.file, File::Nowhere) else { unreachable!() };
        let Parked { name, metadata, placement, mode_at_the_end, touched, flags, lost, .. } = parked;
        let target = Target { mode_at_the_end, touched, flags, lost, ..Target::new(file, placement) };
        let content = Content::from_static(b"");
        self.file = File::Here(Opened { name, content, metadata, target, asked: self.asked.take(), source: None });
        Ok(())
    }

    /// Closes the file until it is needed again. `Ok(false)` if it is not open.
    pub(super) fn park(&mut self) -> io::Result<bool> {
        let identity = match &self.file {
            File::Here(opened) => sys::stat(&opened.target.file)?.identity,
            _ => return Ok(false),
        };
        let File::Here(opened) = std::mem::replace(&mut self.file, File::Nowhere) else { unreachable!() };
        let Opened { name, metadata, target, asked, .. } = opened;
        self.asked = asked;
        let Target { file, placement, mode_at_the_end, touched, flags, lost, .. } = target;
        let parked = Parked { name, metadata, placement, mode_at_the_end, touched, flags, lost, identity };
        self.file = File::Parked(parked);
        sys::close(file).map(|()| true)
    }
}

impl Shared {
    pub(super) fn open_stream(self: &Arc<Shared>, stream: &Stream) -> Result<Option<Open>> {
        let (folder, claim) = {
            let mut state = lock(&self.state);
            if self.is_cancelled() {
                drop(state);
                return Err(self.cancelled(&stream.path()));
            }
            let id = state.queue.folder(&stream.folder);
            // An entry of the folder's own name comes before, unless that waits for a stream itself.
            state.waiting_callers += 1;
            let waits = !works_for_a_tree();
            while waits && state.queue.is_blocked(id) && !state.queue.waits_for_streams() && !self.is_cancelled() {
                state = self.wait_in_room(state);
            }
            state.waiting_callers -= 1;
            let claim = state.queue.claim(id, &stream.name);
            (state.queue.folders.get(id).clone(), claim)
        };
        self.totals.accepted.fetch_add(1, Relaxed);
        let mut lane = self.streams.lane(self);
        let mut watch = Stopwatch::start();
        let metadata = stream.metadata.clone();
        let opened =
            lane.folder(&folder).map_err(|cause| cause.of(Operation::Create, stream.path())).and_then(
                |at| match claim {
                    Some(_) => {
                        let work = Work::File { content: Content::from_static(b""), metadata };
                        // One that comes later takes the place that an earlier one of its path got.
                        let renamed = self.outcome.renamed_before(&folder, &stream.name);
                        lane.begin(&at, Job::new(renamed.as_deref().unwrap_or(&stream.name), work))
                    }
                    None => lane.open_beside(&at, &stream.name, metadata).map(Some),
                },
            );
        lane.counts.times.open += watch.lap();
        self.streams.give(lane);
        match opened {
            Ok(Some(opened)) => {
                let file = File::Here(opened);
                let digest = self.new_digest();
                Ok(Some(Open {
                    folder,
                    claim,
                    file,
                    watch,
                    position: 0,
                    written: 0,
                    failed: None,
                    asked: None,
                    digest,
                }))
            }
            other => {
                self.release_stream(&folder, claim);
                match &other {
                    Ok(_) => self.tell(&stream.path(), Outcome::Skipped),
                    Err(error) => self.fail_stream(&folder, stream, claim, error.clone()),
                }
                other.map(|_| None)
            }
        }
    }

    pub(super) fn write_piece(
        self: &Arc<Shared>,
        stream: &Stream,
        open: &mut Open,
        gap: u64,
        bytes: &[u8],
    ) -> Result<()> {
        if self.is_cancelled() {
            return Err(stream.error(Operation::Write, io::Error::other(crate::error::Cancelled)));
        }
        if let Some(failed) = open.failed.take() {
            return Err(failed);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let mut lane = self.streams.lane(self);
        open.watch.lap();
        let result = self.write_all(&mut lane, open, gap, bytes);
        lane.counts.times.write += open.watch.lap();
        self.streams.give(lane);
        result.map_err(|error| error.on(stream.path()))
    }

    pub(super) fn write_all(&self, lane: &mut Lane, open: &mut Open, gap: u64, mut bytes: &[u8]) -> Result<()> {
        open.file(lane)?;
        let File::Here(opened) = &open.file else { unreachable!("it was opened just now") };
        let file = &opened.target.file;
        let failed = |cause| Error::without_path(Operation::Write, cause);
        if let Some(digest) = &mut open.digest {
            digest.zeros(gap);
            digest.update(bytes);
        }
        if gap > 0 {
            open.position = open.position.saturating_add(gap);
            sys::seek(file, open.position).map_err(failed)?;
        }
        while !bytes.is_empty() {
            match sys::write(file, bytes).map_err(failed)? {
                0 => return Err(failed(io::ErrorKind::WriteZero.into())),
                written => {
                    bytes = &bytes[written..];
                    open.position += written as u64;
                    open.written += written as u64;
                    self.wrote(written as u64);
                }
            }
        }
        Ok(())
    }
}
