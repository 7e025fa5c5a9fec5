//! The folders above a tree.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::sys::Dir;
use crate::{Error, Operation, Result};

/// Folders that making `path` will add a name to.
pub(super) fn parents_of_missing(path: &Path) -> Vec<PathBuf> {
    path.ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .filter_map(parent_of)
        .map(Path::to_path_buf)
        .collect()
}

/// The folders whose syncs make the name of `path` durable, which is there by now: its parent first. `missing` are
/// those that [got a name](parents_of_missing). The others are part of it because a run that was killed, or has failed,
/// may have made names in them and synced none. Of these, one that may not be read is left out, and so are those of
/// another file system.
pub(super) fn that_have_names(path: &Path, missing: &[PathBuf]) -> Result<Vec<(PathBuf, Dir)>> {
    let volume = |dir: &Dir| dir.stat(OsStr::new(".")).map(|own| own.identity.volume);
    let own = Dir::open_root(path).and_then(|dir| volume(&dir)).ok();
    let mut folders = Vec::new();
    let mut is_same = true;
    for above in path.ancestors().filter_map(parent_of) {
        let is_needed = missing.iter().any(|missing| missing == above);
        match Dir::open_root(above) {
            Ok(dir) => {
                is_same &= own.is_some() && volume(&dir).ok() == own;
                if is_needed || is_same {
                    folders.push((above.to_path_buf(), dir));
                }
            }
            Err(error) if is_needed => return Err(Error::new(Operation::Open, above, error)),
            Err(_) => {}
        }
    }
    Ok(folders)
}

/// The handles of these folders.
pub(super) fn open_all(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Dir)>> {
    let open = |path: &PathBuf| match Dir::open_root(path) {
        Ok(dir) => Ok((path.clone(), dir)),
        Err(error) => Err(Error::new(Operation::Open, &**path, error)),
    };
    paths.iter().map(open).collect()
}

fn parent_of(path: &Path) -> Option<&Path> {
    if path.as_os_str().is_empty() {
        return None;
    }
    path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_that_get_a_name_are_those_of_what_is_missing() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        assert_eq!(parents_of_missing(root), Vec::<PathBuf>::new());
        assert_eq!(parents_of_missing(&root.join("a")), [root]);
        assert_eq!(parents_of_missing(&root.join("a/b")), [root.join("a"), root.to_path_buf()]);
        assert_eq!(parents_of_missing(Path::new("not-here/b")), [Path::new("not-here"), Path::new(".")]);
    }
}
