//! A file's name without an allocation, as most are short; and the key by which names are told apart.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::ops::Deref;

use crate::sys::ShortName;

/// A name. Allocating one for each file, to be freed by another thread, costs as much as handing the file over.
pub(in crate::tree) enum Name {
    Short(ShortName),
    Long(Box<OsStr>),
}

impl From<&OsStr> for Name {
    fn from(name: &OsStr) -> Name {
        ShortName::new(name).map_or_else(|| Name::Long(name.into()), Name::Short)
    }
}

impl Deref for Name {
    type Target = OsStr;

    fn deref(&self) -> &OsStr {
        match self {
            Name::Short(name) => name.as_os_str(),
            Name::Long(name) => name,
        }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Makes keys of names and paths: keyed hashes, so that an archive's maker cannot choose names that share one. By
/// chance two names share one once in 2^64 pairs.
#[derive(Clone, Debug)]
pub(super) struct Keys(RandomState);

impl Keys {
    pub(super) fn new() -> Keys {
        Keys(RandomState::new())
    }

    /// Key of a name in a folder that holds every name apart.
    pub(super) fn exact(&self, name: &OsStr) -> u64 {
        self.below(0, name)
    }

    /// Key of the path that is this name below the path with the key `above`.
    pub(super) fn below(&self, above: u64, name: &OsStr) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write_u64(above);
        hasher.write(name.as_encoded_bytes());
        hasher.finish()
    }

    /// Key of a name in a folder that folds: names that any file system holds as one have one key.
    pub(super) fn folded(&self, name: &OsStr) -> u64 {
        match name.to_str() {
            Some(text) => self.exact(OsStr::new(&fold(text))),
            // File systems that fold leave what is not Unicode as it is, or refuse it.
            None => self.exact(name),
        }
    }
}

/// What names that any file system holds as one have in common.
pub(in crate::tree) fn folded(name: &OsStr) -> OsString {
    name.to_str().map_or_else(|| name.to_owned(), |text| fold(text).into())
}

/// Canonical decomposition (NFD) and case folding: what ext4, F2FS, tmpfs, APFS, HFS+, NTFS and FAT hold as one name is
/// one here. Upper case first and then lower case, which is what brings together letters of three forms, as σ, ς and Σ.
fn fold(name: &str) -> String {
    use unicode_normalization::UnicodeNormalization;
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let decomposed = name.nfd().flat_map(char::to_uppercase).collect::<String>();
    decomposed.nfd().flat_map(char::to_lowercase).nfd().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_length_come_back_as_they_were_and_take_four_words() {
        for len in [0, 1, 29, 30, 31, 255] {
            let name = "x".repeat(len);
            assert_eq!(&*Name::from(OsStr::new(&name)), &*name);
        }
        assert_eq!(size_of::<Name>(), 32);
    }

    #[test]
    fn different_names_of_every_script_have_different_keys() {
        let keys = Keys::new();
        let names = ["日本", "中国", "видео", "музыка", "קול", "صوت", "é", "e\u{301}", "a", "A", "ß", "ss", "f1", "F1"];
        let exact: std::collections::HashSet<_> = names.iter().map(|name| keys.exact(OsStr::new(name))).collect();
        assert_eq!(exact.len(), names.len());
    }

    #[test]
    fn names_that_fold_to_one_have_one_folded_key_and_no_others_do() {
        let keys = Keys::new();
        let key = |name: &str| keys.folded(OsStr::new(name));
        for (one, other) in [
            ("ReadMe", "README"),
            ("é", "e\u{301}"),
            ("É", "e\u{301}"),
            ("Видео", "видео"),
            ("ΟΔΟΣ", "οδος"),
            ("οδός", "ΟΔΌΣ"),
            ("\u{212b}", "å"),
            ("가", "\u{1100}\u{1161}"),
        ] {
            assert_eq!(key(one), key(other), "{one} {other}");
        }
        for (one, other) in [("日本", "中国"), ("видео", "музыка"), ("e", "é"), ("a", "b"), ("f1", "f2")]
        {
            assert_ne!(key(one), key(other), "{one} {other}");
        }
    }
}
