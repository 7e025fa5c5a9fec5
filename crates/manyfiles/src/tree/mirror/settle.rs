//! Files that have their bytes already get permissions, owner and time.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::compare::above;
use super::crew::for_each;
use super::{Difference, Mirror, What};
use crate::sys::{self, Dir, EntryKind};
use crate::tree::Durability;
use crate::{Error, Operation};

/// What came of it.
#[derive(Default)]
pub(super) struct Settled {
    /// Files that have to be written anew for it.
    pub(super) to_renew: HashSet<PathBuf>,
    pub(super) failures: Vec<Error>,
}

/// Gives files what they have not of the source's metadata; `renamed` are those that moved.
pub(super) fn settle(
    all: &[Difference],
    renamed: &HashSet<PathBuf>,
    from: &Arc<Dir>,
    (to, target): (&Arc<Dir>, &Path),
    how: &Mirror,
) -> Settled {
    let differs = |it: &&Difference| it.kind == EntryKind::File && it.what == What::Metadata;
    let paths: Vec<_> = all.iter().filter(differs).map(|it| it.path.clone()).chain(renamed.iter().cloned()).collect();
    let settled = Arc::new(Mutex::new(Settled::default()));
    let (ours, theirs, shown) = (from.clone(), to.clone(), target.to_owned());
    let (choices, noted) = (how.clone(), settled.clone());
    for_each(paths, how, to, move |path, _| {
        let done = one(&ours, &theirs, &path, &choices);
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        match done {
            Ok(true) => {}
            Ok(false) => drop(noted.to_renew.insert(path)),
            Err(cause) => noted.failures.push(Error::new(Operation::SetMetadata, shown.join(path), cause)),
        }
    });
    std::mem::take(&mut *settled.lock().unwrap_or_else(PoisonError::into_inner))
}

/// False if it has to be replaced: it has other names, which may be outside the target, and under which it is to stay
/// as it is; or it is another file by now, or may not be opened.
fn one(source: &Arc<Dir>, target: &Arc<Dir>, path: &Path, how: &Mirror) -> io::Result<bool> {
    let opened = || -> io::Result<_> {
        let (ours, name) = above(source, path)?;
        let should = ours.stat(&name)?;
        let (theirs, other_name) = above(target, path)?;
        let file = theirs.open_regular(&other_name)?;
        let is = sys::stat(&file)?;
        Ok((ours, name, should, theirs, file, is))
    };
    // The writing tells what is wrong.
    let Ok((ours, name, should, theirs, file, is)) = opened() else { return Ok(false) };
    if is.kind != EntryKind::File || should.kind != EntryKind::File || is.links > 1 || is.len != should.len {
        return Ok(false);
    }
    let owner = Some(should.owner).filter(|owner| how.compares_owners() && *owner != is.owner);
    let bits = how.mode_bits();
    let mode = how.mode_of(&ours, &name, &should);
    // What may be lost, and who counts that, is the writing's business.
    let attributes_differ = || {
        let one = sys::attributes_of(&ours.open_regular(&name)?, &how.keep)?;
        let other = sys::attributes_of(&file, &how.keep)?;
        Ok::<_, io::Error>(
            one.xattrs != other.xattrs || one.flags.unwrap_or_default() != other.flags.unwrap_or_default(),
        )
    };
    if owner.is_some() && !how.owners || how.compares_attributes() && attributes_differ().unwrap_or(true) {
        return Ok(false);
    }
    if let Some(owner) = owner {
        sys::set_owner(&file, owner)?;
    }
    if theirs.keeps_permissions() && is.mode & bits != mode || owner.is_some() && mode & 0o6000 != 0 {
        sys::set_permissions(&file, mode)?;
    }
    if !super::same::is_same_time(should.modified, &is, theirs.keeps_coarse_times()) {
        sys::set_times(&file, Some(should.modified), None)?;
    }
    if how.durability != Durability::None {
        sys::sync_handle(&file)?;
    }
    Ok(true)
}
