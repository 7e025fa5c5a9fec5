//! [`HardLinks`]: which of the files found are names of one file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use super::walk::Found;
use crate::sys::{self, FileId};

/// The first name of each file that has further ones. Forgets a file when all its names have been seen, so that memory grows
/// only with files that have names outside of what is copied.
#[derive(Default)]
pub struct HardLinks {
    first: HashMap<FileId, (PathBuf, u64)>,
}

impl HardLinks {
    /// The path below the root under which the same file was found before. `stands` says whether the path of `found`, if it
    /// is the first, will be that file when all is written: where something else keeps the name, it will not.
    pub fn earlier_name(&mut self, found: &Found, stands: impl FnOnce(&Path) -> bool) -> Option<PathBuf> {
        if found.metadata.is_dir() {
            return None;
        }
        let (file, names) = sys::file_id_and_names(&found.source, &found.metadata)?;
        if names < 2 {
            return None;
        }
        self.see(file, names, &found.path, stands)
    }

    fn see(&mut self, file: FileId, names: u64, path: &Path, stands: impl FnOnce(&Path) -> bool) -> Option<PathBuf> {
        match self.first.entry(file) {
            Entry::Vacant(vacant) => {
                if stands(path) {
                    vacant.insert((path.to_path_buf(), names - 1));
                }
                None
            }
            Entry::Occupied(mut occupied) => {
                let (_, left) = occupied.get_mut();
                *left -= 1;
                match *left {
                    0 => Some(occupied.remove().0),
                    _ => Some(occupied.get().0.clone()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_further_name_leads_to_the_first_and_a_file_seen_whole_is_forgotten() {
        let mut links = HardLinks::default();
        let mut see = |file, path| links.see(file, 3, Path::new(path), |_| true);
        assert_eq!(see((1, 7), "a"), None);
        assert_eq!(see((1, 7), "b"), Some("a".into()));
        assert_eq!(see((2, 7), "other"), None);
        assert_eq!(see((1, 7), "c"), Some("a".into()));
        assert_eq!(links.first.len(), 1);
    }

    #[test]
    fn a_name_that_something_else_keeps_stands_for_nothing() {
        let mut links = HardLinks::default();
        let mut see = |path| links.see((1, 7), 3, Path::new(path), |path| path != Path::new("taken"));
        assert_eq!(see("taken"), None);
        assert_eq!(see("b"), None);
        assert_eq!(see("c"), Some("b".into()));
    }
}
