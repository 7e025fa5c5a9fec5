//! The path by which the system knows an open file or folder, whatever path it was opened by.

/// A path without links, from the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SystemPath(Vec<u8>);

impl SystemPath {
    pub(super) fn new(path: Vec<u8>) -> SystemPath {
        SystemPath(path)
    }

    /// Whether this is the path of `folder`, or of something in it.
    pub(crate) fn is_at_or_below(&self, folder: &SystemPath) -> bool {
        match self.0.strip_prefix(&folder.0[..]) {
            Some([]) => true,
            // The root's path ends with its separator.
            Some([first, ..]) => *first == b'/' || folder.0.ends_with(b"/"),
            None => false,
        }
    }

    /// Whether this is the path of an entry of `folder`.
    pub(crate) fn is_entry_of(&self, folder: &SystemPath) -> bool {
        let below = self.0.strip_prefix(&folder.0[..]);
        let below = below.map(|below| below.strip_prefix(b"/").unwrap_or(below));
        self.is_at_or_below(folder) && below.is_some_and(|below| !below.is_empty() && !below.contains(&b'/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_at_or_below_itself_and_its_folders_alone() {
        for (path, folder, is) in [
            ("/a/b", "/a/b", true),
            ("/a/b", "/a", true),
            ("/a/b", "/", true),
            ("/a/bc", "/a/b", false),
            ("/a", "/a/b", false),
            ("/A/b", "/a", false),
        ] {
            let [path, folder] = [path, folder].map(|text| SystemPath(text.into()));
            assert_eq!(path.is_at_or_below(&folder), is, "{path:?} {folder:?}");
        }
    }
}
