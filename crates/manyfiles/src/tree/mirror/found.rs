//! What a comparison has found, and which names are to become links.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use super::name::is_the_other;
use super::{Difference, What};
use crate::sys::{EntryKind, Identity, Stat};
use crate::{Error, Errors, Operation};

#[derive(Default)]
pub(super) struct Found {
    pub(super) all: Vec<Difference>,
    pub(super) links: HashMap<Identity, Vec<Name>>,
    /// Files of the target that have several names: these, and what each is in the source.
    pub(super) shared: HashMap<Identity, Vec<(PathBuf, Identity, u64)>>,
    pub(super) left_out: Vec<PathBuf>,
    pub(super) failures: Vec<Error>,
    /// Whether the source has nothing in it that is not left out.
    pub(super) source_is_empty: bool,
    /// New files that may have been moved.
    pub(super) new_files: Vec<(PathBuf, Stat)>,
    /// Moved files in folders that are new.
    pub(super) moved_into_new: Vec<Difference>,
    /// How many names are to be removed, with all that is in folders.
    pub(super) removals: u64,
    pub(super) overlap: Overlap,
}

/// What tells that folders of one tree are in the other one, by a mount.
#[derive(Default)]
pub(super) struct Overlap {
    met: Vec<Error>,
    /// What is mounted in the source.
    mounts: Vec<(Identity, PathBuf)>,
    /// Folders of the target: all of them, since any may be mounted in the source.
    folders: HashSet<Identity>,
}

impl Overlap {
    /// At `path` in the one tree is the other.
    pub(super) fn is_the_other(&mut self, path: PathBuf, which: &str) {
        self.met.push(Error::new(Operation::Open, path, is_the_other(which)));
    }

    /// Notes something that is mounted in the source, and a folder of the target.
    pub(super) fn note(&mut self, mount: Option<(Identity, &Path)>, folder: Option<Identity>) {
        self.mounts.extend(mount.map(|(identity, path)| (identity, path.to_owned())));
        self.folders.extend(folder);
    }

    pub(super) fn extend(&mut self, other: Overlap) {
        self.met.extend(other.met);
        self.mounts.extend(other.mounts);
        self.folders.extend(other.folders);
    }
}

/// A name of a file that has others.
pub(super) struct Name {
    pub(super) path: PathBuf,
    /// What has the name in the target.
    pub(super) there: Option<Identity>,
    pub(super) len: u64,
}

impl Found {
    /// An error if a tree, or a part of it, is in the other one: what is written or removed there would be changed in
    /// the source.
    pub(super) fn refuse_overlap(&mut self, source: &Path) -> Result<(), Errors> {
        let overlap = std::mem::take(&mut self.overlap);
        let mut met = overlap.met;
        met.extend(overlap.mounts.into_iter().filter(|(identity, _)| overlap.folders.contains(identity)).map(
            |(_, path)| {
                let why = "it is a folder of the target, by a mount: one is in the other; exclude it, or unmount it";
                Error::new(Operation::Open, source.join(path), io::Error::other(why))
            },
        ));
        Errors::check(met)
    }

    /// Names of one file in the target that are of several in the source become files of their own.
    pub(super) fn part_names(&mut self) {
        let mut to_part = HashMap::new();
        for mut names in std::mem::take(&mut self.shared).into_values() {
            names.sort();
            let Some((_, first, _)) = names.first().cloned() else { continue };
            to_part.extend(names.into_iter().filter(|name| name.1 != first).map(|(path, _, len)| (path, len)));
        }
        for difference in &mut self.all {
            if to_part.remove(&difference.path).is_some() && difference.what == What::Metadata {
                difference.what = What::Content;
            }
        }
        let file = |(path, len)| Difference { path, kind: EntryKind::File, what: What::Content, len };
        self.all.extend(to_part.into_iter().map(file));
    }

    /// Finds which names are to become links, and returns a name for each file that has several.
    pub(super) fn settle_links(&mut self) -> Vec<(Identity, PathBuf)> {
        let (mut firsts, mut links) = (Vec::new(), HashMap::new());
        let metadata: HashMap<_, _> = self
            .all
            .iter()
            .enumerate()
            .filter(|(_, difference)| difference.what == What::Metadata)
            .map(|(at, difference)| (difference.path.clone(), at))
            .collect();
        let mut renewed: HashSet<_> = self
            .all
            .iter()
            .filter(|difference| !matches!(difference.what, What::Metadata | What::Extra))
            .map(|difference| difference.path.clone())
            .collect();
        // What has something of another kind in its way comes last.
        let waiting: HashSet<_> =
            self.all.iter().filter(|it| it.what == What::Kind).map(|it| it.path.clone()).collect();
        for (identity, mut names) in std::mem::take(&mut self.links) {
            names.sort_by_cached_key(|name| (waiting.contains(&name.path), name.path.clone()));
            let mut names = names.into_iter();
            let Some(first) = names.next() else { continue };
            // Its other names would stay with the file that it was: it is written anew, and they are linked to it.
            if names.len() > 0
                && let Some(at) = metadata.get(&first.path)
            {
                self.all[*at].what = What::Content;
                renewed.insert(first.path.clone());
            }
            for name in names {
                if renewed.contains(&first.path) || name.there.is_none() || name.there != first.there {
                    links.insert(name.path, (first.path.clone(), name.len));
                }
            }
            firsts.push((identity, first.path));
        }
        for difference in &mut self.all {
            if let Some((first, _)) = links.remove(&difference.path)
                && difference.what != What::Kind
            {
                difference.what = What::Link(first);
            }
        }
        // Those that were equal but for that.
        self.all.extend(links.into_iter().map(|(path, (first, len))| Difference {
            path,
            kind: EntryKind::File,
            what: What::Link(first),
            len,
        }));
        firsts
    }
}
