//! The folders above a tree.

use std::path::{Path, PathBuf};

/// Folders that making `path` will add a name to.
pub(super) fn parents_of_missing(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
    missing
        .filter_map(Path::parent)
        .map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent }.to_path_buf())
        .collect()
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
