//! Zip: the directory is read once, and entries are decoded by several threads that share the file by positioned reads.
//!
//! Limits are asked about what the directory says before anything is written, and no entry yields more than that. Entries with
//! one path are decoded by one thread, in the directory's order, so that the tree gets them in that order.
//!
//! Why not the `zip` crate: its archive keeps one entry per name and drops the others without a word, one malformed extra field
//! costs the whole archive, and its readers need a buffer and a decoder anew for each entry.

mod content;
mod deliver;
mod directory;
mod end;
mod entry;
mod field;

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use manyfiles::tree::TreeWriter;

use crate::entry::Kind;
use crate::error::{ErrorKind, Position, Result};
use crate::gate::Gate;
use crate::limits::{Limits, Meter, check_ratio};
use crate::progress::InputProgress;
use crate::stamp::Stamp;
use crate::tar::{Cancel, Target};
use content::Decoder;
use directory::Directory;

/// An open file that is to be a zip.
pub(crate) struct Archive<'a> {
    pub file: &'a File,
    pub stamp: Stamp,
    pub limits: &'a Limits,
    pub gate: &'a Gate,
    pub progress: &'a InputProgress,
}

/// Whether there is a zip's directory at the end of a file that does not begin as one.
pub(crate) fn has_end(file: &File, len: u64) -> Result<bool> {
    match end::find(file, len) {
        Ok(end) => Ok(end.is_some()),
        Err(error @ (ErrorKind::Read(_) | ErrorKind::Changed(_))) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Reads a zip. `meter` counts what the directory says.
pub(crate) fn read(
    archive: &Archive<'_>,
    threads: usize,
    meter: &mut Meter,
    left_out: &mut u64,
    target: &mut Target<'_>,
    cancel: &Cancel,
) -> Result<()> {
    let Some(end) = end::find(archive.file, archive.stamp.len)? else {
        let cause = "the directory at its end is missing, so it is cut short";
        return Err(ErrorKind::damaged(Position::Archive(archive.stamp.len), cause));
    };
    let directory = Directory::read(archive.file, &end)?;
    let jobs = Jobs::plan(archive, &directory, meter, left_out)?;
    match target {
        Target::Tree(tree) => unpack(archive, &directory, &jobs, threads, tree, cancel)?,
        Target::List(visit) => {
            let mut decoder = Decoder::new(archive.file, archive.stamp.len);
            for index in 0..directory.len() {
                deliver::with_entry(archive.gate, &directory.record(index), &mut decoder, |_, entry| {
                    entry.check_paths();
                    visit(entry);
                });
            }
            archive.progress.advance(jobs.packed.min(archive.stamp.len));
        }
    }
    archive.progress.advance(archive.stamp.len - jobs.packed.min(archive.stamp.len));
    archive.stamp.check(archive.file)?;
    match directory.damage {
        Some(damage) => Err(damage),
        None => Ok(()),
    }
}

/// Which entries are to be decoded, in which chains.
struct Jobs {
    /// The first entry with each path.
    first: Vec<u32>,
    /// Those with the same path as the first of a chain, in order.
    later: HashMap<u32, Vec<u32>>,
    /// Their size in the archive.
    packed: u64,
}

impl Jobs {
    fn plan(archive: &Archive<'_>, directory: &Directory, meter: &mut Meter, left_out: &mut u64) -> Result<Jobs> {
        let mut jobs = Jobs { first: Vec::new(), later: HashMap::new(), packed: 0 };
        let keys = RandomState::new();
        let mut seen: HashMap<u64, u32> = HashMap::with_capacity(directory.len());
        for index in 0..directory.len() {
            meter.entry()?;
            let record = directory.record(index);
            let name = record.name();
            let Some(entry) = archive.gate.admit(record.entry(&name, Path::new(""))) else {
                *left_out += 1;
                continue;
            };
            if entry.kind == Kind::File && entry.refusal.is_none() {
                meter.content(record.size)?;
            }
            jobs.packed = jobs.packed.saturating_add(record.packed);
            let index = index as u32;
            let first = *seen.entry(hash(&keys, &name)).or_insert(index);
            if first == index {
                jobs.first.push(index);
            } else {
                jobs.later.entry(first).or_default().push(index);
            }
        }
        check_ratio(archive.limits, meter.bytes, archive.stamp.len)?;
        Ok(jobs)
    }
}

/// Equal for names that are one path.
fn hash(keys: &RandomState, name: &[u8]) -> u64 {
    let mut hasher = keys.build_hasher();
    for component in name.split(|&byte| byte == b'/').filter(|component| !matches!(*component, b"" | b".")) {
        hasher.write(component);
        hasher.write_u8(b'/');
    }
    hasher.finish()
}

fn unpack(
    archive: &Archive<'_>,
    directory: &Directory,
    jobs: &Jobs,
    threads: usize,
    tree: &TreeWriter,
    cancel: &Cancel,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let failed = Mutex::new(None);
    let work = || {
        let mut decoder = Decoder::new(archive.file, archive.stamp.len);
        while !stop.load(Relaxed)
            && let Some(first) = jobs.first.get(next.fetch_add(1, Relaxed))
        {
            let later = jobs.later.get(first).map_or(&[][..], Vec::as_slice);
            for &index in std::iter::once(first).chain(later) {
                let record = directory.record(index as usize);
                let delivered = deliver::deliver(archive.gate, &record, &mut decoder, tree, cancel);
                archive.progress.advance(record.packed);
                if let Err(kind) = delivered {
                    stop.store(true, Relaxed);
                    failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(kind);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.first.len()) {
            scope.spawn(work);
        }
        work();
    });
    failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).map_or(Ok(()), Err)
}
