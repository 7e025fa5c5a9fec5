//! [`NameChange`]: what happens to names, and in which order it reaches the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Clone)]
pub(super) enum NameChange {
    Made(PathBuf, usize),
    Renamed(PathBuf, PathBuf, usize),
    Removed(PathBuf),
}

impl NameChange {
    pub(super) fn paths(&self) -> Vec<&Path> {
        match self {
            NameChange::Made(path, _) | NameChange::Removed(path) => vec![path],
            NameChange::Renamed(from, to, _) => vec![from, to],
        }
    }

    pub(super) fn make(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            NameChange::Made(path, id) => drop(names.insert(path.clone(), *id)),
            NameChange::Renamed(from, to, id) => {
                names.remove(from);
                names.insert(to.clone(), *id);
            }
            NameChange::Removed(path) => drop(names.remove(path)),
        }
    }
}

/// Changes of one name reach the disk in their order: each chosen change brings the earlier changes of its names with
/// it. `names` says which names a change has.
pub(super) fn with_those_before<'a, C, N: Ord>(
    changes: &'a [C],
    names: impl Fn(&'a C) -> Vec<N>,
    mut chosen: Vec<bool>,
) -> Vec<bool> {
    let mut brought: BTreeSet<N> = BTreeSet::new();
    for (change, is_chosen) in changes.iter().zip(&mut chosen).rev() {
        let own = names(change);
        *is_chosen |= own.iter().any(|name| brought.contains(name));
        if *is_chosen {
            brought.extend(own);
        }
    }
    chosen
}
