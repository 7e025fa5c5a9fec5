//! [`HardLinks`]: which of the files found are names of one file.
//!
//! The first name is copied as a file, and each further one becomes a link to a name that came before it. The tree
//! decides what only the run can know: if the first name of a link failed, the link becomes a file of its own, so that
//! the content still arrives.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use crate::args::Conflict;
use crate::sys::{self, FileId};
use crate::walk::{Found, Version};

/// A name of each file that has further ones. Forgets a file when all its names have been seen, so that memory grows
/// only with files that have names outside of what is copied.
#[derive(Default)]
pub(super) struct HardLinks {
    names: HashMap<FileId, (PathBuf, u64, Version)>,
}

impl HardLinks {
    /// A path below the root under which the same file was found before, the last of several: if a link fails, later
    /// names are linked to the file that took its place. `stands` says whether the path of `found` will be that file
    /// when all is written: where something else keeps the name, it will not.
    pub(super) fn earlier_name(&mut self, found: &Found, stands: impl FnOnce(&Found) -> bool) -> Option<PathBuf> {
        if found.metadata.is_dir() {
            return None;
        }
        let (file, names) = sys::file_id_and_names(found.at(), &found.metadata)?;
        if names < 2 {
            return None;
        }
        self.see(file, names, Version::of(&found.metadata), &found.path, || stands(found))
    }

    fn see(
        &mut self,
        file: FileId,
        names: u64,
        version: Version,
        path: &Path,
        stands: impl FnOnce() -> bool,
    ) -> Option<PathBuf> {
        // What was copied is not what has this number now.
        if self.names.get(&file).is_some_and(|(_, _, copied)| *copied != version) {
            self.names.remove(&file);
        }
        match self.names.entry(file) {
            Entry::Vacant(vacant) => {
                if stands() {
                    vacant.insert((path.to_path_buf(), names - 1, version));
                }
                None
            }
            Entry::Occupied(mut occupied) => {
                let (name, left, _) = occupied.get_mut();
                *left -= 1;
                match *left {
                    0 => Some(occupied.remove().0),
                    _ if stands() => Some(std::mem::replace(name, path.to_path_buf())),
                    _ => Some(name.clone()),
                }
            }
        }
    }
}

/// Whether an entry that is written has its name in the end, or a link to it finds it, by what is there before.
pub(super) fn stands(found: &Found, root: &Path, on_conflict: Option<Conflict>) -> bool {
    let Ok(there) = fs::symlink_metadata(root.join(&found.path)) else { return true };
    if there.is_dir() {
        return on_conflict == Some(Conflict::Rename); // a folder gives way to nothing
    }
    match on_conflict {
        // Under its other name, which the tree leads links to.
        Some(Conflict::Rename) => true,
        Some(Conflict::Overwrite | Conflict::Replace | Conflict::SkipIdentical) => true,
        Some(Conflict::Newer) => {
            found.metadata.modified().ok().zip(there.modified().ok()).is_none_or(|(new, old)| new > old)
        }
        Some(Conflict::Error | Conflict::Skip) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_further_name_leads_to_the_one_before_and_a_file_seen_whole_is_forgotten() {
        let mut links = HardLinks::default();
        let version = Version::of(&fs::metadata(".").unwrap());
        let mut see = |file, path| links.see(file, 3, version.clone(), Path::new(path), || true);
        assert_eq!(see((1, 7), "a"), None);
        assert_eq!(see((1, 7), "b"), Some("a".into()));
        assert_eq!(see((2, 7), "other"), None);
        assert_eq!(see((1, 7), "c"), Some("b".into()));
        assert_eq!(links.names.len(), 1);
    }

    #[test]
    fn a_file_that_was_written_to_or_has_the_number_of_another_is_copied_itself() {
        let temp = tempfile::tempdir().unwrap();
        let version = |content: &str| {
            fs::write(temp.path().join("file"), content).unwrap();
            Version::of(&fs::metadata(temp.path().join("file")).unwrap())
        };
        let (before, after) = (version("old"), version("newer"));
        let mut links = HardLinks::default();
        let mut see = |version: &Version, path| links.see((1, 7), 3, version.clone(), Path::new(path), || true);
        assert_eq!(see(&before, "a"), None);
        assert_eq!(see(&after, "b"), None);
        assert_eq!(see(&after, "c"), Some("b".into()));
    }

    #[test]
    fn a_name_that_something_else_keeps_stands_for_nothing() {
        for taken in 0..3 {
            let mut links = HardLinks::default();
            let version = Version::of(&fs::metadata(".").unwrap());
            let mut see = |n: usize| links.see((1, 7), 4, version.clone(), Path::new(&n.to_string()), || n != taken);
            let seen = [see(0), see(1), see(2), see(3)].map(|path| path.map(|path| path.display().to_string()));
            let expected = match taken {
                0 => [None, None, Some("1"), Some("2")],
                1 => [None, Some("0"), Some("0"), Some("2")],
                _ => [None, Some("0"), Some("1"), Some("1")],
            };
            assert_eq!(seen, expected.map(|path| path.map(String::from)), "{taken}");
        }
    }
}
