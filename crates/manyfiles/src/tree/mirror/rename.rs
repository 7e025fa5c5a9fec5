//! Files that moved get their new paths, before anything is copied.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::compare::above;
use super::crew::for_each;
use super::{Difference, Mirror, What};
use crate::sys::{Dir, EntryKind};
use crate::tree::Durability;

/// Renames what moved, and returns the paths that have got their file. The others are copied as if they were new: that
/// tells what is wrong, or heals it.
pub(super) fn rename(all: &[Difference], from: &Arc<Dir>, to: &Arc<Dir>, how: &Mirror) -> HashSet<PathBuf> {
    let moves: Vec<_> = all
        .iter()
        .filter_map(|difference| match &difference.what {
            What::Moved(old) => Some((old.clone(), difference.path.clone(), difference.len)),
            _ => None,
        })
        .collect();
    let folders: BTreeSet<_> = moves.iter().filter_map(|(_, new, _)| new.parent().map(Path::to_owned)).collect();
    for folder in folders {
        // A rename into a folder that is missing fails. The folder gets its permissions when it is written.
        make_folders(to, &folder).unwrap_or(());
    }
    let done = Arc::new(Mutex::new(HashSet::new()));
    let (source, target, noted) = (from.clone(), to.clone(), done.clone());
    let is_durable = how.durability != Durability::None;
    for_each(moves, how, to, move |(old, new, len), _| {
        if give_path(&source, &target, (&old, &new), len, is_durable).is_ok() {
            noted.lock().unwrap_or_else(PoisonError::into_inner).insert(new);
        }
    });
    std::mem::take(&mut *done.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The file is looked at again: since it was compared, either may have become another one.
fn give_path(
    source: &Arc<Dir>,
    target: &Arc<Dir>,
    (old, new): (&Path, &Path),
    len: u64,
    is_durable: bool,
) -> io::Result<()> {
    let (there, old_name) = above(target, old)?;
    let (to, name) = above(target, new)?;
    let is = there.stat(&old_name)?;
    let (ours, our_name) = above(source, new)?;
    let should = ours.stat(&our_name)?;
    let is_it = is.kind == EntryKind::File
        && (is.len, is.links) == (len, 1)
        && super::same::is_same_time(should.modified, &is, target.keeps_coarse_times())
        && should.len == len;
    if !is_it {
        return Err(io::ErrorKind::InvalidData.into());
    }
    there.move_to(&old_name, &to, &name)?;
    if is_durable {
        to.sync()?;
    }
    Ok(())
}

/// Makes the folders of `path` that are missing, for this user alone.
fn make_folders(root: &Arc<Dir>, path: &Path) -> io::Result<()> {
    let mut at = root.try_clone()?;
    for name in path {
        match at.make_folder(name, 0o700) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => at = at.child(name)?,
        }
    }
    Ok(())
}
