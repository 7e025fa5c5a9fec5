//! The files of a new worktree that come from another checkout.
//!
//! A file is copied first and looked at then: if the source's numbers are still those of its index, ctime included, it
//! was not changed from the moment when git saw it until after the copy. All else is left to git.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use manyfiles::tree::{Content, EntryStat, Metadata, Outcome, Report, TreeWriter};

use super::index::Index;

pub(super) const FILE: u32 = 0o100_644;
pub(super) const PROGRAM: u32 = 0o100_755;
pub(super) const LINK: u32 = 0o120_000;

/// A file that may be had from the source.
pub(super) struct Candidate {
    /// Its place in the index of the new worktree, and in that of the source.
    wanted: usize,
    source: usize,
}

/// Those that have the same content in both indexes, in the order of the new one.
pub(super) fn candidates(wanted: &Index, source: &Index, with_links: bool) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut there = source.entries().iter().enumerate().peekable();
    for (number, entry) in wanted.entries().iter().enumerate() {
        let path = wanted.path(entry);
        while there.next_if(|(_, other)| source.path(other) < path).is_some() {}
        // Of a conflict there are several.
        while let Some((at, other)) = there.next_if(|(_, other)| source.path(other) == path) {
            let is_file = matches!(entry.mode, FILE | PROGRAM) || entry.mode == LINK && with_links;
            let is_same = other.mode == entry.mode && source.object(other) == wanted.object(entry);
            if is_file && is_same && entry.is_plain && other.is_plain {
                found.push(Candidate { wanted: number, source: at });
            }
        }
    }
    found
}

/// What is known of each file, from the threads of the tree.
struct Filling {
    root: PathBuf,
    source: Index,
    candidates: Vec<Candidate>,
    /// The paths, in their order.
    paths: Vec<Vec<u8>>,
    filled: Vec<OnceLock<EntryStat>>,
}

impl Filling {
    /// The file at `path` is there: whether it is what it should be is seen in the source.
    fn is_there(&self, path: &Path, stat: EntryStat) {
        let path = path.as_os_str().as_bytes();
        let Ok(at) = self.paths.binary_search_by(|other| other.as_slice().cmp(path)) else { return };
        let entry = &self.source.entries()[self.candidates[at].source];
        let now = self.root.join(OsStr::from_bytes(path)).symlink_metadata();
        // A link has the time at which it was made, if it could not be given that of the source.
        let is_same = now.is_ok_and(|now| {
            self.source.is_untouched(entry, &now)
                && now.len() == stat.len
                && (entry.mode == LINK || now.modified().is_ok_and(|modified| modified == stat.modified))
        });
        if is_same {
            self.filled[at].get_or_init(|| stat);
        }
    }
}

/// What came of it.
pub(super) struct Filled {
    /// Numbers in the new index, with what `lstat` says.
    pub(super) files: Vec<(usize, EntryStat)>,
    pub(super) report: Report,
    /// How many were copied, and then left to git because the source's index does not vouch for them.
    pub(super) untrusted: u64,
}

/// Copies what is the same to `tree`, but for the paths in `except`.
pub(super) fn fill(
    options: manyfiles::tree::Options,
    new: &Path,
    (wanted, source): (&Index, Index),
    root: &Path,
    (candidates, except): (Vec<Candidate>, &HashSet<Vec<u8>>),
    begun: impl FnOnce(&TreeWriter),
) -> manyfiles::Result<Filled> {
    let path_of = |candidate: &Candidate| wanted.path(&wanted.entries()[candidate.wanted]);
    let candidates: Vec<_> = candidates.into_iter().filter(|candidate| !except.contains(path_of(candidate))).collect();
    let paths: Vec<_> = candidates.iter().map(|candidate| path_of(candidate).to_vec()).collect();
    let filled = candidates.iter().map(|_| OnceLock::new()).collect();
    let filling = Arc::new(Filling { root: root.to_path_buf(), source, candidates, paths, filled });
    let told = filling.clone();
    let options = options.on_entry(move |entry| {
        if let Outcome::Written { stat: Some(stat), renamed: None, .. } = entry.outcome {
            told.is_there(entry.path, stat);
        }
    });
    let tree = options.open(new)?;
    begun(&tree);
    for (candidate, path) in filling.candidates.iter().zip(&filling.paths) {
        let path = Path::new(OsStr::from_bytes(path));
        let from = root.join(path);
        // An error is in the report: git checks the file out then.
        drop(match wanted.entries()[candidate.wanted].mode {
            LINK => link(&tree, path, &from),
            mode => {
                let bits = if mode == PROGRAM { 0o777 } else { 0o666 };
                tree.file_with(path, Content::clone_of(from), Metadata::default().mode(bits))
            }
        });
    }
    let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
    let files = filling.candidates.iter().zip(&filling.filled);
    let files: Vec<_> = files.filter_map(|(candidate, stat)| Some((candidate.wanted, *stat.get()?))).collect();
    let untrusted = (report.files + report.symlinks).saturating_sub(files.len() as u64);
    Ok(Filled { files, report, untrusted })
}

/// A link whose target cannot be read, or which is none any more, is git's.
fn link(tree: &TreeWriter, path: &Path, from: &Path) -> manyfiles::Result<()> {
    let Ok(target) = std::fs::read_link(from) else { return Ok(()) };
    let modified = from.symlink_metadata().and_then(|link| link.modified()).ok();
    let mut metadata = Metadata::default();
    metadata.modified = modified;
    tree.symlink(path, target, metadata)
}
