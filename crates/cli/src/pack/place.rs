//! Where sources are in the archive.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// A source, and the path of its entries in the archive.
#[derive(Debug)]
pub(super) struct Placed {
    /// As it was given.
    pub given: PathBuf,
    /// Where it is.
    pub source: PathBuf,
    /// `.`: what is in it has no folder around it.
    pub path: PathBuf,
}

/// Gives each source its path. Every contradiction is named.
pub(super) fn place(sources: &[PathBuf], directory: &Path) -> Result<Vec<Placed>, Vec<String>> {
    let placed: Vec<_> = sources
        .iter()
        .map(|given| {
            let source = match directory == Path::new(".") {
                true => given.clone(),
                // With a slash behind it: a folder by a link, too.
                false if given == Path::new(".") => directory.join(""),
                false => directory.join(given),
            };
            Placed { given: given.clone(), source, path: path_in_archive(given) }
        })
        .collect();
    // The first source of each path. A shell may give tens of thousands of sources.
    let mut firsts = HashMap::new();
    for (number, one) in placed.iter().enumerate() {
        firsts.entry(&*one.path).or_insert(number);
    }
    let mut wrong = Vec::new();
    for (number, inner) in placed.iter().enumerate() {
        let folders =
            inner.path.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
        let outer = folders.filter_map(|path| firsts.get(path)).find(|&&outer| outer != number);
        if let Some(&outer) = outer {
            let (inner, outer) = (inner.given.display(), placed[outer].given.display());
            wrong.push(format!("{inner} would be in the archive twice: {outer} has that path already"));
        }
    }
    if wrong.is_empty() { Ok(placed) } else { Err(wrong) }
}

/// The path without what leads out of the folder that it is unpacked into: as other programs have it.
fn path_in_archive(source: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in source.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => path.clear(),
        }
    }
    if path.as_os_str().is_empty() { ".".into() } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_the_archive_lead_out_of_no_folder() {
        for (given, path) in
            [("a/b", "a/b"), ("./a", "a"), ("/a/b", "a/b"), ("../../a", "a"), ("a/../b", "b"), (".", "."), ("..", ".")]
        {
            assert_eq!(path_in_archive(Path::new(given)), Path::new(path), "{given}");
        }
    }

    #[test]
    fn what_would_be_there_twice_is_named() {
        let wrong = |sources: &[&str]| {
            let sources: Vec<_> = sources.iter().map(PathBuf::from).collect();
            place(&sources, Path::new(".")).err().unwrap_or_default().len()
        };
        assert_eq!(wrong(&["a", "b"]), 0);
        assert_eq!(wrong(&["a", "ab"]), 0);
        assert_eq!(wrong(&["a", "a/b"]), 1);
        assert_eq!(wrong(&["a/b", "a"]), 1);
        assert_eq!(wrong(&["a", "./a"]), 1);
        assert_eq!(wrong(&["a", "."]), 1);
        assert_eq!(wrong(&["/a", "../a", "b"]), 1);
        assert_eq!(wrong(&[".", "."]), 1);
        assert_eq!(wrong(&["a/b/c", "d", "a/b/d", "a"]), 2);
    }
}
