//! What has something of another kind in its way is written beside it, and gets its name when all has arrived.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compare::above;
use super::write::Writing;
use super::{Difference, What};
use crate::sys::Dir;
use crate::temporary;
use crate::tree::Durability;

/// For each path that is taken by something of another kind: a path beside it that nothing has.
pub(super) fn names_beside(all: &[Difference]) -> HashMap<PathBuf, PathBuf> {
    let waits = all.iter().filter(|it| it.what == What::Kind);
    waits.map(|it| (it.path.clone(), it.path.with_file_name(temporary::name()))).collect()
}

/// Gives all of them their names. What had those has the names beside then. If one cannot, none does.
pub(super) fn exchange(
    target: &Arc<Dir>,
    writing: &Writing,
    paths: &[PathBuf],
    durability: Durability,
) -> Result<(), (PathBuf, io::Error)> {
    let swap = |path: &Path| {
        let (dir, name) = above(target, path)?;
        let beside = writing.place(path);
        swap(&dir, &name, beside.file_name().unwrap_or_default())?;
        if durability != Durability::None { dir.sync() } else { Ok(()) }
    };
    for (at, path) in paths.iter().enumerate() {
        if let Err(cause) = swap(path) {
            // Where that fails, new and old are both there, and the next run goes on.
            paths[..at].iter().rev().for_each(|path| swap(path).unwrap_or(()));
            return Err((path.clone(), cause));
        }
    }
    Ok(())
}

/// Two names in a folder change what they stand for; at one moment where the system can.
fn swap(dir: &Dir, name: &OsStr, beside: &OsStr) -> io::Result<()> {
    if dir.exchange(name, beside)? {
        return Ok(());
    }
    let aside = temporary::name();
    dir.move_to(name, dir, &aside)?;
    if let Err(error) = dir.move_to(beside, dir, name) {
        dir.move_to(&aside, dir, name)?;
        return Err(error);
    }
    dir.move_to(&aside, dir, beside)
}
