//! Ignored files and folders that come along, because they are named.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use manyfiles::tree::{Content, Metadata, TreeWriter};
use manyfiles::{Error, Operation};

use super::git::{Git, Result};
use crate::filter::Filter;

/// What git ignores in the checkout and `filter` selects, below its root.
pub(super) fn ignored(git: &Git, filter: &Filter) -> Result<Vec<PathBuf>> {
    let arguments = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    let told = git.read(&arguments)?;
    let paths = told.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    let paths = paths.map(|path| PathBuf::from(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path))));
    let mut found = Vec::new();
    for path in paths {
        below(&git.0, path, filter, &mut found);
    }
    Ok(found)
}

/// A folder that does not match may hold what does.
fn below(root: &Path, path: PathBuf, filter: &Filter, found: &mut Vec<PathBuf>) {
    let mut left = vec![path];
    while let Some(path) = left.pop() {
        if filter.selects(&*path) {
            found.push(path);
            continue;
        }
        // What cannot be read has nothing to offer; if it matches it is named by the copy.
        let is_folder = root.join(&path).symlink_metadata().is_ok_and(|it| it.is_dir());
        let entries = is_folder.then(|| fs::read_dir(root.join(&path)).ok()).flatten();
        left.extend(entries.into_iter().flatten().flatten().map(|entry| path.join(entry.file_name())));
    }
}

/// Hands over all that is at or below `path` in `root`. `new` is the new worktree, which may be in it.
pub(super) fn hand_over(tree: &TreeWriter, root: &Path, path: &Path, new: &Path, stopped: &dyn Fn() -> bool) {
    let new = fs::metadata(new).map(|it| (it.dev(), it.ino())).ok();
    let mut left = vec![path.to_path_buf()];
    while let Some(path) = left.pop() {
        if stopped() {
            return;
        }
        let from = root.join(&path);
        let failed = |operation| {
            let from = from.clone();
            move |error| Error::new(operation, from, error)
        };
        let handed_over = (|| {
            let metadata = from.symlink_metadata().map_err(failed(Operation::Open))?;
            let kind = metadata.file_type();
            let mut keep = Metadata::default().mode(metadata.mode() & 0o1777);
            keep.modified = metadata.modified().ok();
            if kind.is_dir() {
                if Some((metadata.dev(), metadata.ino())) == new {
                    return Ok(());
                }
                drop(tree.folder(&path, keep)); // an error of these calls is in the report
                for entry in fs::read_dir(&from).map_err(failed(Operation::Open))? {
                    left.push(path.join(entry.map_err(failed(Operation::Read))?.file_name()));
                }
            } else if kind.is_symlink() {
                let target = fs::read_link(&from).map_err(failed(Operation::Read))?;
                keep.mode = None;
                drop(tree.symlink(&path, target, keep));
            } else if kind.is_file() {
                drop(tree.file_with(&path, Content::clone_of(&from), keep));
            }
            // Sockets, pipes and devices are of what runs, not of what was built.
            Ok(())
        })();
        if let Err(error) = handed_over {
            tree.fail(error);
        }
    }
}
