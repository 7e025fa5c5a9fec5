//! Compares trees of which not everything is promised.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use manyfiles_testkit::{Compare, Kind, Tree};

use super::differs::Differs;
use super::model::is_at_or_below;
use super::world::World;

/// How much more than its data a file may take on the disk: rest of a block, and the file system's own records.
const SLACK: u64 = 64 << 10;

/// What is compared.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    /// Which permission bits.
    pub bits: u32,
    /// Times of symbolic links.
    pub link_times: bool,
}

impl Scope {
    pub(crate) const ALL: Scope = Scope { bits: 0o7777, link_times: true };
}

/// What `found` has otherwise than `world`, leaving out what is at or below one of `open`, and modes and times of
/// `folders`.
pub(crate) fn differences<'a>(
    world: &World,
    found: &Tree,
    scope: Scope,
    open: impl IntoIterator<Item = &'a String>,
    folders: &BTreeMap<String, Differs>,
) -> Vec<String> {
    let open: Vec<_> = open.into_iter().collect();
    let (mut expected, mut found) = (without(&world.tree(), &open), without(found, &open));
    for (path, expected) in &mut expected.entries {
        let Some(found) = found.entries.get_mut(path) else { continue };
        let node = world.get(path.to_str().unwrap()).unwrap();
        let is_open = folders.contains_key(path.to_str().unwrap());
        let bits = if is_open { 0 } else { scope.bits & !node.open_bits };
        expected.mode &= bits;
        found.mode &= bits;
        let compared = scope.link_times || !matches!(expected.kind, Kind::Symlink(_));
        if node.time.is_none() || !compared || is_open {
            expected.modified = found.modified;
        }
    }
    let mut lines = expected.diff(&found, Compare::ALL).0;
    for (path, expected) in &expected.entries {
        if let Some(found) = found.entries.get(path)
            && matches!(expected.kind, Kind::File { .. })
            && found.allocated > expected.allocated + SLACK
        {
            let (expected, found) = (expected.allocated, found.allocated);
            lines.push(format!("{}: expected {expected} bytes on the disk, found {found}", path.display()));
        }
    }
    lines
}

/// The tree without these paths and all below them. A hard link to one of them becomes a link to the next name.
fn without(tree: &Tree, left_out: &[&String]) -> Tree {
    let is_left_out = |path: &Path| {
        let path = path.to_string_lossy();
        left_out.iter().any(|above| is_at_or_below(&path, above))
    };
    let mut first_name: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut rest = Tree::default();
    for (path, entry) in &tree.entries {
        if is_left_out(path) {
            continue;
        }
        let mut entry = entry.clone();
        let file = entry.link_to.take().unwrap_or_else(|| path.clone());
        entry.link_to = first_name.get(&file).cloned();
        first_name.entry(file).or_insert_with(|| path.clone());
        rest.entries.insert(path.clone(), entry);
    }
    rest
}

/// The figures of a file that must not change where nothing is written: inode, time, and time of the last change of any
/// kind.
pub(crate) type Traces = BTreeMap<PathBuf, (u64, (i64, i64), (i64, i64))>;

/// The traces of all below `root`. A folder's change time is left out: it gets its time and its mode again.
pub(crate) fn traces(root: &Path) -> Traces {
    let tree = Tree::read(root).unwrap();
    let trace = |path: PathBuf| {
        let of = fs::symlink_metadata(root.join(&path)).unwrap();
        let changed = if of.is_dir() { (0, 0) } else { (of.ctime(), of.ctime_nsec()) };
        (path, (of.ino(), (of.mtime(), of.mtime_nsec()), changed))
    };
    tree.entries.into_keys().map(trace).collect()
}

/// The changed paths, a line each.
pub(crate) fn changed(before: &Traces, after: &Traces) -> Vec<String> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let changed = names.into_iter().filter(|path| before.get(*path) != after.get(*path));
    changed.map(|path| format!("{}: changed by a second run", path.display())).collect()
}

/// Counts, to see that the comparison is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compared {
    pub cases: usize,
    pub paths: usize,
    pub paths_left_out: usize,
}

impl Compared {
    pub(crate) fn count<'a>(&mut self, world: &World, open: impl IntoIterator<Item = &'a String>) {
        let open: HashSet<_> = open.into_iter().collect();
        let left_out = world.names.keys().filter(|path| open.iter().any(|above| is_at_or_below(path, above))).count();
        self.cases += 1;
        self.paths += world.names.len();
        self.paths_left_out += left_out;
    }
}
