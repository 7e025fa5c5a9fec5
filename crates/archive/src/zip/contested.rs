//! Which long files other entries have to wait for.
//!
//! A file that is written as it is decoded has its place among the entries of its path where it is closed. Mostly
//! nothing else is about its path, and it goes beside the others. If another entry has that path, or a path below it,
//! the result depends on the order. Then the long file waits for its turn, and the next turn begins at its end.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use unicode_normalization::UnicodeNormalization;

/// The long files of an archive.
#[derive(Default)]
pub(super) struct Contested {
    keys: RandomState,
    /// Of each path, whether another entry is about it.
    long: HashMap<u64, bool>,
}

impl Contested {
    /// A long file.
    pub(super) fn long(&mut self, path: &[u8]) {
        let key = self.key(path);
        self.long.entry(key).and_modify(|contested| *contested = true).or_insert(false);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.long.is_empty()
    }

    /// An entry of any kind; all long ones are known.
    pub(super) fn entry(&mut self, path: &[u8], is_long: bool) {
        let mut hasher = self.keys.build_hasher();
        let mut names = names(path).peekable();
        while let Some(name) = names.next() {
            add(&mut hasher, name);
            let is_itself = names.peek().is_none() && is_long;
            if !is_itself && let Some(contested) = self.long.get_mut(&hasher.finish()) {
                *contested = true;
            }
        }
    }

    /// Whether another entry has the path of this long file, or one below it.
    pub(super) fn is_contested(&self, path: &[u8]) -> bool {
        self.long.get(&self.key(path)).copied().unwrap_or(true)
    }

    /// Equal for paths that may be one.
    fn key(&self, path: &[u8]) -> u64 {
        let mut hasher = self.keys.build_hasher();
        names(path).for_each(|name| add(&mut hasher, name));
        hasher.finish()
    }
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| matches!(byte, b'/' | b'\\')).filter(|name| !matches!(*name, b"" | b"."))
}

/// Names that any file system holds as one are one here, as in a tree that is told so by its folders. A path that is
/// marked contested by mistake only costs waiting.
fn add(hasher: &mut impl Hasher, name: &[u8]) {
    match std::str::from_utf8(name) {
        Ok(text) if !text.is_ascii() => {
            let decomposed: String = text.nfd().flat_map(char::to_uppercase).collect();
            decomposed.nfd().flat_map(char::to_lowercase).nfd().for_each(|letter| hasher.write_u32(letter.into()));
        }
        _ => name.iter().for_each(|byte| hasher.write_u32(byte.to_ascii_lowercase().into())),
    }
    // No letter.
    hasher.write_u32(u32::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_contested_by_what_has_their_path_or_one_below_it() {
        let of = |entries: &[(&str, bool)]| {
            let mut contested = Contested::default();
            entries.iter().filter(|(_, is_long)| *is_long).for_each(|(name, _)| contested.long(name.as_bytes()));
            entries.iter().for_each(|(name, is_long)| contested.entry(name.as_bytes(), *is_long));
            contested.is_contested(b"a/b")
        };
        assert!(!of(&[("a/b", true)]));
        assert!(!of(&[("a/", false), ("a/b", true), ("a/bc", true), ("a/c/b", false), ("b", true)]));
        for other in ["a/b", "./a//b/", "A/b", "a/b/c", "a/b/c/d"] {
            assert!(of(&[("a/b", true), (other, false)]), "{other}");
            assert!(of(&[("a/b", true), (other, true)]), "{other}, long");
        }
    }

    #[test]
    fn names_that_some_system_folds_are_one() {
        let contested = Contested::default();
        let key = |name: &str| contested.key(name.as_bytes());
        for (one, other) in [("K", "k"), ("é", "e\u{301}"), ("Ä/b", "a\u{308}\\B"), ("ΟΔΟΣ", "οδος")] {
            assert_eq!(key(one), key(other), "{one} {other}");
        }
        for (one, other) in [("a", "b"), ("ab", "a/b"), ("日本", "中国"), ("e", "é")] {
            assert_ne!(key(one), key(other), "{one} {other}");
        }
        assert_ne!(contested.key(b"\xff"), contested.key(b"\xfe"));
    }
}
