//! [`Folders`]: the entries of an archive by folder, with the sums of each.

use std::collections::BTreeMap;

use manyfiles_archive::{Entry, Kind};

/// The deepest level that is kept apart. A path of more names has the rest of them as one name: no system can have such
/// a path, and a hostile one must not make a list of more than a few times its own size.
const DEEPEST: usize = 2048;

/// The number of the archive's top: it has no name.
pub(super) const TOP: usize = 0;

/// All names of an archive. A list of nodes that know each other by number: a tree of boxes as deep as a hostile path
/// would end the stack.
pub(super) struct Folders {
    pub nodes: Vec<Node>,
}

/// A name in a folder.
#[derive(Default)]
pub(super) struct Node {
    pub name: Vec<u8>,
    /// In the order of their names.
    pub children: BTreeMap<Vec<u8>, usize>,
    pub is_folder: bool,
    /// Where the link leads, as it is shown.
    pub link: Option<String>,
    /// The content of files, this one or all below it.
    pub bytes: u64,
    /// Entries below it, and itself if the archive has an entry for it.
    pub entries: u64,
}

impl Folders {
    pub(super) fn new() -> Folders {
        Folders { nodes: vec![Node { is_folder: true, ..Node::default() }] }
    }

    pub(super) fn add(&mut self, entry: &Entry<'_>) {
        let path = entry.path.as_os_str().as_encoded_bytes();
        let mut at = TOP;
        self.count(at, entry.size);
        for name in names(path) {
            self.nodes[at].is_folder = true;
            at = self.child(at, name);
            self.count(at, entry.size);
        }
        let node = &mut self.nodes[at];
        node.is_folder |= entry.kind == Kind::Folder;
        node.link = match entry.kind {
            Kind::Symlink(target) => Some(format!(" -> {}", target.to_string_lossy())),
            Kind::HardLink(target) => Some(format!(" link to {}", target.to_string_lossy())),
            _ => None,
        };
    }

    fn count(&mut self, at: usize, bytes: u64) {
        let node = &mut self.nodes[at];
        node.entries += 1;
        node.bytes = node.bytes.saturating_add(bytes);
    }

    fn child(&mut self, at: usize, name: &[u8]) -> usize {
        if let Some(&child) = self.nodes[at].children.get(name) {
            return child;
        }
        let child = self.nodes.len();
        self.nodes.push(Node { name: name.into(), ..Node::default() });
        self.nodes[at].children.insert(name.into(), child);
        child
    }
}

/// The names of a path. A path from the root of the file system begins with the name `/`.
fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut root = path.starts_with(b"/").then_some(&b"/"[..]);
    let mut rest = path;
    let mut depth = 0;
    std::iter::from_fn(move || {
        if let Some(root) = root.take() {
            return Some(root);
        }
        loop {
            let start = rest.iter().position(|&byte| byte != b'/')?;
            rest = &rest[start..];
            depth += 1;
            if depth == DEEPEST {
                return Some(std::mem::take(&mut rest));
            }
            let end = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
            let name;
            (name, rest) = rest.split_at(end);
            if name != b"." {
                return Some(name);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_its_names_and_a_hostile_one_has_no_more_than_a_few() {
        let of = |path: &str| {
            names(path.as_bytes()).map(|name| String::from_utf8_lossy(name).into()).collect::<Vec<String>>()
        };
        assert_eq!(of("./a//b/./c/"), ["a", "b", "c"]);
        assert_eq!(of("/etc/passwd"), ["/", "etc", "passwd"]);
        assert_eq!(of("../x"), ["..", "x"]);
        assert!(of("./").is_empty() && of("").is_empty());
        let deep = of(&"a/".repeat(1_000_000));
        assert_eq!((deep.len(), deep[DEEPEST - 1].len()), (DEEPEST, 2 * (1_000_000 - DEEPEST + 1)));
        assert!(of(&"./".repeat(1_000_000)).len() <= 1);
    }
}
